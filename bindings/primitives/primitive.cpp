// The primitive types: C heap types whose objects are called without pybind11 in between.
#include "python/numpy_api.hpp"

#include "primitives/primitive.hpp"

#include <structmember.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "arguments/operand.hpp"
#include "arguments/parse.hpp"
#include "calls/call_arrays.hpp"
#include "calls/element_type.hpp"
#include "calls/run_call.hpp"
#include "primitives/checked_port.hpp"
#include "python/errors.hpp"
#include "python/html.hpp"
#include "reference/primitive.hpp"

namespace py = pybind11;

namespace dnnmove {
namespace {

using python::Executable;
using python::Port;

// A primitive type: what it was made of, and how its calls look.
struct Type {
    PrimitiveType made;
    Signature create;
    Signature create_otherwise;  // `pd` and `desc` go for one another
    Signature call;
    Signature execute;

    explicit Type(const PrimitiveType& type)
        : made(type),
          create(type.name, {type.argument}, 1, 1),
          create_otherwise(type.name, {std::string_view(type.argument) == "pd" ? "desc" : "pd"}, 1, 1),
          call(std::string(type.name) + " primitive", {"x", "out"}, 1, 1),
          execute(std::string(type.name) + ".execute", {"stream", "args"}, 2, 2) {}
};

struct State {
    std::shared_ptr<const Executable> executable;
    PyRef made_from;
    std::string problem;
    const Type* type = nullptr;
    std::vector<CheckedPort> sources;
    std::vector<CheckedPort> destinations;
    std::vector<ResultType> types;  // of the destinations, where one has another than the source; else empty
    std::int64_t bytes = 0;

    explicit State(std::shared_ptr<const Executable> runs) : executable(std::move(runs)) {
        for (const Port& port : executable->sources) sources.emplace_back(port);
        for (const Port& port : executable->destinations) {
            destinations.emplace_back(port);
            bytes += destinations.back().extent.high - destinations.back().extent.low;
        }
        const pybind11::dtype& own = executable->sources.front().desc.dtype;
        const auto differs = [&own](const Port& port) { return !port.desc.dtype.equal(own); };
        if (std::any_of(executable->destinations.begin(), executable->destinations.end(), differs)) {
            for (const Port& port : executable->destinations)
                types.push_back(ResultType::of(PyRef::share(port.desc.dtype.ptr())));
        }
    }
    const ResultType* result_type(std::size_t destination) const { return types.empty() ? nullptr : &types[destination]; }

