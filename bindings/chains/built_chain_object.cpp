// The Python type BuiltChain: a C type, since for a small array the call is all the cost.
#include "chains/built_chain.hpp"
#include "chains/chain_structure.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <structmember.h>

#include <algorithm>
#include <tuple>

#include "arguments/parse.hpp"
#include "chains/chain.hpp"
#include "primitives/primitive.hpp"
#include "python/errors.hpp"
#include "python/integers.hpp"
#include "reference/chain.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

struct Object {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    std::shared_ptr<const BuiltChain> built;
};

PyTypeObject* built_type = nullptr;  // for the life of the process

const BuiltChain& built_of(PyObject* self) { return *reinterpret_cast<Object*>(self)->built; }

PyObject* call(PyObject* self, PyObject* const* args, std::size_t count, PyObject* keywords) {
    return guarded([&] {
        static const Signature signature("BuiltChain.__call__", {"x", "out"}, 1, 1);
        std::array<PyObject*, kMaxParameters> values;
        signature.parse(args, static_cast<std::size_t>(PyVectorcall_NARGS(count)), keywords, values);
        return built_of(self).call(values[0], values[1]).release();
    });
}

// The chain for the leading extent of the sources; null where it is this one, or where one is missing, which
// execute_arguments reports.
std::shared_ptr<const BuiltChain> for_arguments(const BuiltChain& built, PyObject* args) {
    constexpr std::size_t kMostSources = onednn::kArgMultipleDst - onednn::kArgMultipleSrc;
    if (!PyDict_Check(args)) return nullptr;
    const std::size_t count = built.sources.size();
    if (count > kMostSources) {
        throw ValueError("execute numbers at most " + std::to_string(kMostSources) + " sources, but the chain has " +
                         std::to_string(count) + ": call it with a list of them");
    }
    std::vector<PyRef> objects;
    for (const Port& port : built.sources) {
        const PyRef key = checked(PyLong_FromLong(port.arg));
        objects.push_back(PyRef::share(PyDict_GetItemWithError(args, key.get())));
        if (!objects.back() && PyErr_Occurred() != nullptr) throw PythonError{};
        if (!objects.back()) return nullptr;
    }
    const auto name = [&](std::size_t i) {
        return built.sources[i].name + " (argument " + std::to_string(built.sources[i].arg) + ")";
    };
    Operands xs(count);
    bool again = false;
    for (std::size_t i = 0; i < count; ++i)
        again = xs[i].open(objects[i].get(), name(i), Access::describe) || again;  // contents: execute_arguments
    for (std::size_t i = 0; i < count; ++i) xs[i].fetch(name(i), again);
    return built.takes(xs.data()) ? nullptr : built.for_sources(xs.data(), name);
}

PyObject* execute(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded([&]() -> PyObject* {
        static const Signature signature("BuiltChain.execute", {"stream", "args"}, 2, 2);
        std::array<PyObject*, kMaxParameters> values;
        signature.parse(args, static_cast<std::size_t>(count), keywords, values);
        const auto& built = reinterpret_cast<Object*>(self)->built;
        const auto other = for_arguments(*built, values[1]);
        execute_arguments(other ? other : built, values[0], values[1]);
        Py_RETURN_NONE;
    });
}

