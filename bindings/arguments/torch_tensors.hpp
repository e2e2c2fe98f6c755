// What torch knows of its tensors and the bytes alone do not say: gradients, lazy conjugation, versions.
#pragma once

#include <Python.h>

#include <initializer_list>

#include "python/errors.hpp"
#include "runtime/threads.hpp"

namespace dnnmove {

// What a call does with an array.
enum class Access {
    read,      // copies it into a new array
    read_out,  // copies it into an `out` of the caller's
    write,     // overwrites it
    describe,  // looks at its dtype and layout only
};

namespace torch_tensors {

// An attribute of a module of torch, which is imported; kept for the life of the process.
PyObject* find(const char* module_name, std::initializer_list<const char*> path);
// Whether autograd has to know of what is made from `tensor`, a tensor of any class.
bool needs_gradient(PyObject* tensor);
// TypeError where the bytes of `tensor` are not what it stands for: it is negated lazily, or a gradient would have to
// flow through the copy. Returns whether Python code may have run: `exact` says that this is no subclass.
bool check(PyObject* tensor, Access access, bool exact, const ArgumentName& name);
// The same where a complex tensor is conjugated lazily.
void check_conjugation(PyObject* tensor, const ArgumentName& name);
// Tells autograd that the tensor was overwritten.
void increment_version(PyObject* tensor);

// While it lives, calls of this thread may run on torch's threads, which spin for a while after each of torch's
// operations: workers of our own would get no processor beside them.
class OnItsThreads {
public:
    explicit OnItsThreads(bool torch);
    ~OnItsThreads() {
        if (set_) exchange_team(before_);
    }
    OnItsThreads(const OnItsThreads&) = delete;
    OnItsThreads& operator=(const OnItsThreads&) = delete;

private:
    bool set_;
    ThreadPool::Team before_ = nullptr;
};

}  // namespace torch_tensors
}  // namespace dnnmove