    bool splits() const { return destinations.size() != 1 || destinations[0].port->arg >= onednn::kArgMultipleDst; }
};

// ValueError where a destination shares a byte with a source or with another destination. `in` and `out` name them.
template <class Srcs, class In, class Dsts, class Out>
void check_overlap_of(const State& state, const Srcs& srcs, const In& in, const Dsts& dsts, const Out& out) {
    const auto found = find_overlap(
        srcs.size(), [&](std::size_t i) { return state.sources[i].region(srcs[i]); }, dsts.size(),
        [&](std::size_t i) { return state.destinations[i].region(dsts[i]); });
    if (!found) return;
    throw ValueError(out(found->out) + " shares memory with " +
                     (found->with_input ? in(found->other) + ": in-place is not possible" : out(found->other)));
}

// A primitive's work.
class PrimitiveWork {
public:
    // `stream` may be null.
    PrimitiveWork(const State& state, const onednn::Stream* stream) noexcept : state_(state), stream_(stream) {}
    std::int64_t bytes() const noexcept { return state_.bytes; }
    bool tunes(std::byte* const* dsts) const noexcept { return state_.executable->tunes(dsts); }
    void copy(const std::byte* const* srcs, std::byte* const* dsts, trace::Call* call) const {
        state_.executable->run(srcs, dsts, stream_, call);
    }
    trace::Call watch() const {
        const Executable& executable = *state_.executable;
        trace::Call call(executable.title, executable.impl_info(), executable.passes());
        for (const Port& port : executable.sources) call.add_source(port.desc);
        for (const Port& port : executable.destinations) call.add_destination(port.desc);
        return call;
    }

protected:
    const State& state_;

private:
    const onednn::Stream* stream_;
};

// prim(x, *, out=None); the arrays are checked.
template <class Out>
class PrimitiveCall : public PrimitiveWork {
public:
    PrimitiveCall(const State& state, CallArrays<OneArray, Out>& arrays) noexcept
        : PrimitiveWork(state, nullptr), arrays_(arrays) {}
    void check_overlap() const {
        const auto named = [](const auto& given) { return [&](std::size_t i) { return given.name_at(i).text(); }; };
        check_overlap_of(state_, arrays_.inputs, named(arrays_.in), arrays_.outs, named(arrays_.out));
    }
    bool make(NewArray& result, std::size_t i) const {
        const CheckedPort& port = state_.destinations[i];
        const Layout& layout = port.port->desc.layout;
        const Operand& like = arrays_.inputs[0];
        if (like.memory() != nullptr || layout.blocked()) {
            result.make_memory(port.port->desc);
            return true;
        }
        const ResultType* const type = state_.result_type(i);
        if (type != nullptr) check_result_type(*type, like);
        return result.make(like, layout.dims, port.c_contiguous ? std::span<const std::int64_t>{} : layout.strides, type);
    }
    void fetch_again(std::size_t i) const {
        const ArgumentName name = arrays_.in.name_at(i);
        arrays_.inputs[i].fetch(name, true);
        state_.sources[i].check(arrays_.inputs[i], name);
    }

private:
    CallArrays<OneArray, Out>& arrays_;
};

struct Primitive {
    PyObject_HEAD
    vectorcallfunc call;
    State* state;
};

const State& state_of(PyObject* self) { return *reinterpret_cast<Primitive*>(self)->state; }

template <class Out>
PyRef call_primitive(const State& state, PyObject* x, const Out& out) {
    CallArrays<OneArray, Out> arrays({"x", x}, out);
    const Operand& source = arrays.inputs[0];
    state.sources[0].check(source, "x");
    for (std::size_t i = 0; i < out.size(); ++i) {
        const CheckedPort& destination = state.destinations[i];
        const Operand& each = arrays.outs[i];
        const ArgumentName name = out.name_at(i);
        if (!destination.matches(each) && !destination.blocked && !each.blocked() && !source.blocked() &&
            overlap(source.footprint(), each.footprint())) {
            throw ValueError(name.text() + " shares memory with x, and does not lie as " + destination.port->desc.repr());
        }
        destination.check_destination(each, name);
    }
    return run_call(PrimitiveCall<Out>(state, arrays), arrays, state.destinations.size());
}

PyObject* primitive_call(PyObject* self, PyObject* const* args, std::size_t flags, PyObject* keywords) noexcept {
    return guarded([&]() -> PyObject* {
        const State& state = state_of(self);
        std::array<PyObject*, kMaxParameters> values;
        state.type->call.parse(args, static_cast<std::size_t>(PyVectorcall_NARGS(flags)), keywords, values);
        PyObject* const out = none_is_null(values[1]);
        if (!state.splits()) return call_primitive(state, values[0], OneArray{"out", out}).release();
        PyRef items;
        if (out != nullptr) items = list_of_arrays(out, "out", state.destinations.size(), "part");
        return call_primitive(state, values[0], ManyArrays{"out", items.get()}).release();
    });
}

PyObject* primitive_call_method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
    return primitive_call(self, args, static_cast<std::size_t>(count), keywords);
}

// The port that takes the argument; ports.size() where none does. Those of several arrays are numbered one by one.
std::size_t find_port(const std::vector<CheckedPort>& ports, std::int64_t arg) {
    if (!ports.empty() && arg >= ports[0].port->arg) {
        const auto distance = static_cast<std::size_t>(arg - ports[0].port->arg);
        if (distance < ports.size() && ports[distance].port->arg == arg) return distance;
    }
    std::size_t k = 0;
    while (k < ports.size() && ports[k].port->arg != arg) ++k;
    return k;
}

void execute_with(const State& state, PyObject* stream, PyObject* arguments) {
    const onednn::Stream* on = nullptr;
    if (stream != Py_None) {
        if (!py::isinstance<onednn::Stream>(stream)) {
            throw TypeError("stream must be a Stream or None, not " + type_name(stream));
        }
        on = py::handle(stream).cast<const onednn::Stream*>();
    }
    if (!PyDict_Check(arguments)) {
        throw TypeError("args must be a dict of argument number to Memory or array, not " + type_name(arguments));
    }
    const Executable& executable = *state.executable;
    const std::size_t source_count = state.sources.size();
    const std::size_t count = source_count + state.destinations.size();
    const auto port = [&](std::size_t k) -> const CheckedPort& {
        return k < source_count ? state.sources[k] : state.destinations[k - source_count];
    };
    std::vector<PyRef> values(count);
    // A copy: reading a key may run code that changes the dict.
    const PyRef items = checked(PyDict_Items(arguments));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
        PyObject* item = PyList_GET_ITEM(items.get(), i);
        if (PyUnicode_Check(PyTuple_GET_ITEM(item, 0))) {
            throw TypeError(
                "args key (" + short_repr(PyTuple_GET_ITEM(item, 0)) + ") must be an argument's number: " +
                (state.sources[0].port->arg == onednn::kArgMultipleSrc
                     ? std::string("ARG_MULTIPLE_SRC + i, or ") + (state.splits() ? "ARG_MULTIPLE_DST + i" : "ARG_DST")
                 : state.splits()                                ? "ARG_SRC, or ARG_MULTIPLE_DST + i"
                 : state.sources[0].port->arg == onednn::kArgSrc ? "ARG_SRC or ARG_DST"
                                                                 : "ARG_DIFF_DST or ARG_DIFF_SRC"));
        }
        const std::int64_t arg = parse_integer(PyTuple_GET_ITEM(item, 0), "args key");
        if (arg == onednn::kArgScratchpad && executable.scratchpad) {
            Operand scratchpad;
            scratchpad.read(PyTuple_GET_ITEM(item, 1), "scratchpad", Access::write);
            CheckedPort(Port{static_cast<int>(arg), "scratchpad", *executable.scratchpad}).check(scratchpad, "scratchpad");
            continue;
        }
        const std::size_t from = find_port(state.sources, arg);
        const std::size_t k = from < source_count ? from : source_count + find_port(state.destinations, arg);
        if (k >= count) {
            std::string known;
            for (std::size_t j = 0; j < count; ++j) known.append(j == 0 ? "" : ", ").append(port(j).label);
            throw ValueError("args has the unknown argument " + std::to_string(arg) + "; the primitive takes " + known);
        }
        values[k] = PyRef::share(PyTuple_GET_ITEM(item, 1));
    }
    struct Arguments {
        const std::vector<CheckedPort>& ports;
        const PyRef* values;
        std::size_t size() const { return ports.size(); }
        PyObject* object_at(std::size_t i) const { return values[i].get(); }
        ArgumentName name_at(std::size_t i) const { return ports[i].label; }
    };
    for (std::size_t k = 0; k < count; ++k) {
        if (!values[k]) throw ValueError("args lacks " + port(k).label);
    }
    const Arguments in{state.sources, values.data()};
    const Arguments out{state.destinations, values.data() + source_count};
    Operands srcs(source_count);
    Operands dsts(count - source_count);
    read_arrays(in, srcs, Access::read_out, out, dsts);
    CallList<const std::byte*> from(srcs.size());
    CallList<std::byte*> to(dsts.size());
    for (std::size_t i = 0; i < srcs.size(); ++i) {
        state.sources[i].check(srcs[i], in.name_at(i));
        from[i] = srcs[i].data();
    }
    for (std::size_t i = 0; i < dsts.size(); ++i) {
        state.destinations[i].check_destination(dsts[i], out.name_at(i));
        to[i] = dsts[i].data();
    }
    const auto named = [](const std::vector<CheckedPort>& ports) { return [&](std::size_t i) { return ports[i].port->name; }; };
    check_overlap_of(state, srcs, named(state.sources), dsts, named(state.destinations));
    run_work(PrimitiveWork(state, on), srcs[0].kind() == Operand::Kind::torch, from.data(), to.data());
    for (std::size_t i = 0; i < dsts.size(); ++i) dsts[i].written();
}

