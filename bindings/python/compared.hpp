// How descriptors compare: by the problem that they describe, as MemoryDescs do.
#pragma once

#include <pybind11/pybind11.h>

namespace dnnmove::python {

// Defines __eq__ and __hash__ of a class; `key_of` an object gives a tuple, the same of objects that are equal.
template <class Class, class KeyOf>
void compare_by(Class& type, KeyOf key_of) {
    using Object = typename Class::type;
    type.def("__eq__",
             [key_of](const Object& self, const pybind11::object& other) -> pybind11::object {
                 if (!pybind11::isinstance<Object>(other)) {
                     return pybind11::reinterpret_borrow<pybind11::object>(Py_NotImplemented);
                 }
                 return pybind11::bool_(key_of(self).equal(key_of(other.cast<const Object&>())));
             })
        .def("__hash__", [key_of](const Object& self) { return pybind11::hash(key_of(self)); });
}

}  // namespace dnnmove::python
