// The eager functions: one call, one operation, on arrays of any kind.
#pragma once

#include <Python.h>

namespace dnnmove {

// shuffle_channels on axis 1 and its inverse, shuffle with `group` as the group's size, for calls that begin in C: a new
// reference, or null with an exception set.
PyObject* shuffle_axis_1(PyObject* data, PyObject* group, bool inverse) noexcept;

// Adds shuffle, shuffle_backward, shuffle_channels, transpose, variadic_split, split, broadcast, concat
// and stack to `module`. Throws PythonError.
void register_eager(PyObject* module);

}  // namespace dnnmove
