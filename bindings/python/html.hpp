// How descriptors and primitives show themselves in a notebook: a table that the package makes.
#pragma once

#include <pybind11/pybind11.h>

namespace dnnmove::python {

inline pybind11::object html_of(const pybind11::object& self) {
    return pybind11::module_::import("dnnmove._seen").attr("html")(self);
}

}  // namespace dnnmove::python
