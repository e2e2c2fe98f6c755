// Array arguments of any kind: NumPy arrays, torch tensors, and CPU objects with __dlpack__.
#include "operand.hpp"

#include <cstring>

#include "dlpack_types.hpp"
#include "errors.hpp"
#include "memory.hpp"
#include "result_memory.hpp"
#include "view/dims.hpp"

namespace dnnmove {
namespace {

PyObject* interned(const char* text) {
    PyObject* name = PyUnicode_InternFromString(text);
    if (name == nullptr) throw PythonError{};
    return name;
}

bool is_masked(PyObject* array) {
    static PyObject* masked = nullptr;
    if (masked == nullptr) {
        const PyRef module = checked(PyImport_ImportModule("numpy.ma"));
        masked = checked(PyObject_GetAttrString(module.get(), "MaskedArray")).release();
    }
    return PyObject_TypeCheck(array, reinterpret_cast<PyTypeObject*>(masked)) != 0;
}

// The value of a bool attribute or of a method without arguments that returns a bool.
bool asks(PyObject* object, PyObject* name, bool method) {
    const PyRef answer =
        checked(method ? PyObject_CallMethodNoArgs(object, name) : PyObject_GetAttr(object, name));
    const int truth = PyObject_IsTrue(answer.get());
    if (truth < 0) throw PythonError{};
    return truth != 0;
}

// What only torch knows of its tensors: DLPack's C interface and (for is_neg) even __dlpack__ pass
// over these, and the bytes alone would be wrong data.
void check_tensor(PyObject* tensor, bool may_be_complex, std::string_view name) {
    static PyObject* const requires_grad = interned("requires_grad");
    static PyObject* const is_neg = interned("is_neg");
    static PyObject* const is_conj = interned("is_conj");
    if (asks(tensor, requires_grad, false)) {
        throw TypeError(std::string(name) +
                        " is a tensor that requires grad: use dnnmove.torch, which has autograd, or "
                        "pass tensor.detach()");
    }
    if (asks(tensor, is_neg, true) || (may_be_complex && asks(tensor, is_conj, true))) {
        throw TypeError(std::string(name) +
                        " is a lazily negated or conjugated tensor: pass tensor.resolve_neg().resolve_conj()");
    }
}

const char* device_name(int type) {
    switch (type) {
        case kDLCUDA: return "cuda";
        case kDLROCM: return "rocm";
        case kDLMetal: return "metal";
        case kDLVulkan: return "vulkan";
        case kDLOneAPI: return "oneapi";
        default: return "device type";
    }
}

void check_device(int type, std::string_view name) {
    if (type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost) return;
    throw ValueError(std::string(name) + " lies on a device that is not the CPU (" + device_name(type) + ", DLPack's " +
                     std::to_string(type) + "): move it to the CPU first");
}

// Replaces the current Python exception by a TypeError that says which argument it was.
[[noreturn]] void refuse(PyObject* object, std::string_view name) {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    const bool ordinary = type != nullptr && PyErr_GivenExceptionMatches(type, PyExc_Exception) != 0 &&
                          PyErr_GivenExceptionMatches(type, PyExc_MemoryError) == 0;
    if (!ordinary) {
        PyErr_Restore(type, value, trace);
        throw PythonError{};
    }
    std::string why = "an unknown reason";
    if (const PyRef text = PyRef::steal(value == nullptr ? nullptr : PyObject_Str(value))) {
        const char* utf8 = PyUnicode_AsUTF8(text.get());
        if (utf8 != nullptr) why = std::string(utf8).substr(0, std::string_view(utf8).find('\n'));  // torch adds its C++ stack
    }
    PyErr_Clear();
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    throw TypeError(std::string(name) + " (" + type_name(object) + ") cannot be read through DLPack: " + why);
}

}  // namespace

bool is_array(PyObject* object) {
    return PyArray_Check(object) || (!PyLong_Check(object) && array_type_of(Py_TYPE(object)).array);
}

void Operand::refuse_objects(std::string_view name) const {
    throw TypeError(std::string(name) + " has dtype " + dtype_name() +
                    ", whose elements refer to Python objects: dnnmove moves arrays of a fixed-size dtype");
}

void Operand::read_slowly(std::string_view name) {
    if (PyArray_Check(object_)) {
        if (is_masked(object_)) {
            throw TypeError(std::string(name) +
                            " is a masked array, whose mask would be lost: move its .data and .mask one by one");
        }
        read_ndarray(name);
        return;
    }
    const ArrayType& type = array_type_of(Py_TYPE(object_));
    if (!type.array || PyType_Check(object_)) {
        const bool convertible = PyList_Check(object_) || PyTuple_Check(object_) || PyNumber_Check(object_);
        throw TypeError(std::string(name) + " must be an array (NumPy, torch, or a CPU object with __dlpack__), not " +
                        type_name(object_) + (convertible ? ": convert it with numpy.asarray first" : ""));
    }
    if (type.memory) {
        read_memory();
        return;
    }
    if (type.torch) kind_ = Kind::torch;
    if (type.api != nullptr && type.exact && type.api->dltensor_from_py_object_no_sync != nullptr) {
        read_exchange(type.api, name);
    } else {
        const bool torch = type.torch;
        if (torch) check_tensor(object_, true, name);
        read_dlpack(name);
        kind_ = torch ? Kind::torch : Kind::dlpack;
    }
}

void Operand::read_memory() {
    memory_ = &pybind11::handle(object_).cast<const python::Memory&>();
    kind_ = Kind::memory;
    const Layout& layout = memory_->desc.layout;
    descr_ = reinterpret_cast<PyArray_Descr*>(memory_->desc.dtype.ptr());
    data_ = memory_->data;
    ndim_ = layout.ndim();
    shape_ = layout.dims.data();
    strides_ = layout.strides.data();
    itemsize_ = layout.itemsize;
    writeable_ = !memory_->readonly;
}

bool Operand::blocked() const noexcept { return memory_ != nullptr && memory_->desc.layout.blocked(); }

void Operand::read_exchange(const DLPackExchangeAPI* api, std::string_view name) {
    DLTensor tensor{};
    if (api->dltensor_from_py_object_no_sync(object_, &tensor) != 0) refuse(object_, name);
    check_tensor(object_, tensor.dtype.code == kDLComplex, name);
    read_tensor(tensor, name);
    writeable_ = true;
}

void Operand::read_dlpack(std::string_view name) {
    const PyRef device = PyRef::steal(PyObject_CallMethod(object_, "__dlpack_device__", nullptr));
    if (!device) refuse(object_, name);
    if (PyTuple_Check(device.get()) && PyTuple_GET_SIZE(device.get()) == 2) {
        const long number = PyLong_AsLong(PyTuple_GET_ITEM(device.get(), 0));
        if (number == -1 && PyErr_Occurred() != nullptr) {
            const PyRef index = PyRef::steal((PyErr_Clear(), PyNumber_Index(PyTuple_GET_ITEM(device.get(), 0))));
            if (!index) refuse(object_, name);
            check_device(static_cast<int>(PyLong_AsLong(index.get())), name);
        } else {
            check_device(static_cast<int>(number), name);
        }
    }
    const PyRef method = PyRef::steal(PyObject_GetAttrString(object_, "__dlpack__"));
    if (!method) refuse(object_, name);
    const PyRef none = checked(PyTuple_New(0));
    const PyRef keywords = checked(Py_BuildValue("{s:(ii)}", "max_version", 1, 0));
    PyRef capsule = PyRef::steal(PyObject_Call(method.get(), none.get(), keywords.get()));
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
        // Written before DLPack had versions.
        PyErr_Clear();
        capsule = PyRef::steal(PyObject_CallNoArgs(method.get()));
    }
    if (!capsule) refuse(object_, name);
    if (PyCapsule_IsValid(capsule.get(), "dltensor_versioned") != 0) {
        auto* managed = static_cast<DLManagedTensorVersioned*>(
            PyCapsule_GetPointer(capsule.get(), "dltensor_versioned"));
        if (PyCapsule_SetName(capsule.get(), "used_dltensor_versioned") != 0) throw PythonError{};
        managed_ = managed;
        if (managed->version.major != DLPACK_MAJOR_VERSION) {
            throw TypeError(std::string(name) + " (" + type_name(object_) + ") speaks DLPack version " +
                            std::to_string(managed->version.major) + ", not 1");
        }
        writeable_ = (managed->flags & (DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED)) == 0;
        read_tensor(managed->dl_tensor, name);
    } else if (PyCapsule_IsValid(capsule.get(), "dltensor") != 0) {
        legacy_ = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
        if (PyCapsule_SetName(capsule.get(), "used_dltensor") != 0) throw PythonError{};
        writeable_ = false;  // the old form cannot say, and jax's arrays are constants
        read_tensor(legacy_->dl_tensor, name);
    } else {
        throw TypeError(std::string(name) + " (" + type_name(object_) + ") returned no DLPack capsule from __dlpack__");
    }
}

