// The result of a call: a new array of the kind of its input.
#pragma once

#include "python/numpy_api.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

#include "arguments/operand.hpp"

namespace dnnmove {

struct ResultType;

// The result of a call: made before the copy, handed out after it.
class NewArray {
public:
    NewArray() noexcept = default;
    ~NewArray() {
        if (tensor_ != nullptr) drop();
    }
    NewArray(const NewArray&) = delete;
    NewArray& operator=(const NewArray&) = delete;

    // Allocates an array of the kind and dtype of `like`, uninitialised; gaps between the elements
    // are zero. `strides` in bytes, not overlapping; empty means C-contiguous. Returns whether Python code may have
    // run (a finalizer, as objects are made): what was fetched of the operands is to be fetched again.
    // `type`: the dtype, where it is not that of `like`.
    bool make(const Operand& like, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
              const ResultType* type = nullptr);
    // A Memory of exactly `desc`, blocked layouts too; zeroed. May run Python code.
    void make_memory(python::MemoryDesc desc);
    std::byte* data() const noexcept { return data_; }
    // The filled array as an object of the caller's library.
    PyRef finish(const Operand& like);

private:
    bool make_ndarray(PyArray_Descr* descr, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);
    void make_with_gaps(PyArray_Descr* descr, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                        const Extent& extent);
    void drop() noexcept;

    std::byte* data_ = nullptr;
    PyRef array_;  // an ndarray or a Memory
    PyRef owner_;  // of a Memory's bytes: others may find the Memory and give it other bytes
    DLManagedTensorVersioned* tensor_ = nullptr;  // owned; torch and array libraries
};

}  // namespace dnnmove
