// When a call on a tensor may go to the engine directly, past torch's dispatcher.
#pragma once

#include <Python.h>

namespace dnnmove {

// Whether this process knows how many threads it may use: a worker of a DataLoader asks torch first.
bool threads_are_settled() noexcept;
// Adds the functions that dnnmove.torch asks before its calls.
void register_torch_direct(PyObject* module);

}  // namespace dnnmove
