// Engine, Stream, PropKind, the ARG_* numbers, and oneDNN's process-wide settings.
#pragma once

#include <pybind11/pybind11.h>

namespace dnnmove::python {

void register_engine_stream(pybind11::module_& module);

}  // namespace dnnmove::python
