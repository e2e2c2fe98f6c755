// Array arguments of any kind: NumPy arrays, torch tensors, and CPU objects with __dlpack__.
#pragma once

#include "python/numpy_api.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "arguments/torch_tensors.hpp"
#include "array/overlap.hpp"
#include "dlpack/dlpack.h"
#include "python/errors.hpp"
#include "python/pyref.hpp"

namespace dnnmove {

namespace python {
struct Memory;
struct MemoryDesc;
}  // namespace python

// One array argument of one call. Borrows the object, which must outlive it, and what the object says of itself:
// an array may be reshaped, resized or given another dtype by any Python code. So a call first opens all its arrays,
// which may run such code, and then fetches all of them, which runs none; and what it does until it copies must run
// none either, or be followed by another fetch. Where the GIL is let go of while the copy runs, whoever resizes an
// array by force in another thread takes its memory away from the copy, as from NumPy's own functions.
//
// Stays where it is (spans point into it). Everything here needs the GIL.
class Operand {
public:
    // What the result of a call on this operand is.
    enum class Kind { ndarray, memory, torch, dlpack };

    Operand() noexcept {}
    ~Operand() {
        if (has_other_) release();
    }
    Operand(const Operand&) = delete;
    Operand& operator=(const Operand&) = delete;

    // TypeError or ValueError where `object` is no array that a call may use for `access`; `name` is the argument.
    // Returns whether Python code may have run, so that arrays opened before are to be fetched `again`.
    bool open(PyObject* object, const ArgumentName& name, Access access = Access::read) {
        object_ = object;
        return !PyArray_CheckExact(object) && open_slowly(name, access);
    }
    // Reads dtype, memory, shape and strides, once more if need be. `again`: see open.
    void fetch(const ArgumentName& name, bool again) {
        if (kind_ == Kind::ndarray) {
            fetch_ndarray(name);
        } else {
            fetch_slowly(name, again);
        }
    }
    // The only array of a call.
    void read(PyObject* object, const ArgumentName& name, Access access = Access::read) {
        open(object, name, access);
        fetch(name, false);
    }
    // As read, but holds the memory of a tensor itself, so that it may outlive the tensor's own use of it.
    void read_to_keep(PyObject* object, const ArgumentName& name);
    // The memory was overwritten: tells a library that has to know.
    void written() const {
        if (kind_ != Kind::ndarray) tell_written();
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
    const python::Memory* memory() const noexcept { return kind_ == Kind::memory ? other_.memory : nullptr; }
    // A Memory in a blocked layout: shape and strides alone do not say where its elements are.
    bool blocked() const noexcept { return kind_ == Kind::memory && is_blocked(); }
    Footprint footprint() const noexcept { return {data_, shape(), strides(), itemsize_}; }

    // Without running Python code, which NumPy's own comparison may.
    bool same_dtype(const Operand& other) const {
        return (descr_ != nullptr && descr_ == other.descr_) || same_dtype_slowly(other);
    }
    bool has_dtype(PyArray_Descr* descr) const;
    // The NumPy dtype; TypeError where NumPy (with ml_dtypes) has none.
    PyRef descr() const;
    std::string dtype_name() const;
    // The dtype, where it is borrowed: for those who have its text made, which may run Python code.
    PyRef keep_descr() const noexcept { return PyRef::share(reinterpret_cast<PyObject*>(descr_)); }

    // For arrays of integers with at most one dimension.
    bool is_integer() const;
    bool is_signed() const;
    bool swapped() const;  // their bytes are in the other order than this machine's
    // As many as `values` has room for. Returns how many there are before the first that does not fit into 64 bits.
    std::size_t read_integers(std::span<std::int64_t> values) const;

private:
    friend class NewArray;
    static constexpr std::size_t kInlineRank = 8;

    void fetch_ndarray(const ArgumentName& name) {
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
    bool open_slowly(const ArgumentName& name, Access access);
    void fetch_slowly(const ArgumentName& name, bool again);
    void open_dlpack(const ArgumentName& name);
    void fetch_memory(const ArgumentName& name);
    void fetch_tensor(const DLTensor& tensor, const ArgumentName& name);
    bool is_blocked() const noexcept;
    void tell_written() const;
    bool same_dtype_slowly(const Operand& other) const;
    [[noreturn]] void refuse_objects(const ArgumentName& name) const;
    void release() noexcept;

    // What only an array that is no ndarray has; an ndarray's operand does not even clear it.
    struct Other {
        const python::Memory* memory = nullptr;       // borrowed
        PyObject* memory_owner = nullptr;             // owned: what keeps the Memory's bytes
        const DLPackExchangeAPI* api = nullptr;       // torch's, where the tensor is read through it
        DLManagedTensorVersioned* managed = nullptr;  // owned
        DLManagedTensor* legacy = nullptr;            // owned
        std::int64_t* long_dims = nullptr;            // owned: dims of more than kInlineRank dimensions
        DLDataType dtype{};                           // where descr_ is null
    };

    PyObject* object_ = nullptr;
    PyArray_Descr* descr_ = nullptr;  // borrowed; null for DLPack
    std::byte* data_ = nullptr;
    std::size_t ndim_ = 0;
    const std::int64_t* shape_ = nullptr;
    const std::int64_t* strides_ = nullptr;
    std::int64_t itemsize_ = 0;
    Kind kind_ = Kind::ndarray;
    bool writeable_ = false;
    bool has_other_ = false;
    union {
        Other other_;
    };
    // Shape and strides of a DLPack tensor. Few have more dimensions, and a call may have many operands.
    std::int64_t dims_[2 * kInlineRank];
};

// True for what Operand::read takes as an array (whatever it finds wrong with it then).
bool is_array(PyObject* object);

}  // namespace dnnmove