void Operand::read_tensor(const DLTensor& tensor, std::string_view name) {
    check_device(tensor.device.device_type, name);
    if (tensor.ndim < 0 || tensor.ndim > kMaxRank) {
        throw ValueError(std::string(name) + " has " + std::to_string(tensor.ndim) + " dimensions, but at most " +
                         std::to_string(kMaxRank) + " are possible");
    }
    dl_dtype_ = tensor.dtype;
    const int bits = tensor.dtype.bits * tensor.dtype.lanes;
    if (bits == 0 || bits % 8 != 0 || (tensor.dtype.bits < 8 && tensor.dtype.lanes == 1)) {
        throw TypeError(std::string(name) + " has dtype " + name_of(tensor.dtype) +
                        ", whose elements are not whole bytes");
    }
    itemsize_ = bits / 8;
    ndim_ = static_cast<std::size_t>(tensor.ndim);
    if (ndim_ > 0 && tensor.shape == nullptr) {
        throw TypeError(std::string(name) + " (" + type_name(object_) + ") has " + std::to_string(ndim_) +
                        " dimensions, but its DLPack tensor has no shape");
    }
    std::int64_t dense = itemsize_;
    std::int64_t span = itemsize_;  // bytes from the first element to the last, whatever the strides' signs
    bool empty = false;
    bool fits = true;
    for (std::size_t axis = ndim_; axis-- > 0;) {
        const std::int64_t length = tensor.shape[axis];
        if (length < 0) {
            throw ValueError(std::string(name) + " has a negative length, " + std::to_string(length) + ", on axis " +
                             std::to_string(axis));
        }
        std::int64_t stride = dense;
        if (tensor.strides != nullptr) fits = !__builtin_mul_overflow(tensor.strides[axis], itemsize_, &stride) && fits;
        dims_[0][axis] = length;
        dims_[1][axis] = stride;
        empty = empty || length == 0;
        if (length <= 1) continue;
        std::int64_t reach = 0;
        fits = !__builtin_mul_overflow(length - 1, stride, &reach) && reach > INT64_MIN &&
               !__builtin_add_overflow(span, reach < 0 ? -reach : reach, &span) &&
               !__builtin_mul_overflow(dense, length, &dense) && fits;
    }
    if (!fits && !empty) {
        throw ValueError(std::string(name) + " has shape " + to_string(Dims(dims_[0], dims_[0] + ndim_)) +
                         " and strides that span more bytes than 63 bits can count");
    }
    shape_ = dims_[0];
    strides_ = dims_[1];
    data_ = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
    if (tensor.data == nullptr && !empty) {
        throw TypeError(std::string(name) + " (" + type_name(object_) + ") has no memory behind it");
    }
}

