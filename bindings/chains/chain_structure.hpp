// A built chain as plain Python values, for the package's drawings and tables.
#pragma once

#include <pybind11/pybind11.h>

namespace dnnmove::python {

class BuiltChain;

// Input, steps with what each leaves, outputs, and the copies of every pass; the first dozen of what may be many.
pybind11::dict structure_of(const BuiltChain& built);

}  // namespace dnnmove::python
