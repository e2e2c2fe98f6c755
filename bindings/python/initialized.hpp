// Refuses objects of pybind11's classes whose __init__ never ran.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <utility>

#include "python/errors.hpp"

namespace dnnmove::python {

// Python's face of T is a class whose objects may lack their T: pybind11 takes cls.__new__(cls), and what a subclass
// uses before it calls super().__init__, for finished objects, and gives them memory that nothing ever wrote. A class
// with this member makes every such use a TypeError:
//
//     using InitializedOnly = void;
template <class T>
concept InitializedOnly = requires { typename T::InitializedOnly; };

}  // namespace dnnmove::python

template <dnnmove::python::InitializedOnly T>
class pybind11::detail::type_caster<T> : public type_caster_base<T> {
public:
    bool load(handle source, bool convert) { return this->template load_impl<type_caster>(source, convert); }
    void load_value(value_and_holder&& held) {
        if (!held.holder_constructed()) {
            throw dnnmove::TypeError(std::string(this->typeinfo->type->tp_name) +
                                     " object is not initialized: its __init__ was not called");
        }
        type_caster_base<T>::load_value(std::move(held));
    }
};
