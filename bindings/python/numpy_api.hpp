// NumPy's C API, shared by all files of the extension; module.cpp imports it.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION  // memory handlers (NEP 49)
#define PY_ARRAY_UNIQUE_SYMBOL dnnmove_numpy_api
#ifndef DNNMOVE_IMPORT_NUMPY_API
#define NO_IMPORT_ARRAY
#endif

#include <Python.h>

#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
