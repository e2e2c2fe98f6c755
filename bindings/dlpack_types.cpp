// What DLPack calls a data type, a Python type that speaks it, and memory handed over through it.
#include "dlpack_types.hpp"

#include <pybind11/pybind11.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "errors.hpp"
#include "memory.hpp"
#include "operand.hpp"
#include "runtime/buffer_pool.hpp"
#include "view/dims.hpp"

namespace dnnmove {
namespace {

int type_number(DLDataType type) {
    switch (type.code << 16 | type.bits) {
        case kDLBool << 16 | 8: return NPY_BOOL;
        case kDLInt << 16 | 8: return NPY_INT8;
        case kDLInt << 16 | 16: return NPY_INT16;
        case kDLInt << 16 | 32: return NPY_INT32;
        case kDLInt << 16 | 64: return NPY_INT64;
        case kDLUInt << 16 | 8: return NPY_UINT8;
        case kDLUInt << 16 | 16: return NPY_UINT16;
        case kDLUInt << 16 | 32: return NPY_UINT32;
        case kDLUInt << 16 | 64: return NPY_UINT64;
        case kDLFloat << 16 | 16: return NPY_FLOAT16;
        case kDLFloat << 16 | 32: return NPY_FLOAT32;
        case kDLFloat << 16 | 64: return NPY_FLOAT64;
        case kDLComplex << 16 | 64: return NPY_COMPLEX64;
        case kDLComplex << 16 | 128: return NPY_COMPLEX128;
        default: return NPY_NOTYPE;
    }
}

// A type of ml_dtypes. Its dtype is looked up when the first array of another library is met, not when it is
// compared: an import may run any Python code.
struct MlType {
    DLDataTypeCode code;
    std::uint8_t bits;
    const char* name;
    PyObject* descr;  // kept for the life of the process; null where the package or the type is missing
};

MlType ml_types[] = {{kDLBfloat, 16, "bfloat16", nullptr},
                     {kDLFloat8_e3m4, 8, "float8_e3m4", nullptr},
                     {kDLFloat8_e4m3, 8, "float8_e4m3", nullptr},
                     {kDLFloat8_e4m3b11fnuz, 8, "float8_e4m3b11fnuz", nullptr},
                     {kDLFloat8_e4m3fn, 8, "float8_e4m3fn", nullptr},
                     {kDLFloat8_e4m3fnuz, 8, "float8_e4m3fnuz", nullptr},
                     {kDLFloat8_e5m2, 8, "float8_e5m2", nullptr},
                     {kDLFloat8_e5m2fnuz, 8, "float8_e5m2fnuz", nullptr},
                     {kDLFloat8_e8m0fnu, 8, "float8_e8m0fnu", nullptr}};

const MlType* find_ml_type(DLDataType type) {
    for (const MlType& entry : ml_types) {
        if (entry.code == type.code && entry.bits == type.bits) return &entry;
    }
    return nullptr;
}

void load_ml_types() {
    static bool loaded = false;
    if (loaded) return;
    const PyRef module = PyRef::steal(PyImport_ImportModule("ml_dtypes"));
    for (MlType& entry : ml_types) {
        const PyRef type = module ? PyRef::steal(PyObject_GetAttrString(module.get(), entry.name)) : PyRef{};
        PyArray_Descr* descr = nullptr;
        if (type && entry.descr == nullptr && PyArray_DescrConverter(type.get(), &descr) == NPY_SUCCEED) {
            entry.descr = reinterpret_cast<PyObject*>(descr);
        }
        PyErr_Clear();
    }
    loaded = true;
}

// One block of memory: both managed forms and the dims; the data is a second block.
struct Block {
    DLManagedTensorVersioned versioned;
    DLManagedTensor legacy;
    void* memory;
};

void free_block(void* context) noexcept {
    auto* block = static_cast<Block*>(context);
    free_buffer(block->memory);
    std::free(block);
}

// torch.Tensor where torch is imported; null otherwise. Borrowed from the module.
PyRef torch_attribute(const char* module_name, const char* name) {
    PyObject* modules = PyImport_GetModuleDict();
    PyObject* torch = modules == nullptr ? nullptr : PyDict_GetItemString(modules, module_name);
    if (torch == nullptr) return {};
    PyRef attribute = PyRef::steal(PyObject_GetAttrString(torch, name));
    if (!attribute) PyErr_Clear();
    return attribute;
}

ArrayType inspect(PyTypeObject* type) {
    ArrayType found;
    found.type = type;
    auto* object = reinterpret_cast<PyObject*>(type);
    const pybind11::handle memory = pybind11::type::of<python::Memory>();
    found.memory = PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(memory.ptr())) != 0;
    found.array = found.memory || PyObject_HasAttrString(object, "__dlpack__") != 0;
    if (found.array && !found.memory) load_ml_types();
    found.has_namespace = PyObject_HasAttrString(object, "__array_namespace__") != 0;
    const PyRef tensor = torch_attribute("torch", "Tensor");
    if (tensor && PyType_Check(tensor.get())) {
        const PyRef parameter = torch_attribute("torch.nn", "Parameter");
        found.torch = PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(tensor.get())) != 0;
        found.exact = object == tensor.get() || object == parameter.get();
        // Results of every tensor type are plain tensors, so the API is the base class's.
        if (found.torch) object = tensor.get();
    }
    const PyRef capsule = PyRef::steal(PyObject_GetAttrString(object, "__dlpack_c_exchange_api__"));
    if (capsule && PyCapsule_IsValid(capsule.get(), "dlpack_exchange_api") != 0) {
        const auto* header = static_cast<const DLPackExchangeAPIHeader*>(
            PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
        while (header != nullptr && header->version.major != DLPACK_MAJOR_VERSION) header = header->prev_api;
        found.api = reinterpret_cast<const DLPackExchangeAPI*>(header);
    }
    PyErr_Clear();
    return found;
}

// ---- The exporter: an object with __dlpack__ and __dlpack_device__. ----

struct Exporter {
    PyObject_HEAD
    DLManagedTensorVersioned* tensor;
};

void exporter_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    auto* tensor = reinterpret_cast<Exporter*>(self)->tensor;
    if (tensor != nullptr) tensor->deleter(tensor);
    type->tp_free(self);
    Py_DECREF(type);
}

