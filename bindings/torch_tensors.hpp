// What torch knows of its tensors and the bytes alone do not say: gradients, lazy conjugation, versions.
#pragma once

#include <Python.h>

#include "errors.hpp"

namespace dnnmove {

// What a call does with an array.
enum class Access {
    read,      // copies it into a new array
    read_out,  // copies it into an `out` of the caller's
    write,     // overwrites it
    describe,  // looks at its dtype and layout only
};

namespace torch_tensors {

// TypeError where the bytes of `tensor` are not what it stands for: it is negated lazily, or a gradient would have to
// flow through the copy. Returns whether Python code may have run: `exact` says that this is no subclass.
bool check(PyObject* tensor, Access access, bool exact, const ArgumentName& name);
// The same where a complex tensor is conjugated lazily.
void check_conjugation(PyObject* tensor, const ArgumentName& name);
// Tells autograd that the tensor was overwritten.
void increment_version(PyObject* tensor);

}  // namespace torch_tensors
}  // namespace dnnmove