void Operand::release() noexcept {
    if (managed_ != nullptr && managed_->deleter != nullptr) managed_->deleter(managed_);
    if (legacy_ != nullptr && legacy_->deleter != nullptr) legacy_->deleter(legacy_);
}

PyRef Operand::descr() const {
    if (descr_ != nullptr) return PyRef::share(reinterpret_cast<PyObject*>(descr_));
    PyRef descr = descr_of(dl_dtype_);
    if (!descr) throw TypeError("NumPy has no dtype for " + name_of(dl_dtype_));
    return descr;
}

std::string Operand::dtype_name() const {
    if (descr_ == nullptr) return name_of(dl_dtype_);
    const PyRef text = PyRef::steal(PyObject_Str(reinterpret_cast<PyObject*>(descr_)));
    const char* name = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    if (name == nullptr) PyErr_Clear();
    return name == nullptr ? "of an unknown name" : name;
}

bool Operand::has_dtype(PyArray_Descr* other) const {
    if (descr_ == other) return true;
    const PyRef own = descr_ != nullptr ? PyRef::share(reinterpret_cast<PyObject*>(descr_)) : descr_of(dl_dtype_);
    return own && PyArray_EquivTypes(reinterpret_cast<PyArray_Descr*>(own.get()), other) != 0;
}

