// When a call on a tensor may go to the engine directly, past torch's dispatcher.
#pragma once

#include <Python.h>

namespace dnnmove {

// Adds the functions that dnnmove.torch asks before its calls.
void register_torch_direct(PyObject* module);

}  // namespace dnnmove
