// The eager functions: one call, one operation, on arrays of any kind.
#pragma once

#include <Python.h>

namespace dnnmove {

// Adds shuffle, shuffle_backward, shuffle_channels, transpose, variadic_split, split, broadcast and
// concat to `module`. Throws PythonError.
void register_eager(PyObject* module);

}  // namespace dnnmove