bool Operand::same_dtype(const Operand& other) const {
    if (other.descr_ != nullptr) return has_dtype(other.descr_);
    if (descr_ != nullptr) return other.has_dtype(descr_);
    return dl_dtype_.code == other.dl_dtype_.code && dl_dtype_.bits == other.dl_dtype_.bits &&
           dl_dtype_.lanes == other.dl_dtype_.lanes;
}

bool Operand::is_integer() const {
    if (descr_ != nullptr) return PyTypeNum_ISINTEGER(descr_->type_num);
    return (dl_dtype_.code == kDLInt || dl_dtype_.code == kDLUInt) && dl_dtype_.lanes == 1;
}

std::optional<std::int64_t> Operand::integer_at(std::int64_t position) const {
    const std::byte* address = data_ + (ndim_ == 0 ? 0 : position * strides_[0]);
    std::uint64_t bits = 0;
    const auto size = static_cast<std::size_t>(itemsize_);
    std::byte raw[8];
    if (size > sizeof raw) return std::nullopt;
    std::memcpy(raw, address, size);
    const bool swapped = descr_ != nullptr && PyArray_ISBYTESWAPPED(reinterpret_cast<PyArrayObject*>(object_));
    const bool little = (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) != swapped;
    for (std::size_t i = 0; i < size; ++i) {
        bits |= static_cast<std::uint64_t>(raw[i]) << (8 * (little ? i : size - 1 - i));
    }
    const bool is_signed = descr_ != nullptr ? PyTypeNum_ISSIGNED(descr_->type_num) : dl_dtype_.code == kDLInt;
    if (!is_signed) {
        if (bits >> 63 != 0) return std::nullopt;
    } else if (size < 8 && (bits >> (8 * size - 1)) != 0) {
        bits |= ~std::uint64_t{0} << (8 * size);
    }
    return static_cast<std::int64_t>(bits);
}