PyObject* primitive_execute(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
    return guarded([&]() -> PyObject* {
        const State& state = state_of(self);
        if (count == 1 && PyDict_Check(args[0])) {
            throw TypeError(std::string(state.type->made.name) + ".execute() takes a stream before args: execute(None, " +
                            "{...}) or execute(Stream(), {...})");
        }
        std::array<PyObject*, kMaxParameters> values;
        state.type->execute.parse(args, static_cast<std::size_t>(count), keywords, values);
        execute_with(state, values[0], values[1]);
        Py_RETURN_NONE;
    });
}

PyObject* text(const std::string& string) {
    return PyUnicode_FromStringAndSize(string.data(), static_cast<Py_ssize_t>(string.size()));
}

PyObject* primitive_explain(PyObject* self, PyObject*) noexcept {
    return guarded([&]() -> PyObject* { return text(state_of(self).executable->explain()); });
}

PyObject* primitive_html(PyObject* self, PyObject*) noexcept {
    return guarded([&]() -> PyObject* { return python::html_of(py::reinterpret_borrow<py::object>(self)).release().ptr(); });
}

PyObject* primitive_impl_info(PyObject* self, void*) noexcept {
    return guarded([&]() -> PyObject* { return text(state_of(self).executable->impl_info()); });
}

PyObject* primitive_kind(PyObject* self, void*) noexcept { return PyUnicode_FromString(state_of(self).type->made.kind); }

// For pickle and copy: the type, and the descriptor to make it from again.
PyObject* primitive_reduce(PyObject* self, PyObject*) noexcept {
    return Py_BuildValue("(O(O))", reinterpret_cast<PyObject*>(Py_TYPE(self)), state_of(self).made_from.get());
}

PyObject* primitive_repr(PyObject* self) noexcept {
    return guarded([&]() -> PyObject* {
        const State& state = state_of(self);
        return text(abbreviated("<" + std::string(state.type->made.name) + " of " + state.problem + ": " +
                                state.executable->impl_info() + ">"));
    });
}

