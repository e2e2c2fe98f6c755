// Memory: a tensor in memory, as oneDNN's memory: owned, or zero copy over somebody's buffer.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <string>

#include "onednn/onednn.hpp"
#include "python/initialized.hpp"
#include "tensors/memory_desc.hpp"

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
    pybind11::object owner;       // keeps the bytes alive (memory_owner.hpp); null once the garbage collector took it
    mutable Dims element_strides = {};  // made when a consumer of DLPack borrows them

    // Owned: 64-byte aligned and zeroed.
    static Memory allocate(MemoryDesc desc, const std::shared_ptr<onednn::Engine>& engine = nullptr);
    // Zero copy over an array that matches `desc`, or over flat raw bytes of exactly its size.
    static Memory over(const MemoryDesc& desc, pybind11::handle buffer,
                       const std::shared_ptr<onednn::Engine>& engine = nullptr);
    // Over an array of any kind; ValueError or TypeError naming `name` where it does not match `desc`. `keeper` is what
    // keeps the array's bytes, where that is not the array.
    static Memory of_array(const MemoryDesc& desc, pybind11::handle array, const std::string& name,
                           pybind11::object keeper = {});

    // RuntimeError where the garbage collector took the bytes: a finalizer of the same dead cycle may still come here.
    void check_alive() const;
    // Zero-copy view of a plain layout; holds the owner.
    pybind11::array numpy() const;
    // The same of all bytes from `first`.
    pybind11::array raw_bytes() const;
    // Its bytes were overwritten: torch has to know where they are a tensor's.
    void written() const;
};

// How Memory shows itself to other libraries (memory_export.cpp), and how it is copied and pickled (memory_copy.cpp).
void setup_memory_type(PyHeapTypeObject* type);
void define_exports(pybind11::class_<Memory>& type);
void define_copies(pybind11::module_& module, pybind11::class_<Memory>& type);

// One with bytes of its own: as memory.desc says, writeable, what lies between the elements zero.
Memory copy_of(const Memory& memory);
// The same into one that was allocated for the same descriptor.
void copy_into(const Memory& from, const Memory& to);

// Whether the two share a byte; undecided counts as sharing.
bool share_bytes(const Memory& a, const Memory& b);

void register_memory(pybind11::module_& module);

}  // namespace dnnmove::python
