// An owned reference to a Python object.
#pragma once

#include <Python.h>

#include <utility>

namespace dnnmove {

// Owns one reference, or none. Every operation needs the GIL.
class PyRef {
public:
    PyRef() noexcept = default;
    static PyRef steal(PyObject* object) noexcept {
        PyRef ref;
        ref.object_ = object;
        return ref;
    }
    static PyRef share(PyObject* object) noexcept {
        Py_XINCREF(object);
        return steal(object);
    }
    PyRef(const PyRef& other) noexcept : object_(other.object_) { Py_XINCREF(object_); }
    PyRef(PyRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    PyRef& operator=(PyRef other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~PyRef() { Py_XDECREF(object_); }

    PyObject* get() const noexcept { return object_; }
    PyObject* release() noexcept { return std::exchange(object_, nullptr); }
    explicit operator bool() const noexcept { return object_ != nullptr; }

private:
    PyObject* object_ = nullptr;
};

}  // namespace dnnmove
