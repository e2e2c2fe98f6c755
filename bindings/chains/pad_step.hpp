// pad as a method of Chain and as an eager function: it reads a constant as an element of the data's dtype.
#pragma once

#include "python/numpy_api.hpp"

#include <pybind11/numpy.h>

#include "chain/step.hpp"

namespace dnnmove::python {

// An element as a Python object that pad takes for it again.
pybind11::object element_object(const chain::Element& element, const pybind11::dtype& dtype);

void register_pad(PyObject* chain_type, PyObject* module);

}  // namespace dnnmove::python
