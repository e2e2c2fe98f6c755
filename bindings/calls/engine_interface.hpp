// The engine as a table of C functions, for extensions that are compiled elsewhere.
#pragma once

#include <Python.h>

namespace dnnmove {

// Adds the capsule that holds it.
void register_engine_interface(PyObject* module);

}  // namespace dnnmove
