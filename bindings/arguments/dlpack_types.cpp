// What DLPack calls a data type, and a Python type that speaks it.
#include "arguments/dlpack_types.hpp"

#include <pybind11/pybind11.h>

#include <vector>

#include "python/errors.hpp"
#include "tensors/memory.hpp"

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
        drop_failed_attempt();
    }
    loaded = true;
}

// torch.Tensor where torch is imported; null otherwise. Borrowed from the module.
PyRef torch_attribute(const char* module_name, const char* name) {
    PyObject* modules = PyImport_GetModuleDict();
    PyObject* torch = modules == nullptr ? nullptr : PyDict_GetItemString(modules, module_name);
    if (torch == nullptr) return {};
    PyRef attribute = PyRef::steal(PyObject_GetAttrString(torch, name));
    if (!attribute) drop_failed_attempt();
    return attribute;
}

bool has_attribute(PyObject* object, const char* name) {
    const bool found = static_cast<bool>(PyRef::steal(PyObject_GetAttrString(object, name)));
    if (!found) drop_failed_attempt();
    return found;
}

ArrayType inspect(PyTypeObject* type) {
    ArrayType found;
    found.type = type;
    auto* object = reinterpret_cast<PyObject*>(type);
    const pybind11::handle memory = pybind11::type::of<python::Memory>();
    found.memory = PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(memory.ptr())) != 0;
    found.array = found.memory || has_attribute(object, "__dlpack__");
    if (found.array && !found.memory) load_ml_types();
    found.has_namespace = has_attribute(object, "__array_namespace__");
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
    drop_failed_attempt();
    return found;
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

std::optional<DLDataType> dlpack_type_of(PyArray_Descr* descr) {
    if (!PyArray_ISNBO(descr->byteorder) || PyDataType_HASSUBARRAY(descr)) return {};
    if (descr->type_num >= NPY_USERDEF) {
        load_ml_types();
        for (const MlType& entry : ml_types) {
            const auto* known = reinterpret_cast<const PyArray_Descr*>(entry.descr);
            if (known != nullptr && known->type_num == descr->type_num) {
                return DLDataType{static_cast<std::uint8_t>(entry.code), entry.bits, 1};
            }
        }
        return {};
    }
    const auto bits = static_cast<std::uint8_t>(8 * PyDataType_ELSIZE(descr));
    DLDataType type{kDLBool, bits, 1};
    switch (descr->kind) {
        case 'b': break;
        case 'i': type.code = kDLInt; break;
        case 'u': type.code = kDLUInt; break;
        case 'f': type.code = kDLFloat; break;
        case 'c': type.code = kDLComplex; break;
        default: return {};
    }
    // Not longdouble, whose size alone does not say what it is.
    if (type_number(type) == NPY_NOTYPE) return {};
    return type;
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

}  // namespace dnnmove
