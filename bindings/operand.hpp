// Array arguments of any kind: NumPy arrays, torch tensors, and CPU objects with __dlpack__.
#pragma once

#include "numpy_api.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dlpack/dlpack.h"
#include "pyref.hpp"
#include "view/overlap.hpp"

namespace dnnmove {

namespace python {
struct Memory;
struct MemoryDesc;
}

inline constexpr int kMaxRank = 64;  // NumPy's limit

// One array argument, read once per call. Borrows the object: it must outlive the operand. Stays
// where it is (spans point into it). Everything here needs the GIL.
class Operand {
public:
    // What the result of a call on this operand is.
    enum class Kind { ndarray, memory, torch, dlpack };

    Operand() noexcept = default;
    ~Operand() {
        if (managed_ != nullptr || legacy_ != nullptr) release();
    }
    Operand(const Operand&) = delete;
    Operand& operator=(const Operand&) = delete;

    // TypeError or ValueError where `object` is no array that a call may read; `name` is the argument.
    void read(PyObject* object, std::string_view name) {
        object_ = object;
        if (PyArray_CheckExact(object)) {
            read_ndarray(name);
        } else {
            read_slowly(name);
        }
    }

    PyObject* object() const noexcept { return object_; }
    Kind kind() const noexcept { return kind_; }
    std::byte* data() const noexcept { return data_; }
    std::size_t ndim() const noexcept { return ndim_; }
    std::span<const std::int64_t> shape() const noexcept { return {shape_, ndim_}; }      // elements
    std::span<const std::int64_t> strides() const noexcept { return {strides_, ndim_}; }  // bytes
    std::int64_t itemsize() const noexcept { return itemsize_; }
    bool writeable() const noexcept { return writeable_; }
    // Null unless the object is a Memory.
    const python::Memory* memory() const noexcept { return memory_; }
    // A Memory in a blocked layout: shape and strides alone do not say where its elements are.
    bool blocked() const noexcept;
    Footprint footprint() const noexcept { return {data_, shape(), strides(), itemsize_}; }

    bool same_dtype(const Operand& other) const;
    bool has_dtype(PyArray_Descr* descr) const;
    // The NumPy dtype; TypeError where NumPy (with ml_dtypes) has none.
    PyRef descr() const;
    std::string dtype_name() const;

    // For arrays of integers with at most one dimension.
    bool is_integer() const;
    std::optional<std::int64_t> integer_at(std::int64_t position) const;

private:
    friend class NewArray;

    void read_ndarray(std::string_view name) {
        auto* array = reinterpret_cast<PyArrayObject*>(object_);
        descr_ = PyArray_DESCR(array);
        if (PyDataType_FLAGCHK(descr_, NPY_ITEM_REFCOUNT)) refuse_objects(name);
        data_ = reinterpret_cast<std::byte*>(PyArray_BYTES(array));
        ndim_ = static_cast<std::size_t>(PyArray_NDIM(array));
        shape_ = reinterpret_cast<const std::int64_t*>(PyArray_DIMS(array));
        strides_ = reinterpret_cast<const std::int64_t*>(PyArray_STRIDES(array));
        itemsize_ = static_cast<std::int64_t>(PyDataType_ELSIZE(descr_));
        writeable_ = PyArray_ISWRITEABLE(array);
    }
    void read_slowly(std::string_view name);
    void read_memory();
    void read_exchange(const DLPackExchangeAPI* api, std::string_view name);
    void read_dlpack(std::string_view name);
    void read_tensor(const DLTensor& tensor, std::string_view name);
    [[noreturn]] void refuse_objects(std::string_view name) const;
    void release() noexcept;

    PyObject* object_ = nullptr;
    PyArray_Descr* descr_ = nullptr;  // borrowed; null for DLPack, which has dl_dtype_
    DLDataType dl_dtype_{};
    std::byte* data_ = nullptr;
    std::size_t ndim_ = 0;
    const std::int64_t* shape_ = nullptr;
    const std::int64_t* strides_ = nullptr;
    std::int64_t itemsize_ = 0;
    Kind kind_ = Kind::ndarray;
    bool writeable_ = false;
    const python::Memory* memory_ = nullptr;  // borrowed
    DLManagedTensorVersioned* managed_ = nullptr;  // owned
    DLManagedTensor* legacy_ = nullptr;            // owned
    std::int64_t dims_[2][kMaxRank];               // shape and strides of a DLPack tensor; otherwise unused
};

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
    // are zero. `strides` in bytes, not overlapping; empty means C-contiguous.
    void make(const Operand& like, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);
    // A Memory of exactly `desc`, blocked layouts too; zeroed.
    void make_memory(const python::MemoryDesc& desc);
    std::byte* data() const noexcept { return data_; }
    // The filled array as an object of the caller's library.
    PyRef finish(const Operand& like);

private:
    void make_ndarray(PyArray_Descr* descr, std::span<const std::int64_t> shape,
                      std::span<const std::int64_t> strides);
    void make_with_gaps(PyArray_Descr* descr, std::span<const std::int64_t> shape,
                        std::span<const std::int64_t> strides, const Extent& extent);
    void drop() noexcept;

    std::byte* data_ = nullptr;
    PyRef array_;  // an ndarray or a Memory
    DLManagedTensorVersioned* tensor_ = nullptr;  // owned; torch and array libraries
};

// True for what Operand::read takes as an array (whatever it finds wrong with it then).
bool is_array(PyObject* object);

}  // namespace dnnmove
