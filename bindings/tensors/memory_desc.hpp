// MemoryDesc: dims, dtype and layout of a tensor, as oneDNN's memory descriptor.
#pragma once

#include "arguments/operand.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>

#include "layout/layout.hpp"
#include "python/initialized.hpp"

namespace dnnmove::python {

// Value type; copies need the GIL (it owns a reference to the dtype).
struct MemoryDesc {
    using InitializedOnly = void;
    Layout layout;
    pybind11::dtype dtype;
    std::string tag;        // the format tag it was made with, for repr; may be empty
    std::string made = {};  // the expression that makes what neither strides nor a tag say; else empty

    // Dense row-major unless `layout` says otherwise.
    static MemoryDesc dense(const Dims& dims, const pybind11::dtype& dtype);
    // Throws TypeError and ValueError that name the argument ("dims", "dtype", "layout").
    static MemoryDesc parse(pybind11::handle dims, pybind11::handle dtype, pybind11::handle layout);
    // Of an array as it lies; ValueError where its strides are not whole elements.
    static MemoryDesc of(const Operand& array);

    // Throws ValueError for more dimensions than NumPy has.
    static void check_rank(const Dims& dims);

    bool operator==(const MemoryDesc& other) const;
    std::string repr() const;
    // In elements, a tuple; None for a blocked layout.
    pybind11::object strides() const;
    // Whether an array has the descriptor's dtype, shape and strides.
    bool matches(const Operand& array) const;
};

// The descriptor in an argument; TypeError that says how to get one from an array.
const MemoryDesc& to_memory_desc(pybind11::handle value, const char* argument);

// "array.strides[0] (6 bytes) must be a whole number of elements of 4 bytes".
std::string not_whole(const std::string& array, std::size_t axis, std::int64_t stride, std::int64_t itemsize);

void register_memory_desc(pybind11::module_& module);

}  // namespace dnnmove::python
