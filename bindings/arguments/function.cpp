// The type of the functions and methods that pybind11 defines, as the user meets them.
#include "arguments/function.hpp"

#include <structmember.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "arguments/parse.hpp"
#include "python/errors.hpp"
#include "python/objects.hpp"

namespace py = pybind11;

namespace dnnmove {
namespace {

constexpr const char* kPackage = "dnnmove";

struct Record {
    PyRef target;          // pybind11's function
    PyTypeObject* self;     // the class, where it is a method (borrowed: the class owns the method)
    std::string name;       // "transpose"
    std::string scope;      // "Chain"; empty for the module
    std::string qualname;   // "Chain.transpose"
    std::string module;     // "dnnmove", or "dnnmove._core" where it is private
    std::string signature;  // the first form's, "(self, input_order=())"
    std::string doc;        // without signatures
    std::vector<Signature> forms;
};

struct Function {
    PyObject_HEAD
    vectorcallfunc call;
    Record* record;
};

const Record& record_of(PyObject* self) { return *reinterpret_cast<Function*>(self)->record; }

// What arguments that do not fit were probably meant for.
std::string hint(const Record& record, PyObject* const* args, std::size_t count) {
    if (count == 0 || record.name != "__init__") return {};
    if (record.scope == "MemoryDesc" && is_array(args[0])) return "; MemoryDesc.of(array) gives an array's";
    if (record.scope == "ShuffleBackward.Desc" && type_name(args[0]) == "dnnmove.PropKind") {
        return "; it takes no prop_kind: a backward shuffle has one only";
    }
    return {};
}

void check(const Record& record, const Signature& form, PyObject* const* args, std::size_t count, PyObject* keywords) {
    try {
        form.check(args, count, keywords);
    } catch (const TypeError& error) {
        throw TypeError(error.what() + hint(record, args, count));
    }
}

PyObject* call(PyObject* self, PyObject* const* args, std::size_t flags, PyObject* keywords) noexcept {
    return guarded([&]() -> PyObject* {
        const Record& record = record_of(self);
        auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
        PyObject* const* begin = args;
        if (record.self != nullptr) {
            if (count == 0 || PyObject_TypeCheck(args[0], record.self) == 0) {
                throw TypeError(record.qualname + "() is a method: it must be called on a " + record.scope +
                                (count == 0 ? "" : ", not on " + type_name(args[0]) + " (" + short_repr(args[0]) + ")"));
            }
            ++begin;
            --count;
        }
        const Signature* form = &record.forms.front();
        for (const Signature& other : record.forms) {
            if (other.misfits(count, keywords) < form->misfits(count, keywords)) form = &other;
        }
        check(record, *form, begin, count, keywords);
        return PyObject_Vectorcall(record.target.get(), args, flags & ~PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
    });
}

PyObject* bind(PyObject* self, PyObject* instance, PyObject*) {
    if (instance == nullptr || instance == Py_None || record_of(self).self == nullptr) return Py_NewRef(self);
    return PyMethod_New(self, instance);
}

PyObject* text(const std::string& string) {
    return PyUnicode_FromStringAndSize(string.data(), static_cast<Py_ssize_t>(string.size()));
}

PyObject* repr(PyObject* self) {
    const Record& record = record_of(self);
    return PyUnicode_FromFormat("<function %s.%s>", record.module.c_str(), record.qualname.c_str());
}
// Pickled by name, as Python's functions are.
PyObject* reduce(PyObject* self, PyObject*) { return text(record_of(self).qualname); }

template <std::string Record::* kField>
PyObject* get(PyObject* self, void*) {
    return text(record_of(self).*kField);
}

void deallocate(PyObject* self) {
    PyTypeObject* const type = Py_TYPE(self);
    delete reinterpret_cast<Function*>(self)->record;
    type->tp_free(self);
    Py_DECREF(type);
}

PyTypeObject* function_type() {
    static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
    static PyGetSetDef properties[] = {{"__name__", get<&Record::name>, nullptr, nullptr, nullptr},
                                       {"__qualname__", get<&Record::qualname>, nullptr, nullptr, nullptr},
                                       {"__module__", get<&Record::module>, nullptr, nullptr, nullptr},
                                       {"__doc__", get<&Record::doc>, nullptr, nullptr, nullptr},
                                       {"__text_signature__", get<&Record::signature>, nullptr, nullptr, nullptr},
                                       {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, call), READONLY, nullptr},
                                    {nullptr, 0, 0, 0, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                                  {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                  {Py_tp_repr, reinterpret_cast<void*>(repr)},
                                  {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
                                  {Py_tp_methods, methods},
                                  {Py_tp_getset, properties},
                                  {Py_tp_members, members},
                                  {0, nullptr}};
    static PyType_Spec spec{"dnnmove._core.function", sizeof(Function), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                                Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                            slots};
    static auto* const type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
    return type;
}

// pybind11's function in a class's or module's attribute; null where it is none.
py::object target_of(const std::string& name, py::handle value) {
    if (name == "__call__") return {};  // takes whatever it is given, to say why it cannot be called
    py::object target = py::reinterpret_borrow<py::object>(value);
    if (py::isinstance<py::staticmethod>(value)) target = value.attr("__func__");
    PyObject* function = PyInstanceMethod_Check(target.ptr()) ? PyInstanceMethod_GET_FUNCTION(target.ptr()) : target.ptr();
    // What module and class define in C is fine as it is; its `self` is the module.
    if (!PyCFunction_Check(function)) return {};
    PyObject* const self = PyCFunction_GET_SELF(function);
    if (self == nullptr || PyModule_Check(self)) return {};
    // Of private functions, and of methods that Python calls itself, those that say their signature.
    const char* doc = reinterpret_cast<PyCFunctionObject*>(function)->m_ml->ml_doc;
    if (name.starts_with('_') && (doc == nullptr || !std::string_view(doc).starts_with(name + "("))) return {};
    return py::reinterpret_borrow<py::object>(function);
}

py::object make(const std::string& name, const py::object& target, py::handle scope) {
    auto record = std::make_unique<Record>();
    record->target = PyRef::share(target.ptr());
    const bool in_class = PyType_Check(scope.ptr()) != 0;
    record->name = name;
    record->module = !in_class && name.starts_with('_') ? "dnnmove._core" : kPackage;
    if (in_class) record->scope = scope.attr("__qualname__").cast<std::string>();
    record->qualname = in_class ? record->scope + "." + name : name;
    const std::string& called = name == "__init__" ? record->scope : record->qualname;
    // What C keeps is the whole text; __doc__ has lost the first signature.
    std::string rest = reinterpret_cast<PyCFunctionObject*>(target.ptr())->m_ml->ml_doc;
    while (rest.starts_with(name + "(")) {
        const std::size_t end = rest.find(")\n--\n");
        if (end == rest.npos) break;
        const std::string signature = rest.substr(name.size(), end + 1 - name.size());
        if (record->forms.empty()) record->signature = signature;
        record->forms.emplace_back(called, signature);
        rest.erase(0, end + 5);
        rest.erase(0, rest.find_first_not_of('\n'));
    }
    if (record->forms.empty()) throw std::logic_error("no signature begins the docstring of " + record->qualname);
    record->doc = rest;
    record->self = in_class && record->signature.starts_with("(self") ? reinterpret_cast<PyTypeObject*>(scope.ptr()) : nullptr;
    PyTypeObject* const type = function_type();
    py::object result = py::reinterpret_steal<py::object>(checked(type->tp_alloc(type, 0)).release());
    auto* function = reinterpret_cast<Function*>(result.ptr());
    function->call = call;
    function->record = record.release();
    return result;
}

// The tp_alloc of the base class and of all that derive from it in C++: pybind11 uses what it returns without a look
// whether there is anything.
PyObject* allocate_or_throw(PyTypeObject* type, Py_ssize_t items) {
    PyObject* const self = PyType_GenericAlloc(type, items);
    if (self == nullptr) throw PythonError{};
    return self;
}

// The base class's tp_new, also that of classes that derive from nothing else.
PyObject* new_registered(PyTypeObject* type, PyObject*, PyObject*) noexcept {
    return guarded([&]() -> PyObject* {
        if (py::detail::all_type_info(type).empty()) {
            throw TypeError("cannot create objects of " + std::string(type->tp_name));
        }
        PyObject* const self = type->tp_alloc(type, 0);
        if (self != nullptr) reinterpret_cast<py::detail::instance*>(self)->allocate_layout();
        return self;
    });
}

}  // namespace

void present(py::handle scope) {
    const bool in_class = PyType_Check(scope.ptr()) != 0;
    const py::dict attributes(scope.attr("__dict__"));  // a copy
    for (const auto& [key, value] : attributes) {
        const auto name = key.cast<std::string>();
        if (const py::object target = target_of(name, value)) {
            py::object function = make(name, target, scope);
            if (py::isinstance<py::staticmethod>(value)) function = py::staticmethod(function);
            py::setattr(scope, name.c_str(), function);
        } else if (!in_class && name[0] != '_' && PyCFunction_Check(value.ptr())) {
            py::setattr(value, "__module__", py::str(kPackage));
        }
    }
    if (in_class) py::setattr(scope, "__module__", py::str(kPackage));
}

void adopt_pybind11_types() {
    static_assert(std::string_view(PYBIND11_STDLIB) == "_dnnmove", "pybind11's base class must be ours to rename");
    const auto name = [](py::handle type, const char* text) {
        py::setattr(type, "__name__", py::str(text));
        py::setattr(type, "__qualname__", py::str(text));
        py::setattr(type, "__module__", py::str("dnnmove._core"));
    };
    auto& internals = py::detail::get_internals();
    name(internals.instance_base, "Object");
    name(reinterpret_cast<PyObject*>(internals.default_metaclass), "ObjectType");
    auto* const base = reinterpret_cast<PyTypeObject*>(internals.instance_base);
    base->tp_new = new_registered;
    base->tp_alloc = allocate_or_throw;
}

}  // namespace dnnmove