PyObject* to_python(const std::string& text) {
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyObject* explain(PyObject* self, PyObject*) {
    return guarded([&] { return to_python(built_of(self).explain()); });
}

PyObject* structure(PyObject* self, PyObject*) {
    return guarded([&] { return structure_of(built_of(self)).release().ptr(); });
}

PyObject* draw(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    static const Signature signature("BuiltChain.draw", {"path"}, 1, 0);
    return guarded([&] {
        std::array<PyObject*, kMaxParameters> values;
        signature.parse(args, static_cast<std::size_t>(count), keywords, values);
        const py::object path = values[0] == nullptr ? py::none() : py::reinterpret_borrow<py::object>(values[0]);
        return py::module_::import("dnnmove._seen").attr("draw")(py::handle(self), path).release().ptr();
    });
}

PyObject* html(PyObject* self, PyObject*) {
    return guarded([&] {
        return py::module_::import("dnnmove._seen").attr("chain_html")(py::handle(self), py::handle(self)).release().ptr();
    });
}

constexpr std::size_t kShownOutputs = 6;

PyObject* repr_built(PyObject* self) {
    return guarded([&] {
        const BuiltChain& built = built_of(self);
        const std::size_t count = built.destinations.size();
        std::string outputs;
        for (std::size_t i = 0; i < std::min(count, kShownOutputs); ++i) {
            if (i > 0) outputs += ", ";
            outputs += to_string(built.destinations[i].desc.layout.dims);
        }
        if (count > kShownOutputs) outputs += " and " + std::to_string(count - kShownOutputs) + " more";
        const auto chain = py::reinterpret_steal<py::object>(chain_of(built).release());
        return to_python(abbreviated("<BuiltChain of " + py::repr(chain).cast<std::string>() +
                                     ", outputs: " + (built.splits() ? "[" + outputs + "]" : outputs) +
                                     ", passes: " + std::to_string(built.passes()) + ">"));
    });
}

// A pickle holds the chain and the options of build().
PyObject* reduce_built(PyObject* self, PyObject*) {
    return guarded([&] {
        const BuiltChain& built = built_of(self);
        const auto restore = py::module_::import("dnnmove._core").attr("_restore_built");
        const auto chain = py::reinterpret_steal<py::object>(chain_of(built).release());
        return py::make_tuple(restore, py::make_tuple(chain, built.max_nests(), built.tune())).release().ptr();
    });
}

PyObject* restore_built(PyObject*, PyObject* arguments) {
    return guarded([&] {
        const auto [chain, max_nests, tune] = py::handle(arguments).cast<std::tuple<py::object, std::size_t, bool>>();
        using namespace py::literals;
        return chain.attr("build")("max_nests"_a = max_nests, "tune"_a = tune).release().ptr();
    });
}

PyObject* itself(PyObject* self, PyObject*) { return Py_NewRef(self); }

// Equal where the chains and the options are.
PyObject* compare(PyObject* self, PyObject* other, int operation) {
    if ((operation != Py_EQ && operation != Py_NE) || Py_TYPE(other) != built_type) Py_RETURN_NOTIMPLEMENTED;
    return guarded([&] {
        const BuiltChain& a = built_of(self);
        const BuiltChain& b = built_of(other);
        const bool options = a.max_nests() == b.max_nests() && a.tune() == b.tune();
        if (!options) return PyBool_FromLong(operation == Py_NE);
        return PyObject_RichCompare(chain_of(a).get(), chain_of(b).get(), operation);
    });
}

Py_hash_t hash(PyObject* self) {
    const PyRef chain = PyRef::steal(guarded([&] { return chain_of(built_of(self)).release(); }));
    return chain ? PyObject_Hash(chain.get()) : -1;
}

PyObject* get_passes(PyObject* self, void*) { return PyLong_FromSize_t(built_of(self).passes()); }

PyObject* get_impl_info(PyObject* self, void*) {
    return guarded([&] { return to_python(built_of(self).impl_info()); });
}

PyObject* get_src_desc(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        const BuiltChain& built = built_of(self);
        if (built.chain().joins()) {
            PyErr_SetString(PyExc_AttributeError, "src_desc: this chain has several sources, see src_descs");
            return nullptr;
        }
        return py::cast(built.sources.front().desc).release().ptr();
    });
}

PyObject* get_src_descs(PyObject* self, void*) {
    return guarded([&] {
        const BuiltChain& built = built_of(self);
        py::tuple descs = python::new_tuple(built.sources.size());
        for (std::size_t i = 0; i < built.sources.size(); ++i) descs[i] = py::cast(built.sources[i].desc);
        return descs.release().ptr();
    });
}

PyObject* get_dst_desc(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        const BuiltChain& built = built_of(self);
        if (built.splits()) {
            PyErr_SetString(PyExc_AttributeError, "dst_desc: this chain splits, see dst_descs");
            return nullptr;
        }
        return py::cast(built.destinations.front().desc).release().ptr();
    });
}

