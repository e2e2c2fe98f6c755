// Array arguments of any kind: NumPy arrays, torch tensors, and CPU objects with __dlpack__.
#include "arguments/operand.hpp"

#include <bit>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "arguments/descr.hpp"
#include "arguments/dlpack_types.hpp"
#include "array/dims.hpp"
#include "python/errors.hpp"
#include "tensors/memory.hpp"
#include "tensors/memory_owner.hpp"

namespace dnnmove {
namespace {

bool is_masked(PyObject* array) {
    static PyObject* masked = nullptr;
    if (masked == nullptr) {
        const PyRef module = checked(PyImport_ImportModule("numpy.ma"));
        masked = checked(PyObject_GetAttrString(module.get(), "MaskedArray")).release();
    }
    return PyObject_TypeCheck(array, reinterpret_cast<PyTypeObject*>(masked)) != 0;
}

const char* device_name(std::int64_t type) {
    switch (type) {
        case kDLCUDA: return "cuda";
        case kDLROCM: return "rocm";
        case kDLMetal: return "metal";
        case kDLVulkan: return "vulkan";
        case kDLOneAPI: return "oneapi";
        default: return "device type";
    }
}

void check_device(std::int64_t type, const ArgumentName& name) {
    if (type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost) return;
    throw ValueError(name.text() + " lies on a device that is not the CPU (" + device_name(type) + ", DLPack's " +
                     std::to_string(type) + "): move it to the CPU first");
}

// Replaces the current Python exception by a TypeError that says which argument it was.
[[noreturn]] void refuse(PyObject* object, const ArgumentName& name) {
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
    throw TypeError(name.text() + " (" + type_name(object) + ") cannot be read through DLPack: " + why);
}

}  // namespace

bool is_array(PyObject* object) {
    return PyArray_Check(object) || (!PyLong_Check(object) && array_type_of(Py_TYPE(object)).array);
}

void Operand::refuse_objects(const ArgumentName& name) const {
    throw TypeError(name.text() + " has dtype " + dtype_name() +
                    ", whose elements refer to Python objects: dnnmove moves arrays of a fixed-size dtype");
}

bool Operand::open_slowly(const ArgumentName& name, Access access) {
    if (PyArray_Check(object_)) {
        if (is_masked(object_)) {
            throw TypeError(name.text() + " is a masked array, whose mask would be lost: move its .data and .mask one by one");
        }
        return true;
    }
    new (&other_) Other();
    has_other_ = true;
    const ArrayType type = array_type_of(Py_TYPE(object_));
    if (!type.array || PyType_Check(object_)) {
        const bool convertible = PyList_Check(object_) || PyTuple_Check(object_) || PyNumber_Check(object_);
        throw TypeError(name.text() + " must be an array (NumPy, torch, or a CPU object with __dlpack__), not " +
                        type_name(object_) + (convertible ? ": convert it with numpy.asarray first" : ""));
    }
    if (type.memory) {
        other_.memory = &pybind11::handle(object_).cast<const python::Memory&>();
        kind_ = Kind::memory;
        return true;
    }
    bool ran_python = true;
    if (type.torch) ran_python = torch_tensors::check(object_, access, type.exact, name);
    if (type.exact && type.api != nullptr && type.api->dltensor_from_py_object_no_sync != nullptr) {
        other_.api = type.api;
        kind_ = Kind::torch;
        writeable_ = true;
        fetch_slowly(name, true);
        if (other_.dtype.code == kDLComplex) torch_tensors::check_conjugation(object_, name);
        return ran_python;
    }
    // The C interface passes over lazy conjugation, and so may a class of its own.
    if (type.torch) torch_tensors::check_conjugation(object_, name);
    open_dlpack(name);
    kind_ = type.torch ? Kind::torch : Kind::dlpack;
    return true;
}

void Operand::fetch_slowly(const ArgumentName& name, bool again) {
    if (kind_ == Kind::memory) {
        fetch_memory(name);
    } else if (other_.api != nullptr && again) {
        DLTensor tensor{};
        if (other_.api->dltensor_from_py_object_no_sync(object_, &tensor) != 0) refuse(object_, name);
        fetch_tensor(tensor, name);
    }
    // What __dlpack__ gave is ours and stays as it was read.
}

void Operand::fetch_memory(const ArgumentName& name) {
    const python::Memory& memory = *other_.memory;
    memory.check_alive();
    const Layout& layout = memory.desc.layout;
    descr_ = reinterpret_cast<PyArray_Descr*>(memory.desc.dtype.ptr());
    if (other_.memory_owner == nullptr) other_.memory_owner = Py_XNewRef(memory.owner.ptr());
    if (other_.memory_owner != memory.owner.ptr()) {
        throw std::runtime_error(name.text() + " was given other memory by Python code that ran during the call");
    }
    data_ = memory.data;
    ndim_ = layout.ndim();
    shape_ = layout.dims.data();
    strides_ = layout.strides.data();
    itemsize_ = layout.itemsize;
    writeable_ = !memory.readonly;
}

bool Operand::is_blocked() const noexcept { return other_.memory->desc.layout.blocked(); }

void Operand::open_dlpack(const ArgumentName& name) {
    const PyRef device = PyRef::steal(PyObject_CallMethod(object_, "__dlpack_device__", nullptr));
    if (!device) refuse(object_, name);
    if (PyTuple_Check(device.get()) && PyTuple_GET_SIZE(device.get()) == 2) {
        // An integer or an enumeration; any size.
        const PyRef type = PyRef::steal(PyNumber_Index(PyTuple_GET_ITEM(device.get(), 0)));
        if (!type) refuse(object_, name);
        int overflow = 0;
        const long long number = PyLong_AsLongLongAndOverflow(type.get(), &overflow);
        check_device(overflow == 0 ? number : -1, name);
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
        auto* managed = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.get(), "dltensor_versioned"));
        if (PyCapsule_SetName(capsule.get(), "used_dltensor_versioned") != 0) throw PythonError{};
        other_.managed = managed;
        if (managed->version.major != DLPACK_MAJOR_VERSION) {
            throw TypeError(name.text() + " (" + type_name(object_) + ") speaks DLPack version " +
                            std::to_string(managed->version.major) + ", not 1");
        }
        writeable_ = (managed->flags & (DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED)) == 0;
        fetch_tensor(managed->dl_tensor, name);
    } else if (PyCapsule_IsValid(capsule.get(), "dltensor") != 0) {
        auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
        if (PyCapsule_SetName(capsule.get(), "used_dltensor") != 0) throw PythonError{};
        other_.legacy = managed;
        writeable_ = false;  // the old form cannot say, and jax's arrays are constants
        fetch_tensor(managed->dl_tensor, name);
    } else {
        throw TypeError(name.text() + " (" + type_name(object_) + ") returned no DLPack capsule from __dlpack__");
    }
}

