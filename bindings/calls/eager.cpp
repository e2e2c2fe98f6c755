// The eager functions: one call, one operation, on arrays of any kind.
//
// They are C functions rather than pybind11's, since for a small array the call is all the cost:
// arguments become numbers in a key on the stack, one look-up gives the plan, NumPy allocates.
#include "calls/eager.hpp"

#include "arguments/operand.hpp"
#include "arguments/parse.hpp"
#include "call/operation_call.hpp"
#include "calls/call.hpp"
#include "calls/eager_docs.hpp"
#include "ops/ops.hpp"
#include "python/errors.hpp"
#include "tensors/memory.hpp"

namespace dnnmove {
namespace {

using Values = std::array<PyObject*, kMaxParameters>;

PyObject* none_is_null(PyObject* object) { return object == Py_None ? nullptr : object; }

// Appends a list of integers; tuples and lists of plain ints without a detour.
void push_integers(PlanKey& key, PyObject* object, std::string_view name) {
    if (PyTuple_CheckExact(object)) {
        const Py_ssize_t count = PyTuple_GET_SIZE(object);
        for (Py_ssize_t i = 0; i < count; ++i) {
            key.push(parse_integer(PyTuple_GET_ITEM(object, i), name, static_cast<std::size_t>(i)));
        }
        return;
    }
    key.push(parse_integers(object, name));
}

// One operation about to run on operands.
struct Call : OperationCall {
    using OperationCall::OperationCall;
    void push_layout(const Operand& array) { OperationCall::push_layout(layout_of(array)); }
    void push_data(const Operand& data) { OperationCall::push_data(layout_of(data), data.itemsize()); }
};

std::string shape_name(std::string_view data_name) { return std::string(data_name) + ".shape"; }

[[noreturn]] void refuse_blocked(const Operand& array, const ArgumentName& name) {
    throw ValueError(name.text() + " (" + array.memory()->desc.repr() +
                     ") has a blocked layout: reorder it to a plain one first");
}

void check_plain(const Operand& array, const ArgumentName& name) {
    if (array.blocked()) refuse_blocked(array, name);
}

// In a key, where a plain array has its itemsize.
constexpr std::int64_t kBlockedKey = -1;

// A shuffle of a Memory in a blocked layout, into another of the same descriptor.
PyObject* shuffle_blocked(Call& call, Operand& data, const Operand* out, std::string_view name) {
    if (!keeps_memory_order(call.op)) refuse_blocked(data, name);
    const python::MemoryDesc& desc = data.memory()->desc;
    const Layout& layout = desc.layout;
    call.key.push(kBlockedKey);
    push_layout(call.key, layout);
    const auto plan = call.plan([&] { return plan_blocked_shuffle(call.op, call.parameters(), layout, shape_name(name)); });
    if (out == nullptr) {
        NewArray result;
        result.make_memory(desc);
        data.fetch(name, true);
        const std::byte* const src = data.data();
        std::byte* const dst = result.data();
        execute(*plan, &data, 1, &src, &dst, 1, call.threads);
        return result.finish(data).release();
    }
    check_out(*out, data, "out", name);
    if (out->memory() == nullptr || !(out->memory()->desc == desc)) {
        throw ValueError("out must be a Memory of " + desc.repr() + ", as " + std::string(name) + " is");
    }
    const auto begin = [&](const Operand& array) { return array.data() + layout.lowest(); };
    if (begin(*out) < begin(data) + layout.span() && begin(data) < begin(*out) + layout.span()) {
        throw ValueError("out shares memory with " + std::string(name));
    }
    const std::byte* const src = data.data();
    std::byte* const dst = out->data();
    execute(*plan, &data, 1, &src, &dst, 1, call.threads);
    out->written();
    return Py_NewRef(out->object());
}

// Operations with one result.
PyObject* call_single(Call& call, PyObject* data_object, PyObject* out_object, std::string_view name) {
    Operand data;
    Operand out;
    out_object = none_is_null(out_object);
    data.open(data_object, name, out_object == nullptr ? Access::read : Access::read_out);
    const bool again = out_object != nullptr && out.open(out_object, "out", Access::write);
    data.fetch(name, again);
    if (out_object == nullptr) {
        if (data.blocked()) return shuffle_blocked(call, data, nullptr, name);
        call.push_data(data);
        call.key.push(0);
        const auto plan = call.plan([&] {
            return plan_operation(call.op, call.parameters(), layout_of(data), data.itemsize(), nullptr, shape_name(name));
        });
        return run_single(*plan, data, nullptr, name, call.threads).release();
    }
    out.fetch("out", false);
    if (data.blocked()) return shuffle_blocked(call, data, &out, name);
    check_out(out, data, "out", name);
    check_plain(out, "out");
    call.push_data(data);
    call.key.push(1);
    call.push_layout(out);
    const auto plan = call.plan([&] {
        const std::vector<ArrayLayout> outs{layout_of(out)};
        return plan_operation(call.op, call.parameters(), layout_of(data), data.itemsize(), &outs, shape_name(name));
    });
    return run_single(*plan, data, &out, name, call.threads).release();
}

PyRef sequence_of(PyObject* object, const char* name) {
    if (!PyTuple_Check(object) && !PyList_Check(object)) {
        throw TypeError(std::string(name) + " must be a list or tuple of arrays, not " + type_name(object));
    }
    return checked(PySequence_Tuple(object));
}

// Operations with a tuple of results.
PyObject* call_split(Call& call, PyObject* data_object, PyObject* out_object) {
    Operand data;
    out_object = none_is_null(out_object);
    if (out_object == nullptr) {
        data.read(data_object, "data");
        check_plain(data, "data");
        call.push_data(data);
        call.key.push(0);
        const auto plan = call.plan([&] {
            return plan_operation(call.op, call.parameters(), layout_of(data), data.itemsize(), nullptr, "data.shape");
        });
        return run_split(*plan, data, nullptr, "data", call.threads).release();
    }
    const PyRef items = sequence_of(out_object, "out");
    Operands outs(static_cast<std::size_t>(PyTuple_GET_SIZE(items.get())));
    data.open(data_object, "data", Access::read_out);
    const bool again = outs.open(items.get(), "out", Access::write);
    data.fetch("data", again);
    outs.fetch("out", again);
    check_plain(data, "data");
    call.push_data(data);
    call.key.push(1 + static_cast<std::int64_t>(outs.size()));
    for (std::size_t i = 0; i < outs.size(); ++i) {
        const ArgumentName name("out", i);
        check_out(outs[i], data, name, "data");
        check_plain(outs[i], name);
        call.push_layout(outs[i]);
    }
    const auto plan = call.plan([&] {
        std::vector<ArrayLayout> layouts;
        for (std::size_t i = 0; i < outs.size(); ++i) layouts.push_back(layout_of(outs[i]));
        return plan_operation(call.op, call.parameters(), layout_of(data), data.itemsize(), &layouts, "data.shape");
    });
    return run_split(*plan, data, &outs, "data", call.threads).release();
}

// Runs `body`; what it throws becomes the Python exception. Signatures are made inside, since they may find no memory.
template <class Body>
PyObject* guarded(const Body& body) noexcept {
    try {
        return body();
    } catch (...) {
        return set_python_error();
    }
}

PyObject* call_shuffle(Op op, const Signature& signature, std::string_view data_name, std::string_view count_name,
                       PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    Values values;
    signature.parse(args, static_cast<std::size_t>(count), keywords, values);
    Call call(op);
    call.key.push(values[1] == nullptr ? 1 : parse_integer(values[1], "axis"));
    call.key.push(values[2] == nullptr ? 1 : parse_integer(values[2], count_name));
    call.close();
    return call_single(call, values[0], values[3], data_name);
}

PyObject* shuffle(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded([&] {
        static const Signature signature("shuffle", {"data", "axis", "group_size", "out"}, 3, 3);
        return call_shuffle(Op::shuffle, signature, "data", "group_size", args, count, keywords);
    });
}

PyObject* shuffle_backward(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded([&] {
        static const Signature signature("shuffle_backward", {"diff_dst", "axis", "group_size", "out"}, 3, 3);
        return call_shuffle(Op::shuffle_backward, signature, "diff_dst", "group_size", args, count, keywords);
    });
}

PyObject* shuffle_channels(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded([&] {
        static const Signature signature("shuffle_channels", {"data", "axis", "group", "out"}, 3, 1);
        return call_shuffle(Op::shuffle_channels, signature, "data", "group", args, count, keywords);
    });
}

PyObject* transpose(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded([&] {
        static const Signature signature("transpose", {"data", "input_order", "out"}, 2, 1);
        Values values;
        signature.parse(args, static_cast<std::size_t>(count), keywords, values);
        Call call(Op::transpose);
        if (values[1] != nullptr) push_integers(call.key, values[1], "input_order");
        call.close();
        return call_single(call, values[0], values[2], "data");
    });
}

PyObject* variadic_split(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded([&] {
        static const Signature signature("variadic_split", {"data", "axis", "split_lengths", "out"}, 3, 3);
        Values values;
        signature.parse(args, static_cast<std::size_t>(count), keywords, values);
        Call call(Op::variadic_split);
        call.key.push(parse_axis(values[1], "axis"));
        push_integers(call.key, values[2], "split_lengths");
        call.close();
        return call_split(call, values[0], values[3]);
    });
}

PyObject* split(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded([&] {
        static const Signature signature("split", {"data", "axis", "num_splits", "out"}, 3, 3);
        Values values;
        signature.parse(args, static_cast<std::size_t>(count), keywords, values);
        Call call(Op::split);
        call.key.push(parse_axis(values[1], "axis"));
        call.key.push(parse_integer(values[2], "num_splits"));
        call.close();
        return call_split(call, values[0], values[3]);
    });
}

PyObject* broadcast(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded([&] {
        static const Signature signature("broadcast", {"data", "target_shape", "axes_mapping", "mode", "out"}, 4, 2);
        Values values;
        signature.parse(args, static_cast<std::size_t>(count), keywords, values);
        Call call(Op::broadcast);
        const ops::BroadcastMode mode = values[3] == nullptr ? ops::BroadcastMode::numpy
                                                             : ops::parse_broadcast_mode(parse_text(values[3], "mode"));
        PyObject* mapping = none_is_null(values[2]);
        call.key.push(static_cast<std::int64_t>(mode));
        call.key.push(mapping != nullptr ? 1 : 0);
        const std::size_t position = call.key.reserve();
        push_integers(call.key, values[1], "target_shape");
        call.key.set(position, static_cast<std::int64_t>(call.key.size() - position - 1));
        if (mapping != nullptr) push_integers(call.key, mapping, "axes_mapping");
        call.close();
        return call_single(call, values[0], values[4], "data");
    });
}

// concat and stack: several inputs, one output.
PyObject* call_join(Op op, const char* function, const Signature& signature, PyObject* const* args, Py_ssize_t count,
                    PyObject* keywords) {
    Values values;
    signature.parse(args, static_cast<std::size_t>(count), keywords, values);
    Call call(op);
    // (What a list or tuple has not, takes a microsecond to find out.)
    if (!PyList_Check(values[0]) && !PyTuple_Check(values[0]) && is_array(values[0])) {
        throw TypeError("arrays must be a list or tuple of arrays, not " + type_name(values[0]) + ": " + function +
                        "([a, b], axis)");
    }
    call.key.push(values[1] == nullptr ? 0 : parse_integer(values[1], "axis"));
    call.close();
    const PyRef items = sequence_of(values[0], "arrays");
    Operands arrays(static_cast<std::size_t>(PyTuple_GET_SIZE(items.get())));
    if (arrays.size() == 0) throw ValueError("arrays must hold at least one array, but is empty");
    PyObject* out_object = none_is_null(values[2]);
    Operand out;
    bool again = arrays.open(items.get(), "arrays", out_object == nullptr ? Access::read : Access::read_out);
    if (out_object != nullptr) again = out.open(out_object, "out", Access::write) || again;
    arrays.fetch("arrays", again);
    call.key.push(static_cast<std::int64_t>(arrays.size()));
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        const ArgumentName name("arrays", i);
        check_plain(arrays[i], name);
        if (i > 0 && !arrays[i].same_dtype(arrays[0])) refuse_dtype(arrays[i], name, arrays[0], "arrays[0]");
        call.push_data(arrays[i]);
    }
    call.key.push(out_object != nullptr ? 1 : 0);
    if (out_object != nullptr) {
        out.fetch("out", again);
        check_out(out, arrays[0], "out", "arrays[0]");
        check_plain(out, "out");
        call.push_layout(out);
    }
    const auto plan = call.plan([&] {
        std::vector<ArrayLayout> layouts;
        for (std::size_t i = 0; i < arrays.size(); ++i) layouts.push_back(layout_of(arrays[i]));
        const ArrayLayout out_layout = out_object == nullptr ? ArrayLayout{} : layout_of(out);
        return plan_join(op, call.parameters()[0], layouts, arrays[0].itemsize(),
                         out_object == nullptr ? nullptr : &out_layout);
    });
    return run_join(*plan, arrays, out_object == nullptr ? nullptr : &out, call.threads).release();
}

PyObject* concat(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded([&] {
        static const Signature signature("concat", {"arrays", "axis", "out"}, 2, 1);
        return call_join(Op::concat, "concat", signature, args, count, keywords);
    });
}

PyObject* stack(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return guarded([&] {
        static const Signature signature("stack", {"arrays", "axis", "out"}, 2, 1);
        return call_join(Op::stack, "stack", signature, args, count, keywords);
    });
}

using FastFunction = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

PyCFunction as_method(FastFunction function) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)); }

}  // namespace

