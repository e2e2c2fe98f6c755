// Lists of integers as Python tuples; parse.hpp reads them.
#pragma once

#include <pybind11/pybind11.h>

#include "array/dims.hpp"
#include "python/errors.hpp"

namespace dnnmove::python {

// A tuple to be filled. (What pybind11 makes itself must find memory: without, its debug build ends the process.)
inline pybind11::tuple new_tuple(std::size_t size) {
    return pybind11::reinterpret_steal<pybind11::tuple>(checked(PyTuple_New(static_cast<Py_ssize_t>(size))).release());
}

// These objects as a tuple.
template <class... Items>
pybind11::tuple pack(const Items&... items) {
    return pybind11::reinterpret_steal<pybind11::tuple>(checked(PyTuple_Pack(sizeof...(items), items.ptr()...)).release());
}

inline pybind11::tuple to_tuple(const Dims& dims) {
    pybind11::tuple tuple = new_tuple(dims.size());
    for (std::size_t k = 0; k < dims.size(); ++k) tuple[k] = pybind11::int_(dims[k]);
    return tuple;
}

}  // namespace dnnmove::python
