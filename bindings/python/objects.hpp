// Arguments that must be objects of this module's types, with errors that name them.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "onednn/onednn.hpp"
#include "python/errors.hpp"
#include "python/initialized.hpp"

namespace dnnmove {
bool is_array(PyObject* object);  // operand.hpp
}

namespace dnnmove::python {

struct MemoryDesc;

// The C++ object in `value`; `type` is the type's name in the message.
template <class T>
const T& to_object(pybind11::handle value, const char* argument, const char* type) {
    if (!pybind11::isinstance<T>(value)) {
        const bool array = std::is_same_v<T, MemoryDesc> && is_array(value.ptr());
        const char* const article = std::string_view("AEIOU").find(type[0]) == std::string_view::npos ? "a " : "an ";
        throw TypeError(std::string(argument) + " (" + short_repr(value.ptr()) + ") must be " + article + type +
                        (array ? "; MemoryDesc.of(array) gives an array's" : ""));
    }
    return value.cast<const T&>();
}

// None gives the CPU engine.
inline std::shared_ptr<onednn::Engine> to_engine(pybind11::handle value) {
    if (value.is_none()) return onednn::Engine::cpu();
    to_object<onednn::Engine>(value, "engine", "Engine or None");
    return value.cast<std::shared_ptr<onednn::Engine>>();
}

}  // namespace dnnmove::python
