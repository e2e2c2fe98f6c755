// How errors cross between C++ and Python.
#pragma once

#include <Python.h>

#include <string>

#include "pyref.hpp"
#include "runtime/error.hpp"

namespace pybind11 {
class module_;
}

namespace dnnmove {

// An argument has the wrong type: TypeError.
struct TypeError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// A Python exception is set already; C++ only unwinds.
struct PythonError {};

// `object`, or PythonError where a C API call failed (returned null).
PyRef checked(PyObject* object);

// In a catch (...) block: sets the Python exception that matches the C++ one. Returns null, so that
// a C entry point can return the call's value.
PyObject* set_python_error() noexcept;

// "list", "torch.Tensor": the type of `object` for a message.
std::string type_name(PyObject* object);
// repr(object), shortened; never fails.
std::string short_repr(PyObject* object);

void register_errors(pybind11::module_& module);

}  // namespace dnnmove
