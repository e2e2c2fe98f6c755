// The steps that change elements, not where they are: convert and byteswap, as methods of Chain and as eager functions.
#pragma once

#include <Python.h>

#include <array>

namespace dnnmove::python {

inline constexpr std::array<const char*, 2> element_step_names{"byteswap", "convert"};

void register_element_steps(PyObject* chain_type, PyObject* module);

}  // namespace dnnmove::python
