// Memory in DLPack's C exchange API: the functions that C consumers call instead of __dlpack__.
#pragma once

#include <pybind11/pybind11.h>

#include "dlpack/dlpack.h"

namespace dnnmove::python {

struct Memory;

// The elements as a DLPack tensor that holds the owner; BufferError where DLPack cannot say what they are.
DLManagedTensorVersioned* export_tensor(const Memory& memory);

// The capsule for the type's attribute __dlpack_c_exchange_api__.
pybind11::object exchange_api();

}  // namespace dnnmove::python