namespace {

// A zero-size string dtype cannot be asked of NumPy directly (it would become one byte): as the
// field of a struct it can.
PyRef make_without_bytes(PyArray_Descr* descr, std::span<const std::int64_t> shape) {
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

void NewArray::make(const Operand& like, std::span<const std::int64_t> shape,
                    std::span<const std::int64_t> strides) {
    if (like.kind_ == Operand::Kind::ndarray) {
        make_ndarray(like.descr_, shape, strides);
        return;
    }
    if (like.kind_ == Operand::Kind::memory) {
        const Dims dims(shape.begin(), shape.end());
        const Dims steps = strides.empty() ? dense_strides(dims, like.itemsize_) : Dims(strides.begin(), strides.end());
        make_memory({Layout::strided(dims, steps, like.itemsize_), like.memory_->desc.dtype, {}});
        return;
    }
    const ArrayType& type = array_type_of(Py_TYPE(like.object_));
    if (like.kind_ == Operand::Kind::dlpack && !type.has_namespace) {
        const PyRef descr = like.descr();
        make_ndarray(reinterpret_cast<PyArray_Descr*>(descr.get()), shape, strides);
        return;
    }
    tensor_ = allocate_tensor(like.dl_dtype_, like.itemsize_, shape, strides);
    data_ = static_cast<std::byte*>(tensor_->dl_tensor.data);
}

void NewArray::make_ndarray(PyArray_Descr* descr, std::span<const std::int64_t> shape,
                            std::span<const std::int64_t> strides) {
    if (PyDataType_ELSIZE(descr) == 0 && PyTypeNum_ISSTRING(descr->type_num)) {
        array_ = make_without_bytes(descr, shape);
        return;
    }
    auto* dims = reinterpret_cast<npy_intp*>(const_cast<std::int64_t*>(shape.data()));
    auto* steps = strides.empty() ? nullptr : reinterpret_cast<npy_intp*>(const_cast<std::int64_t*>(strides.data()));
    if (steps != nullptr) {
        const std::int64_t itemsize = static_cast<std::int64_t>(PyDataType_ELSIZE(descr));
        const Extent extent = extent_of(shape, strides, itemsize);
        // NumPy lays a new array from its first byte on: negative strides need a base of their own.
        if (extent.low != 0 || extent.high != element_count({shape.begin(), shape.end()}) * itemsize) {
            make_with_gaps(descr, shape, strides, extent);
            return;
        }
    }
    std::size_t bytes = static_cast<std::size_t>(PyDataType_ELSIZE(descr));
    for (const std::int64_t length : shape) bytes *= static_cast<std::size_t>(length);
    const PooledArrays pooled(bytes);
    Py_INCREF(descr);
    array_ = checked(PyArray_NewFromDescr(&PyArray_Type, descr, static_cast<int>(shape.size()), dims, steps, nullptr,
                                          0, nullptr));
    data_ = reinterpret_cast<std::byte*>(PyArray_BYTES(reinterpret_cast<PyArrayObject*>(array_.get())));
}

void NewArray::make_with_gaps(PyArray_Descr* descr, std::span<const std::int64_t> shape,
                              std::span<const std::int64_t> strides, const Extent& extent) {
    npy_intp bytes = static_cast<npy_intp>(extent.high - extent.low);
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

void NewArray::make_memory(const python::MemoryDesc& desc) {
    pybind11::object memory = pybind11::cast(python::Memory::allocate(desc));
    data_ = memory.cast<const python::Memory&>().data;
    array_ = PyRef::steal(memory.release().ptr());
}

PyRef NewArray::finish(const Operand& like) {
    if (tensor_ == nullptr) return std::move(array_);
    const ArrayType& type = array_type_of(Py_TYPE(like.object_));
    if (type.torch && type.api != nullptr) {
        void* object = nullptr;
        if (type.api->managed_tensor_to_py_object_no_sync(std::exchange(tensor_, nullptr), &object) != 0) {
            throw PythonError{};
        }
        return PyRef::steal(static_cast<PyObject*>(object));
    }
    const PyRef exporter = make_exporter(std::exchange(tensor_, nullptr));
    const PyRef library = checked(type.torch ? PyImport_ImportModule("torch")
                                             : PyObject_CallMethod(like.object_, "__array_namespace__", nullptr));
    return checked(PyObject_CallMethod(library.get(), "from_dlpack", "O", exporter.get()));
}

void NewArray::drop() noexcept {
    if (tensor_ != nullptr) tensor_->deleter(tensor_);
}

}  // namespace dnnmove
