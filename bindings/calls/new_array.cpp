// The result of a call: a new array of the kind of its input.
#include "calls/new_array.hpp"

#include <utility>

#include "arguments/dlpack_types.hpp"
#include "array/dims.hpp"
#include "calls/element_type.hpp"
#include "calls/result_memory.hpp"
#include "python/errors.hpp"
#include "tensors/dlpack_export.hpp"
#include "tensors/memory.hpp"

namespace dnnmove {
namespace {

// A zero-size string dtype cannot be asked of NumPy directly (it would become one byte): as the
// field of a struct it can.
PyRef make_without_bytes(PyArray_Descr* descr, std::span<const std::int64_t> shape) {
    const PyRef held = PyRef::share(reinterpret_cast<PyObject*>(descr));
    const PyRef numpy = checked(PyImport_ImportModule("numpy"));
    const PyRef dims = checked(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        PyTuple_SET_ITEM(dims.get(), static_cast<Py_ssize_t>(axis), checked(PyLong_FromLongLong(shape[axis])).release());
    }
    const PyRef fields = checked(Py_BuildValue("[(sO)]", "field", reinterpret_cast<PyObject*>(descr)));
    const PyRef structs = checked(PyObject_CallMethod(numpy.get(), "empty", "OO", dims.get(), fields.get()));
    const PyRef name = checked(PyUnicode_FromString("field"));
    return checked(PyObject_GetItem(structs.get(), name.get()));
}

}  // namespace

bool NewArray::make(const Operand& like, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                    const ResultType* type) {
    if (like.kind() == Operand::Kind::ndarray)
        return make_ndarray(type == nullptr ? like.descr_ : type->descr(), shape, strides);
    const std::int64_t itemsize = type == nullptr ? like.itemsize_ : type->itemsize;
    if (like.kind() == Operand::Kind::memory) {
        const Dims dims(shape.begin(), shape.end());
        const Dims steps = strides.empty() ? dense_strides(dims, itemsize) : Dims(strides.begin(), strides.end());
        const pybind11::dtype dtype = type == nullptr ? like.memory()->desc.dtype
                                                      : pybind11::reinterpret_borrow<pybind11::dtype>(type->dtype.get());
        make_memory({Layout::strided(dims, steps, itemsize), dtype, {}});
        return true;
    }
    if (like.kind() == Operand::Kind::dlpack && !array_type_of(Py_TYPE(like.object())).has_namespace) {
        const PyRef descr = type == nullptr ? like.descr() : type->dtype;
        return make_ndarray(reinterpret_cast<PyArray_Descr*>(descr.get()), shape, strides);
    }
    tensor_ = allocate_tensor(type == nullptr ? like.other_.dtype : *type->dlpack, itemsize, shape, strides);
    data_ = static_cast<std::byte*>(tensor_->dl_tensor.data);
    return false;
}

bool NewArray::make_ndarray(PyArray_Descr* descr, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
    if (PyDataType_ELSIZE(descr) == 0 && PyTypeNum_ISSTRING(descr->type_num)) {
        array_ = make_without_bytes(descr, shape);
        return true;
    }
    auto* dims = reinterpret_cast<npy_intp*>(const_cast<std::int64_t*>(shape.data()));
    auto* steps = strides.empty() ? nullptr : reinterpret_cast<npy_intp*>(const_cast<std::int64_t*>(strides.data()));
    if (steps != nullptr) {
        const std::int64_t itemsize = static_cast<std::int64_t>(PyDataType_ELSIZE(descr));
        const Extent extent = extent_of(shape, strides, itemsize);
        // NumPy lays a new array from its first byte on: negative strides need a base of their own.
        if (extent.low != 0 || extent.high != element_count({shape.begin(), shape.end()}) * itemsize) {
            make_with_gaps(descr, shape, strides, extent);
            return true;
        }
    }
    std::size_t bytes = static_cast<std::size_t>(PyDataType_ELSIZE(descr));
    for (const std::int64_t length : shape) bytes *= static_cast<std::size_t>(length);
    // An ndarray is no object that the collector follows: to make one alone runs no finalizer, a switch to the pool may.
    const bool pools = bytes >= kPooledBytes;
    const PyRef held = PyRef::share(pools ? reinterpret_cast<PyObject*>(descr) : nullptr);
    const PooledArrays pooled(bytes);
    Py_INCREF(descr);
    array_ = checked(
        PyArray_NewFromDescr(&PyArray_Type, descr, static_cast<int>(shape.size()), dims, steps, nullptr, 0, nullptr));
    data_ = reinterpret_cast<std::byte*>(PyArray_BYTES(reinterpret_cast<PyArrayObject*>(array_.get())));
    return pools;
}

void NewArray::make_with_gaps(PyArray_Descr* descr, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                              const Extent& extent) {
    npy_intp bytes = static_cast<npy_intp>(extent.high - extent.low);
    const PyRef held = PyRef::share(reinterpret_cast<PyObject*>(descr));
    PyRef owner;
    {
        const PooledArrays pooled(static_cast<std::size_t>(bytes));
        owner = checked(PyArray_ZEROS(1, &bytes, NPY_UINT8, 0));
    }
    data_ = reinterpret_cast<std::byte*>(PyArray_BYTES(reinterpret_cast<PyArrayObject*>(owner.get()))) - extent.low;
    Py_INCREF(descr);
    array_ = checked(PyArray_NewFromDescr(&PyArray_Type, descr, static_cast<int>(shape.size()),
                                          reinterpret_cast<npy_intp*>(const_cast<std::int64_t*>(shape.data())),
                                          reinterpret_cast<npy_intp*>(const_cast<std::int64_t*>(strides.data())), data_,
                                          NPY_ARRAY_WRITEABLE, nullptr));
    auto* array = reinterpret_cast<PyArrayObject*>(array_.get());
    if (PyArray_SetBaseObject(array, owner.release()) != 0) throw PythonError{};
    PyArray_UpdateFlags(array, NPY_ARRAY_UPDATE_ALL);
}

void NewArray::make_memory(python::MemoryDesc desc) {
    pybind11::object memory = pybind11::cast(python::Memory::allocate(std::move(desc)));
    data_ = memory.cast<const python::Memory&>().data;
    owner_ = PyRef::share(memory.cast<const python::Memory&>().owner.ptr());
    array_ = PyRef::steal(memory.release().ptr());
}

PyRef NewArray::finish(const Operand& like) {
    if (tensor_ == nullptr) return std::move(array_);
    const ArrayType type = array_type_of(Py_TYPE(like.object()));
    if (type.torch && type.api != nullptr) {
        void* object = nullptr;
        if (type.api->managed_tensor_to_py_object_no_sync(std::exchange(tensor_, nullptr), &object) != 0) {
            throw PythonError{};
        }
        return PyRef::steal(static_cast<PyObject*>(object));
    }
    const PyRef exporter = make_exporter(std::exchange(tensor_, nullptr));
    const PyRef library = checked(type.torch ? PyImport_ImportModule("torch")
                                             : PyObject_CallMethod(like.object(), "__array_namespace__", nullptr));
    return checked(PyObject_CallMethod(library.get(), "from_dlpack", "O", exporter.get()));
}

void NewArray::drop() noexcept {
    if (tensor_ != nullptr) tensor_->deleter(tensor_);
}

}  // namespace dnnmove