void drop_versioned(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned") == 0) return;
    auto* tensor = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    tensor->deleter(tensor);
}

void drop_legacy(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;
    auto* tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    tensor->deleter(tensor);
}

PyObject* exporter_dlpack(PyObject* self, PyObject*, PyObject* keywords) {
    auto* exporter = reinterpret_cast<Exporter*>(self);
    if (exporter->tensor == nullptr) {
        PyErr_SetString(PyExc_BufferError, "the memory was given away already");
        return nullptr;
    }
    PyObject* version = keywords == nullptr ? nullptr : PyDict_GetItemString(keywords, "max_version");
    const bool versioned = version != nullptr && PyTuple_Check(version) && PyTuple_GET_SIZE(version) > 0 &&
                           PyLong_AsLong(PyTuple_GET_ITEM(version, 0)) >= 1;
    PyErr_Clear();
    DLManagedTensorVersioned* tensor = exporter->tensor;
    PyObject* capsule = nullptr;
    if (versioned) {
        capsule = PyCapsule_New(tensor, "dltensor_versioned", drop_versioned);
    } else {
        capsule = PyCapsule_New(&static_cast<Block*>(tensor->manager_ctx)->legacy, "dltensor", drop_legacy);
    }
    if (capsule != nullptr) exporter->tensor = nullptr;
    return capsule;
}

PyObject* exporter_device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", static_cast<int>(kDLCPU), 0); }

PyTypeObject* exporter_type() {
    static PyTypeObject* type = nullptr;
    if (type == nullptr) {
        static PyMethodDef methods[] = {
            {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(exporter_dlpack)),
             METH_VARARGS | METH_KEYWORDS, nullptr},
            {"__dlpack_device__", exporter_device, METH_NOARGS, nullptr},
            {nullptr, nullptr, 0, nullptr}};
        static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(exporter_dealloc)},
                                      {Py_tp_methods, methods},
                                      {0, nullptr}};
        static PyType_Spec spec = {"dnnmove._core._Exporter", sizeof(Exporter), 0, Py_TPFLAGS_DEFAULT, slots};
        type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    }
    return type;
}

}  // namespace

