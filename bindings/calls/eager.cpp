// The eager functions: one call, one operation, on arrays of any kind.
//
// They are C functions rather than pybind11's, since for a small array the call is all the cost:
// arguments become numbers in a key on the stack, one look-up gives the plan, NumPy allocates.
#include "calls/eager.hpp"

#include "arguments/operand.hpp"
#include "arguments/parse.hpp"
#include "call/operation_call.hpp"
#include "calls/call_arrays.hpp"
#include "calls/planned_call.hpp"
#include "ops/ops.hpp"
#include "python/errors.hpp"
#include "reference/eager.hpp"
#include "tensors/memory.hpp"

namespace dnnmove {
namespace {

using Values = std::array<PyObject*, kMaxParameters>;

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

// In a key, where a plain array has its itemsize.
constexpr std::int64_t kBlockedKey = -1;

using SingleArrays = CallArrays<OneArray, OneArray>;

// A shuffle of a Memory in a blocked layout, into another of the same descriptor.
class BlockedCall : public PlanWork {
public:
    BlockedCall(const CallPlan& plan, SingleArrays& arrays, const python::MemoryDesc& desc, int threads) noexcept
        : PlanWork(plan, 1, threads), arrays_(arrays), desc_(desc) {}
    void check_overlap() const {
        const Extent extent{desc_.layout.lowest(), desc_.layout.lowest() + desc_.layout.span()};
        const auto region = [&](const Operand& array) { return Region::solid(array.data(), extent); };
        const auto found = find_overlap(
            1, [&](std::size_t) { return region(arrays_.inputs[0]); }, 1, [&](std::size_t) { return region(arrays_.outs[0]); });
        if (found) throw ValueError("out shares memory with " + std::string(arrays_.in.name));
    }
    bool make(NewArray& result, std::size_t) const {
        result.make_memory(desc_);
        return true;
    }
    void fetch_again(std::size_t) const { arrays_.inputs[0].fetch(arrays_.in.name, true); }
    trace::Call watch() const {
        trace::Call call(plan_.title(), plan_.impl_info());
        call.add_source(desc_);
        call.add_destination(desc_);
        return call;
    }

private:
    SingleArrays& arrays_;
    const python::MemoryDesc& desc_;
};

PyObject* shuffle_blocked(Call& call, SingleArrays& arrays) {
    const Operand& data = arrays.inputs[0];
    if (!keeps_memory_order(call.op)) refuse_blocked(data, arrays.in.name);
    const python::MemoryDesc& desc = data.memory()->desc;
    if (arrays.into()) {
        const Operand& out = arrays.outs[0];
        check_out(out, data, "out", arrays.in.name);
        if (out.memory() == nullptr || !(out.memory()->desc == desc)) {
            throw ValueError("out must be a Memory of " + desc.repr() + ", as " + std::string(arrays.in.name) + " is");
        }
    }
    call.key.push(kBlockedKey);
    push_layout(call.key, desc.layout);
    const auto plan = call.plan(
        [&] { return plan_blocked_shuffle(call.op, call.parameters(), desc.layout, shape_name(arrays.in.name)); });
    return run_call(BlockedCall(*plan, arrays, desc, call.threads), arrays).release();
}

// Operations of one input: with one result, or a tuple of them.
template <class Out>
PyObject* call_on(Call& call, CallArrays<OneArray, Out>& arrays) {
    const Operand& data = arrays.inputs[0];
    call.push_data(data);
    const std::size_t count = arrays.out.size();
    call.key.push(arrays.into() ? 1 + static_cast<std::int64_t>(count) : 0);
    for (std::size_t i = 0; i < count; ++i) {
        const ArgumentName name = arrays.out.name_at(i);
        check_out(arrays.outs[i], data, name, arrays.in.name);
        check_plain(arrays.outs[i], name);
        call.push_layout(arrays.outs[i]);
    }
    const auto plan = call.plan([&] {
        std::vector<ArrayLayout> layouts;
        for (std::size_t i = 0; i < count; ++i) layouts.push_back(layout_of(arrays.outs[i]));
        return plan_operation(call.op, call.parameters(), layout_of(data), data.itemsize(), arrays.into() ? &layouts : nullptr,
                              shape_name(arrays.in.name));
    });
    return PlannedCall(*plan, arrays, call.threads).run().release();
}

PyObject* call_single(Call& call, PyObject* data, PyObject* out, std::string_view name) {
    SingleArrays arrays({name, data}, {"out", none_is_null(out)});
    if (arrays.inputs[0].blocked()) [[unlikely]]
        return shuffle_blocked(call, arrays);
    return call_on(call, arrays);
}

PyObject* call_split(Call& call, PyObject* data, PyObject* out) {
    PyRef items;
    if (none_is_null(out) != nullptr) items = list_of_arrays(out, "out");
    CallArrays<OneArray, ManyArrays> arrays({"data", data}, {"out", items.get()});
    check_plain(arrays.inputs[0], "data");
    return call_on(call, arrays);
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
    const PyRef items = list_of_arrays(values[0], "arrays");
    if (PyTuple_GET_SIZE(items.get()) == 0) throw ValueError("arrays must hold at least one array, but is empty");
    CallArrays<ManyArrays, OneArray> arrays({"arrays", items.get()}, {"out", none_is_null(values[2])});
    const Operands& inputs = arrays.inputs;
    call.key.push(static_cast<std::int64_t>(inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const ArgumentName name("arrays", i);
        check_plain(inputs[i], name);
        if (i > 0 && !inputs[i].same_dtype(inputs[0])) refuse_dtype(inputs[i], name, inputs[0], "arrays[0]");
        call.push_data(inputs[i]);
    }
    call.key.push(arrays.into() ? 1 : 0);
    if (arrays.into()) {
        check_out(arrays.outs[0], inputs[0], "out", "arrays[0]");
        check_plain(arrays.outs[0], "out");
        call.push_layout(arrays.outs[0]);
    }
    const auto plan = call.plan([&] {
        std::vector<ArrayLayout> layouts;
        for (std::size_t i = 0; i < inputs.size(); ++i) layouts.push_back(layout_of(inputs[i]));
        const ArrayLayout out = arrays.into() ? layout_of(arrays.outs[0]) : ArrayLayout{};
        return plan_join(op, call.parameters()[0], layouts, inputs[0].itemsize(), arrays.into() ? &out : nullptr);
    });
    return PlannedCall(*plan, arrays, call.threads).run().release();
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
    static PyMethodDef functions[] = {
        {"shuffle", as_method(shuffle), kFlags, reference::eager::kShuffle},
        {"shuffle_backward", as_method(shuffle_backward), kFlags, reference::eager::kShuffleBackward},
        {"shuffle_channels", as_method(shuffle_channels), kFlags, reference::eager::kShuffleChannels},
        {"transpose", as_method(transpose), kFlags, reference::eager::kTranspose},
        {"variadic_split", as_method(variadic_split), kFlags, reference::eager::kVariadicSplit},
        {"split", as_method(split), kFlags, reference::eager::kSplit},
        {"broadcast", as_method(broadcast), kFlags, reference::eager::kBroadcast},
        {"concat", as_method(concat), kFlags, reference::eager::kConcat},
        {"stack", as_method(stack), kFlags, reference::eager::kStack},
        {nullptr, nullptr, 0, nullptr}};
    if (PyModule_AddFunctions(module, functions) != 0) throw PythonError{};
}

}  // namespace dnnmove
