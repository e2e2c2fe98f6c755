// Lists of integers as Python tuples; parse.hpp reads them.
#pragma once

#include <pybind11/pybind11.h>

#include "view/dims.hpp"

namespace dnnmove::python {

inline pybind11::tuple to_tuple(const Dims& dims) {
    pybind11::tuple tuple(dims.size());
    for (std::size_t k = 0; k < dims.size(); ++k) tuple[k] = pybind11::int_(dims[k]);
    return tuple;
}

}  // namespace dnnmove::python
