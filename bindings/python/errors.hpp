// How errors cross between C++ and Python.
#pragma once

#include <Python.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "python/pyref.hpp"
#include "runtime/abbreviated.hpp"
#include "runtime/error.hpp"

namespace pybind11 {
class module_;
}

namespace dnnmove {

// An argument has the wrong type: TypeError.
struct TypeError : std::invalid_argument {
    explicit TypeError(const std::string& what) : std::invalid_argument(abbreviated(what)) {}
};

// A Python exception is set already; C++ only unwinds.
struct PythonError {};

// What messages call an argument: "data", or "arrays[3]". Becomes text only where a message is written.
// Borrows the name.
class ArgumentName {
public:
    ArgumentName(const char* name) noexcept : name_(name) {}
    ArgumentName(const std::string& name) noexcept : name_(name) {}
    ArgumentName(std::string_view name) noexcept : name_(name) {}
    ArgumentName(std::string_view name, std::size_t position) noexcept
        : name_(name), position_(static_cast<std::ptrdiff_t>(position)) {}
    std::string text() const;

private:
    std::string_view name_;
    std::ptrdiff_t position_ = -1;
};

// While it lives no Python exception is set, so that any Python code may run; the one that was set before is set
// again after it. One that came up meanwhile goes to sys.unraisablehook. Needs the GIL.
class KeptException {
public:
    KeptException() noexcept { PyErr_Fetch(&type_, &value_, &trace_); }
    ~KeptException() {
        if (PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(nullptr);
        PyErr_Restore(type_, value_, trace_);
    }
    KeptException(const KeptException&) = delete;
    KeptException& operator=(const KeptException&) = delete;

private:
    PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

// `object`, or PythonError where a C API call failed (returned null).
PyRef checked(PyObject* object);

// Drops the Python exception of something that was only tried, if any; PythonError where there was no memory to try it.
void drop_failed_attempt();

// In a catch (...) block: sets the Python exception that matches the C++ one. Returns null, so that
// a C entry point can return the call's value.
PyObject* set_python_error() noexcept;

// What a C entry point returns: that of `body`, or null and the Python exception for what it throws. Signatures are made inside,
// since they may find no memory.
template <class Body>
PyObject* guarded(const Body& body) noexcept {
    try {
        return body();
    } catch (...) {
        return set_python_error();
    }
}

// "list", "torch.Tensor": the type of `object` for a message.
std::string type_name(PyObject* object);
// repr(object), shortened; never fails.
std::string short_repr(PyObject* object);

// Lets pybind11 turn C++ exceptions into Python's by set_python_error().
void register_errors();

}  // namespace dnnmove
