// dnnmove.Error and dnnmove.UnimplementedError: what oneDNN reports, in C++ and in Python.
#pragma once

#include <pybind11/pybind11.h>

#include <stdexcept>
#include <string>

#include "runtime/abbreviated.hpp"

namespace dnnmove::python {

// oneDNN reported `status`: dnnmove.Error.
struct OneDnnError : std::runtime_error {
    OneDnnError(const std::string& what, int status_code) : std::runtime_error(abbreviated(what)), status(status_code) {}
    int status;
};

// oneDNN has no implementation: dnnmove.UnimplementedError.
struct UnimplementedError : OneDnnError {
    explicit UnimplementedError(const std::string& what);
};

// Sets the Python exception that matches; for C entry points, which pybind11's translators do not see.
void set_onednn_error(const OneDnnError& error) noexcept;

// Defines Error and UnimplementedError and registers their translator.
void register_onednn_errors(pybind11::module_& module);

}  // namespace dnnmove::python
