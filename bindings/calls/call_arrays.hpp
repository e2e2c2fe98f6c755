// The arrays of one call: what it reads, and what it writes where the caller gave that.
#pragma once

#include "python/numpy_api.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>

#include "arguments/operand.hpp"
#include "call/operation.hpp"
#include "python/errors.hpp"
#include "python/pyref.hpp"

namespace dnnmove {

// As many elements as there are arrays, which stay where they are.
template <class T>
class CallList {
public:
    explicit CallList(std::size_t count) : size_(count) {
        if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T)) throw std::bad_alloc();
        if (count > 0) items_.reset(new T[count]);
    }
    T& operator[](std::size_t i) noexcept { return items_[i]; }
    const T& operator[](std::size_t i) const noexcept { return items_[i]; }
    T* data() noexcept { return items_.get(); }
    const T* data() const noexcept { return items_.get(); }
    std::size_t size() const noexcept { return size_; }

private:
    std::size_t size_;
    std::unique_ptr<T[]> items_;
};

// The same of one array, which may be absent.
template <class T>
class CallItem {
public:
    explicit CallItem(std::size_t) noexcept {}
    T& operator[](std::size_t) noexcept { return item_; }
    const T& operator[](std::size_t) const noexcept { return item_; }
    T* data() noexcept { return &item_; }
    const T* data() const noexcept { return &item_; }
    static constexpr std::size_t size() noexcept { return 1; }

private:
    T item_;
};

using Operands = CallList<Operand>;

// What the caller gave for one side of a call, which errors call `name`: one array, or null where nothing was given.
struct OneArray {
    template <class T>
    using List = CallItem<T>;
    static constexpr bool kList = false;

    std::string_view name;
    PyObject* object = nullptr;

    bool given() const noexcept { return object != nullptr; }
    std::size_t size() const noexcept { return object != nullptr ? 1 : 0; }
    PyObject* object_at(std::size_t) const noexcept { return object; }
    ArgumentName name_at(std::size_t) const noexcept { return name; }
};

// The same of several: a tuple of them, which is borrowed, or null.
struct ManyArrays {
    template <class T>
    using List = CallList<T>;
    static constexpr bool kList = true;

    std::string_view name;
    PyObject* tuple = nullptr;

    bool given() const noexcept { return tuple != nullptr; }
    std::size_t size() const noexcept { return tuple == nullptr ? 0 : static_cast<std::size_t>(PyTuple_GET_SIZE(tuple)); }
    PyObject* object_at(std::size_t i) const noexcept { return PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(i)); }
    ArgumentName name_at(std::size_t i) const noexcept { return {name, i}; }
};

// Opens all arrays of a call and then fetches them, those again that code of Python may have changed meanwhile (see
// Operand). `In` and `Out` have size(), object_at(i) and name_at(i).
template <class In, class Out, class Inputs, class Outs>
void read_arrays(const In& in, Inputs& inputs, Access access, const Out& out, Outs& outs) {
    const std::size_t in_count = in.size();
    const std::size_t out_count = out.size();
    std::size_t last = 0;  // of those that ran code as they were opened
    for (std::size_t i = 0; i < in_count; ++i) {
        if (inputs[i].open(in.object_at(i), in.name_at(i), access)) last = i;
    }
    for (std::size_t i = 0; i < out_count; ++i) {
        if (outs[i].open(out.object_at(i), out.name_at(i), Access::write)) last = in_count + i;
    }
    for (std::size_t i = 0; i < in_count; ++i) inputs[i].fetch(in.name_at(i), i < last);
    for (std::size_t i = 0; i < out_count; ++i) outs[i].fetch(out.name_at(i), in_count + i < last);
}

// The arrays of one call, read.
template <class In, class Out>
struct CallArrays {
    In in;
    Out out;  // nothing where the results are to be new arrays
    typename In::template List<Operand> inputs;
    typename Out::template List<Operand> outs;

    CallArrays(const In& in_given, const Out& out_given)
        : in(in_given), out(out_given), inputs(in_given.size()), outs(out_given.size()) {
        read_arrays(in, inputs, into() ? Access::read_out : Access::read, out, outs);
    }
    // Are the results written into arrays of the caller's?
    bool into() const noexcept { return out.given(); }
};

inline PyObject* none_is_null(PyObject* object) { return object == Py_None ? nullptr : object; }

inline ArrayLayout layout_of(const Operand& array) { return {array.shape(), array.strides()}; }

// The arrays of a list or tuple as a tuple. TypeError where `object` is neither.
PyRef list_of_arrays(PyObject* object, std::string_view name);
// The same where there must be `count`, as many as `each` says: "branch".
PyRef list_of_arrays(PyObject* object, std::string_view name, std::size_t count, std::string_view each);

[[noreturn]] void refuse_read_only(const ArgumentName& name);
// ValueError: only reorder and the shuffles take a Memory in a blocked layout.
[[noreturn]] void refuse_blocked(const Operand& array, const ArgumentName& name);
// TypeError: the two dtypes, which are not the same, must be.
[[noreturn]] void refuse_dtype(const Operand& array, const ArgumentName& name, const Operand& other,
                               const ArgumentName& other_name);

inline void check_plain(const Operand& array, const ArgumentName& name) {
    if (array.blocked()) refuse_blocked(array, name);
}

// Writeable, of the data's dtype: what every `out` must be before anything is planned.
inline void check_out(const Operand& out, const Operand& data, const ArgumentName& out_name, const ArgumentName& data_name) {
    if (!out.writeable()) refuse_read_only(out_name);
    if (!out.same_dtype(data)) refuse_dtype(out, out_name, data, data_name);
}

}  // namespace dnnmove
