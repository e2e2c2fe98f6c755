// Chain and BuiltChain as Python sees them.
#pragma once

#include "tensors/memory_desc.hpp"

#include <memory>
#include <vector>

#include "chain/chain.hpp"
#include "python/pyref.hpp"

namespace pybind11 {
class module_;
}

namespace dnnmove::python {

class BuiltChain;

// What the Python object holds: a chain, and the descriptor with the dtype that the chain does not know.
struct Chain {
    using InitializedOnly = void;
    MemoryDesc src;  // of several sources the first
    chain::Chain steps;
    // All of them, where the chain is one of several; else null. Both are of one dtype.
    std::shared_ptr<const std::vector<MemoryDesc>> sources = nullptr;
};

// The entries of a basic index, as `np.s_[...]` gives them. Throws TypeError for anything but integers,
// slices, None and Ellipsis.
std::vector<chain::IndexEntry> parse_index(PyObject* key);

// Of an output of the steps, row-major.
MemoryDesc output_desc(const MemoryDesc& src, const chain::Chain& steps, std::size_t output);

// A Python object (callable, with execute and explain) that owns `built`.
PyRef wrap(std::shared_ptr<const BuiltChain> built);
// The Python object of the chain that `built` was made from.
PyRef chain_of(const BuiltChain& built);
void register_built_chain(PyObject* module);

void register_chain(pybind11::module_& module);

}  // namespace dnnmove::python
