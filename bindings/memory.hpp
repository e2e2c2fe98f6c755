// Memory: a tensor in memory, as oneDNN's memory: owned, or zero copy over somebody's buffer.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <string>

#include "initialized.hpp"
#include "memory_desc.hpp"
#include "onednn.hpp"

namespace dnnmove::python {

// Created, copied and destroyed with the GIL held.
struct Memory {
    using InitializedOnly = void;
    MemoryDesc desc;
    std::shared_ptr<onednn::Engine> engine;
    std::byte* data = nullptr;    // element (0, 0, ...)
    std::byte* first = nullptr;   // the first byte of the buffer: `data` less desc.layout.origin()
    std::int64_t bytes = 0;       // from `first`: desc.layout.size(), or the span of a strided array
    bool readonly = false;
    pybind11::object owner;       // keeps the bytes alive
    pybind11::object tensor;      // torch's, over which it lies; null otherwise

    // Owned: 64-byte aligned and zeroed.
    static Memory allocate(const MemoryDesc& desc, std::shared_ptr<onednn::Engine> engine = nullptr);
    // Zero copy over an array that matches `desc`, or over flat raw bytes of exactly its size.
    static Memory over(const MemoryDesc& desc, pybind11::handle buffer, std::shared_ptr<onednn::Engine> engine = nullptr);
    // Over an array of any kind; ValueError or TypeError naming `name` where it does not match `desc`.
    static Memory of_array(const MemoryDesc& desc, pybind11::handle array, const std::string& name);

    // Zero-copy view of a plain layout; `self` (the Python object of this Memory) keeps it alive.
    pybind11::array numpy(pybind11::handle self) const;
    // Its bytes were overwritten: torch has to know where they are a tensor's.
    void written() const;
};

// Whether the two share a byte; undecided counts as sharing.
bool share_bytes(const Memory& a, const Memory& b);

void register_memory(pybind11::module_& module);

}  // namespace dnnmove::python
