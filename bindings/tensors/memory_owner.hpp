// What keeps the bytes of a Memory: the Memory, its views and whatever was exported from it hold it.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "arguments/operand.hpp"

namespace dnnmove::python {

// An object of a type of its own rather than a capsule, so that the garbage collector sees what it refers to. It never
// lets go of the bytes before it dies, since views rely on them: a Memory in a dead cycle lets go of its owner instead.
// All of these need the GIL; each takes what it is given, also where it throws.

// Of a buffer that free_buffer takes back.
pybind11::object own_block(void* block);
// Of an array, with what was read from it to keep; `object` is what keeps the bytes: the array, or the memoryview below.
pybind11::object own_array(pybind11::object object, std::unique_ptr<Operand> operand);
// Of memory that came through DLPack.
pybind11::object own_tensor(DLManagedTensorVersioned* tensor);

// Its bytes were overwritten: torch has to know where they are a tensor's.
void tell_written(PyObject* owner);

}  // namespace dnnmove::python