void Operand::read_to_keep(PyObject* object, const ArgumentName& name) {
    read(object, name, Access::write);
    if (!has_other_ || other_.api == nullptr) return;
    DLManagedTensorVersioned* managed = nullptr;
    if (other_.api->managed_tensor_from_py_object_no_sync(object_, &managed) != 0) refuse(object_, name);
    other_.managed = managed;
    fetch_tensor(managed->dl_tensor, name);
}

void Operand::fetch_tensor(const DLTensor& tensor, const ArgumentName& name) {
    check_device(tensor.device.device_type, name);
    if (tensor.ndim < 0 || static_cast<std::size_t>(tensor.ndim) > kMaxRank) {
        throw ValueError(name.text() + " has " + std::to_string(tensor.ndim) + " dimensions, but at most " +
                         std::to_string(kMaxRank) + " are possible");
    }
    other_.dtype = tensor.dtype;
    const int bits = tensor.dtype.bits * tensor.dtype.lanes;
    if (bits == 0 || bits % 8 != 0 || (tensor.dtype.bits < 8 && tensor.dtype.lanes == 1)) {
        throw TypeError(name.text() + " has dtype " + name_of(tensor.dtype) + ", whose elements are not whole bytes");
    }
    itemsize_ = bits / 8;
    ndim_ = static_cast<std::size_t>(tensor.ndim);
    if (ndim_ > 0 && tensor.shape == nullptr) {
        throw TypeError(name.text() + " (" + type_name(object_) + ") has " + std::to_string(ndim_) +
                        " dimensions, but its DLPack tensor has no shape");
    }
    if (ndim_ > kInlineRank && other_.long_dims == nullptr) other_.long_dims = new std::int64_t[2 * kMaxRank];
    std::int64_t* const shape = ndim_ > kInlineRank ? other_.long_dims : dims_;
    std::int64_t* const strides = shape + ndim_;
    std::int64_t dense = itemsize_;
    std::int64_t span = itemsize_;  // bytes from the first element to the last, whatever the strides' signs
    bool empty = false;
    bool fits = true;
    for (std::size_t axis = ndim_; axis-- > 0;) {
        const std::int64_t length = tensor.shape[axis];
        if (length < 0) {
            throw ValueError(name.text() + " has a negative length, " + std::to_string(length) + ", on axis " +
                             std::to_string(axis));
        }
        std::int64_t stride = dense;
        if (tensor.strides != nullptr) fits = !__builtin_mul_overflow(tensor.strides[axis], itemsize_, &stride) && fits;
        shape[axis] = length;
        strides[axis] = stride;
        empty = empty || length == 0;
        if (length <= 1) continue;
        std::int64_t reach = 0;
        fits = !__builtin_mul_overflow(length - 1, stride, &reach) && reach > INT64_MIN &&
               !__builtin_add_overflow(span, reach < 0 ? -reach : reach, &span) &&
               !__builtin_mul_overflow(dense, length, &dense) && fits;
    }
    if (!fits && !empty) {
        throw ValueError(name.text() + " has shape " + to_string(Dims(shape, shape + ndim_)) +
                         " and strides that span more bytes than 63 bits can count");
    }
    shape_ = shape;
    strides_ = strides;
    data_ = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
    if (tensor.data == nullptr && !empty) {
        throw TypeError(name.text() + " (" + type_name(object_) + ") has no memory behind it");
    }
}

