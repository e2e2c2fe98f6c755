// How descriptors are pickled and copied: made again from their parameters.
#pragma once

#include <pybind11/pybind11.h>

namespace dnnmove::python {

// What __reduce__ returns: `type(*arguments)`, or `type(*arguments, tune=True)`.
inline pybind11::tuple made_again(pybind11::handle type, const pybind11::tuple& arguments, bool tune = false) {
    if (!tune) return pybind11::make_tuple(type, arguments);
    const pybind11::object partial = pybind11::module_::import("functools").attr("partial");
    return pybind11::make_tuple(partial(type, pybind11::arg("tune") = true), arguments);
}

}  // namespace dnnmove::python