PyObject* shuffle_axis_1(PyObject* data, PyObject* group, bool inverse) noexcept {
    return guarded([&] {
        Call call(inverse ? Op::shuffle : Op::shuffle_channels);
        call.key.push(1);
        call.key.push(parse_integer(group, "group"));
        call.close();
        return call_single(call, data, nullptr, "data");
    });
}

void register_eager(PyObject* module) {
    constexpr int kFlags = METH_FASTCALL | METH_KEYWORDS;
    static PyMethodDef functions[] = {{"shuffle", as_method(shuffle), kFlags, kShuffleDoc},
                                      {"shuffle_backward", as_method(shuffle_backward), kFlags, kShuffleBackwardDoc},
                                      {"shuffle_channels", as_method(shuffle_channels), kFlags, kShuffleChannelsDoc},
                                      {"transpose", as_method(transpose), kFlags, kTransposeDoc},
                                      {"variadic_split", as_method(variadic_split), kFlags, kVariadicSplitDoc},
                                      {"split", as_method(split), kFlags, kSplitDoc},
                                      {"broadcast", as_method(broadcast), kFlags, kBroadcastDoc},
                                      {"concat", as_method(concat), kFlags, kConcatDoc},
                                      {"stack", as_method(stack), kFlags, kStackDoc},
                                      {nullptr, nullptr, 0, nullptr}};
    if (PyModule_AddFunctions(module, functions) != 0) throw PythonError{};
}

}  // namespace dnnmove
