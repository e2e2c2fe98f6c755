// reorder: copies a tensor from one layout to another.
#pragma once

#include <pybind11/pybind11.h>

namespace dnnmove::python {

void register_reorder(pybind11::module_& module);

}  // namespace dnnmove::python