PyRef descr_of(DLDataType type) {
    if (type.lanes != 1) return {};
    if (const int number = type_number(type); number != NPY_NOTYPE) {
        return PyRef::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(number)));
    }
    const MlType* const ml_type = find_ml_type(type);
    return ml_type == nullptr ? PyRef{} : PyRef::share(ml_type->descr);
}

std::string name_of(DLDataType type) {
    if (const MlType* const ml_type = find_ml_type(type); ml_type != nullptr && type.lanes == 1) return ml_type->name;
    if (const PyRef descr = descr_of(type)) {
        const PyRef text = PyRef::steal(PyObject_Str(descr.get()));
        const char* name = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
        if (name != nullptr) return name;
        PyErr_Clear();
    }
    return "DLPack type code " + std::to_string(type.code) + " of " + std::to_string(type.bits) + " bits x " +
           std::to_string(type.lanes);
}

ArrayType array_type_of(PyTypeObject* type) {
    // Guarded by the GIL. A type is held for good, so that its address is never another type's.
    static std::vector<ArrayType>* known = new std::vector<ArrayType>();
    constexpr std::size_t kCapacity = 64;
    for (const ArrayType& entry : *known) {
        if (entry.type == type) return entry;
    }
    const ArrayType found = inspect(type);
    if (found.array && known->size() < kCapacity) {
        Py_INCREF(type);
        known->push_back(found);
    }
    return found;
}

DLManagedTensorVersioned* allocate_tensor(DLDataType dtype, std::int64_t itemsize, std::span<const std::int64_t> shape,
                                          std::span<const std::int64_t> strides) {
    const std::size_t ndim = shape.size();
    auto* block = static_cast<Block*>(std::malloc(sizeof(Block) + 2 * ndim * sizeof(std::int64_t)));
    if (block == nullptr) throw std::bad_alloc();
    auto* dims = reinterpret_cast<std::int64_t*>(block + 1);
    std::int64_t stride = 1;
    std::int64_t count = 1;
    for (std::size_t axis = ndim; axis-- > 0;) {
        dims[axis] = shape[axis];
        dims[ndim + axis] = strides.empty() ? stride : strides[axis] / itemsize;
        stride *= shape[axis] > 0 ? shape[axis] : 1;
        count *= shape[axis];
    }
    const Extent extent = strides.empty() ? Extent{0, count * itemsize} : extent_of(shape, strides, itemsize);
    const auto bytes = static_cast<std::size_t>(extent.high - extent.low);
    const bool gaps = bytes != static_cast<std::size_t>(count * itemsize);
    block->memory = bytes == 0 ? nullptr : gaps ? allocate_zeroed_buffer(bytes) : allocate_buffer(bytes);
    if (bytes > 0 && block->memory == nullptr) {
        std::free(block);
        throw std::bad_alloc();
    }
    void* data = bytes == 0 ? nullptr : static_cast<std::byte*>(block->memory) - extent.low;
    const DLTensor tensor{data, {kDLCPU, 0}, static_cast<std::int32_t>(ndim), dtype, dims, dims + ndim, 0};
    block->versioned.version = {1, 0};
    block->versioned.manager_ctx = block;
    block->versioned.deleter = [](DLManagedTensorVersioned* self) { free_block(self->manager_ctx); };
    block->versioned.flags = 0;
    block->versioned.dl_tensor = tensor;
    block->legacy.dl_tensor = tensor;
    block->legacy.manager_ctx = block;
    block->legacy.deleter = [](DLManagedTensor* self) { free_block(self->manager_ctx); };
    return &block->versioned;
}

PyRef make_exporter(DLManagedTensorVersioned* tensor) {
    PyTypeObject* type = exporter_type();
    PyObject* object = type == nullptr ? nullptr : type->tp_alloc(type, 0);
    if (object == nullptr) {
        tensor->deleter(tensor);
        throw PythonError{};
    }
    reinterpret_cast<Exporter*>(object)->tensor = tensor;
    return PyRef::steal(object);
}

}  // namespace dnnmove