void primitive_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    delete reinterpret_cast<Primitive*>(self)->state;
    type->tp_free(self);
    Py_DECREF(type);
}

// What each type is of. Not an attribute of the type, which anybody could replace; the types have no subclasses.
std::vector<std::pair<PyTypeObject*, const Type*>>& types() {
    static auto* const all = new std::vector<std::pair<PyTypeObject*, const Type*>>();
    return *all;
}

const Type& type_of(PyTypeObject* type) {
    for (const auto& [known, described] : types()) {
        if (known == type) return *described;
    }
    throw TypeError("cannot create objects of " + std::string(type->tp_name));
}

PyObject* primitive_new(PyTypeObject* type, PyObject* args, PyObject* keywords) noexcept {
    return guarded([&]() -> PyObject* {
        const Type* const described = &type_of(type);
        // As a vectorcall has them: values of keywords behind the positional ones, names in a tuple.
        std::vector<PyObject*> given(PySequence_Fast_ITEMS(args), PySequence_Fast_ITEMS(args) + PyTuple_GET_SIZE(args));
        const std::size_t count = given.size();
        PyRef names;
        if (keywords != nullptr) {
            const PyRef keys = checked(PyDict_Keys(keywords));
            names = checked(PyList_AsTuple(keys.get()));
            for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names.get()); ++k) {
                given.push_back(PyDict_GetItem(keywords, PyTuple_GET_ITEM(names.get(), k)));
            }
        }
        const bool otherwise = described->create_otherwise.misfits(count, names.get()) <
                               described->create.misfits(count, names.get());
        std::array<PyObject*, kMaxParameters> values;
        (otherwise ? described->create_otherwise : described->create).parse(given.data(), count, names.get(), values);
        BuiltPrimitive built = described->made.build(values[0]);
        auto state = std::make_unique<State>(std::move(built.executable));
        state->made_from = PyRef::steal(built.made_from.release().ptr());
        state->problem = std::move(built.problem);
        state->type = described;
        PyObject* self = type->tp_alloc(type, 0);
        if (self == nullptr) return nullptr;
        auto* primitive = reinterpret_cast<Primitive*>(self);
        primitive->call = primitive_call;
        primitive->state = state.release();
        return self;
    });
}

}  // namespace

py::object make_primitive_type(py::module_& module, const PrimitiveType& made) {
    static PyMethodDef methods[] = {
        // Beside the slot, so that the call has a signature and help of its own.
        {"__call__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(primitive_call_method)),
         METH_FASTCALL | METH_KEYWORDS | METH_COEXIST, reference::primitive::kCall},
        {"execute", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(primitive_execute)),
         METH_FASTCALL | METH_KEYWORDS, reference::primitive::kExecute},
        {"explain", primitive_explain, METH_NOARGS, reference::primitive::kExplain},
        {"_repr_html_", primitive_html, METH_NOARGS, nullptr},
        {"__reduce__", primitive_reduce, METH_NOARGS, nullptr},
        {nullptr, nullptr, 0, nullptr}};
    static PyGetSetDef properties[] = {
        {"impl_info_str", primitive_impl_info, nullptr, "The implementation, as \"native:avx512\".", nullptr},
        {"kind", primitive_kind, nullptr, "What it does: \"shuffle\", \"shuffle_channels\", \"transpose\", ...", nullptr},
        {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Primitive, call), READONLY, nullptr},
                                    {nullptr, 0, 0, 0, nullptr}};
    PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(primitive_new)},
                           {Py_tp_dealloc, reinterpret_cast<void*>(primitive_dealloc)},
                           {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                           {Py_tp_repr, reinterpret_cast<void*>(primitive_repr)},
                           {Py_tp_methods, methods},
                           {Py_tp_getset, properties},
                           {Py_tp_members, members},
                           {Py_tp_doc, const_cast<char*>(made.doc)},
                           {0, nullptr}};
    // The name must outlive the type.
    auto* full_name = new std::string(std::string("dnnmove.") + made.name);
    PyType_Spec spec{full_name->c_str(), sizeof(Primitive), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};
    PyRef type = checked(PyType_FromSpec(&spec));
    // Only PyType_FromSpec reads it; help() would show it.
    if (PyObject_DelAttrString(type.get(), "__vectorcalloffset__") != 0) throw PythonError{};
    types().emplace_back(reinterpret_cast<PyTypeObject*>(Py_NewRef(type.get())), new Type(made));
    module.attr(made.name) = py::handle(type.get());
    return py::reinterpret_steal<py::object>(type.release());
}

void execute_arguments(std::shared_ptr<const Executable> executable, PyObject* stream, PyObject* args) {
    execute_with(State(std::move(executable)), stream, args);
}

}  // namespace dnnmove