PyObject* get_dst_descs(PyObject* self, void*) {
    return guarded([&] {
        const BuiltChain& built = built_of(self);
        py::tuple descs = python::new_tuple(built.destinations.size());
        for (std::size_t i = 0; i < built.destinations.size(); ++i) descs[i] = py::cast(built.destinations[i].desc);
        return descs.release().ptr();
    });
}

void deallocate(PyObject* self) {
    PyTypeObject* const type_of_self = Py_TYPE(self);
    reinterpret_cast<Object*>(self)->built.~shared_ptr();
    type_of_self->tp_free(self);
    Py_DECREF(type_of_self);
}

}  // namespace

PyRef wrap(std::shared_ptr<const BuiltChain> built) {
    PyRef self = checked(built_type->tp_alloc(built_type, 0));
    auto* object = reinterpret_cast<Object*>(self.get());
    object->vectorcall = call;
    new (&object->built) std::shared_ptr<const BuiltChain>(std::move(built));
    return self;
}

void register_built_chain(PyObject* module) {
    static PyMethodDef methods[] = {{"execute", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(execute)),
                                     METH_FASTCALL | METH_KEYWORDS, reference::chain::kBuiltChainExecute},
                                    {"explain", explain, METH_NOARGS, reference::chain::kBuiltChainExplain},
                                    {"draw", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(draw)),
                                     METH_FASTCALL | METH_KEYWORDS, reference::chain::kBuiltChainDraw},
                                    {"_structure", structure, METH_NOARGS, "What explain() says, as values, for drawings."},
                                    {"_repr_html_", html, METH_NOARGS, "A table of the chain, and its picture, for notebooks."},
                                    {"__reduce__", reduce_built, METH_NOARGS, "Its chain and the options of build()."},
                                    {"__copy__", itself, METH_NOARGS, "Itself: it never changes."},
                                    {"__deepcopy__", itself, METH_O, "Itself: it never changes."},
                                    {nullptr, nullptr, 0, nullptr}};
    static PyGetSetDef properties[] = {
        {"passes", get_passes, nullptr, "Trips of the data through memory.", nullptr},
        {"impl_info_str", get_impl_info, nullptr, "The implementation, for example \"native:avx512\".", nullptr},
        {"src_desc", get_src_desc, nullptr, "MemoryDesc of the input of a chain of one.", nullptr},
        {"src_descs", get_src_descs, nullptr, "MemoryDescs of all inputs.", nullptr},
        {"dst_desc", get_dst_desc, nullptr, "MemoryDesc of the output of a chain that does not split.", nullptr},
        {"dst_descs", get_dst_descs, nullptr, "MemoryDescs of all outputs.", nullptr},
        {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Object, vectorcall), READONLY, nullptr},
                                    {nullptr, 0, 0, 0, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>(reference::chain::kBuiltChain)},
                                  {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                                  {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                  {Py_tp_repr, reinterpret_cast<void*>(repr_built)},
                                  {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                                  {Py_tp_hash, reinterpret_cast<void*>(hash)},
                                  {Py_tp_methods, methods},
                                  {Py_tp_getset, properties},
                                  {Py_tp_members, members},
                                  {0, nullptr}};
    static PyType_Spec spec{
        "dnnmove.BuiltChain", sizeof(Object), 0,
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};
    built_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
    static PyMethodDef functions[] = {{"_restore_built", restore_built, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
    if (PyModule_AddFunctions(module, functions) != 0) throw PythonError{};
    // Only PyType_FromSpec reads it; help() would show it.
    if (PyDict_DelItemString(built_type->tp_dict, "__vectorcalloffset__") != 0) throw PythonError{};
    PyType_Modified(built_type);
    if (PyModule_AddObjectRef(module, "BuiltChain", reinterpret_cast<PyObject*>(built_type)) != 0) throw PythonError{};
}

}  // namespace dnnmove::python