void Operand::release() noexcept {
    // A deleter may be Python code, and the call that ends may end with an exception.
    const KeptException kept;
    if (other_.managed != nullptr && other_.managed->deleter != nullptr) other_.managed->deleter(other_.managed);
    if (other_.legacy != nullptr && other_.legacy->deleter != nullptr) other_.legacy->deleter(other_.legacy);
    Py_XDECREF(other_.memory_owner);
    delete[] other_.long_dims;
}

void Operand::tell_written() const {
    if (kind_ == Kind::torch) torch_tensors::increment_version(object_);
    if (kind_ == Kind::memory) python::tell_written(other_.memory_owner);
}

PyRef Operand::descr() const {
    if (descr_ != nullptr) return PyRef::share(reinterpret_cast<PyObject*>(descr_));
    PyRef descr = descr_of(other_.dtype);
    if (!descr) throw TypeError("NumPy has no dtype for " + name_of(other_.dtype));
    return descr;
}

std::string Operand::dtype_name() const {
    if (descr_ == nullptr) return name_of(other_.dtype);
    const PyRef held = keep_descr();
    const PyRef text = PyRef::steal(PyObject_Str(held.get()));
    const char* name = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    if (name == nullptr) PyErr_Clear();
    return name == nullptr ? "of an unknown name" : abbreviated(name, kMostText / 4);
}

bool Operand::has_dtype(PyArray_Descr* other) const {
    if (descr_ == other) return true;
    const PyRef own = descr_ != nullptr ? PyRef::share(reinterpret_cast<PyObject*>(descr_)) : descr_of(other_.dtype);
    return own && same_descr(reinterpret_cast<PyArray_Descr*>(own.get()), other);
}

bool Operand::same_dtype_slowly(const Operand& other) const {
    if (other.descr_ != nullptr) return has_dtype(other.descr_);
    if (descr_ != nullptr) return other.has_dtype(descr_);
    return other_.dtype.code == other.other_.dtype.code && other_.dtype.bits == other.other_.dtype.bits &&
           other_.dtype.lanes == other.other_.dtype.lanes;
}

bool Operand::is_integer() const {
    if (descr_ != nullptr) return PyTypeNum_ISINTEGER(descr_->type_num);
    return (other_.dtype.code == kDLInt || other_.dtype.code == kDLUInt) && other_.dtype.lanes == 1;
}

bool Operand::is_signed() const {
    return descr_ != nullptr ? PyTypeNum_ISSIGNED(descr_->type_num) : other_.dtype.code == kDLInt;
}

bool Operand::swapped() const { return descr_ != nullptr && !PyArray_ISNBO(descr_->byteorder); }

std::size_t Operand::read_integers(std::span<std::int64_t> values) const {
    static_assert(std::endian::native == std::endian::little);
    const std::int64_t stride = ndim_ == 0 ? 0 : strides_[0];
    const bool reverses = swapped();
    const bool extends = is_signed();
    const auto read = [&]<std::size_t bytes>(std::integral_constant<std::size_t, bytes>) {
        constexpr int kAbove = 64 - 8 * static_cast<int>(bytes);
        for (std::size_t k = 0; k < values.size(); ++k) {
            std::uint64_t bits = 0;
            std::memcpy(&bits, data_ + static_cast<std::int64_t>(k) * stride, bytes);
            if (reverses) bits = __builtin_bswap64(bits) >> kAbove;
            if (!extends && bits >> 63 != 0) return k;
            values[k] = extends ? static_cast<std::int64_t>(bits << kAbove) >> kAbove : static_cast<std::int64_t>(bits);
        }
        return values.size();
    };
    std::size_t count = 0;
    const auto read_of = [&]<std::size_t... less>(std::index_sequence<less...>) {
        (void)((itemsize_ == less + 1 && (count = read(std::integral_constant<std::size_t, less + 1>()), true)) || ...);
    };
    read_of(std::make_index_sequence<sizeof(std::int64_t)>());
    return count;
}

}  // namespace dnnmove
