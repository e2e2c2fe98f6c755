// When a call on a tensor may go to the engine directly, past torch's dispatcher.
#include "calls/torch_direct.hpp"

#include "arguments/dlpack_types.hpp"
#include "arguments/torch_tensors.hpp"
#include "calls/eager.hpp"
#include "python/errors.hpp"
#include "python/once.hpp"

namespace dnnmove {
namespace {

// What dnnmove.torch asks before every call, in C since each of these answers costs less than a Python name.
struct Watchers {
    PyObject* transforms = torch_tensors::find("torch._C", {"_are_functorch_transforms_active"});
    PyObject* dispatch_modes = torch_tensors::find("torch._C", {"_len_torch_dispatch_stack"});
    PyObject* tracing = torch_tensors::find("torch._C", {"_is_tracing"});
    PyObject* forward_ad = torch_tensors::find("torch.autograd.forward_ad", {"__dict__"});
    PyObject* level = checked(PyUnicode_InternFromString("_current_level")).release();
};

bool process_is_new = true;

// In a worker of a DataLoader the number of threads is settled first.
void settle() {
    process_is_new = false;
    const PyRef module = checked(PyImport_ImportModule("dnnmove.torch._direct"));
    checked(PyObject_CallMethod(module.get(), "settle_threads", nullptr));
}

bool zero(PyObject* answer) {
    const PyRef number = checked(answer);
    const long value = PyLong_AsLong(number.get());  // False is 0
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError{};
    return value == 0;
}

bool in_forward_ad(const Watchers& watchers) {
    PyObject* const level = PyDict_GetItemWithError(watchers.forward_ad, watchers.level);
    const long value = level == nullptr ? -1 : PyLong_AsLong(level);
    if (value < 0 && PyErr_Occurred() != nullptr) throw PythonError{};
    return value >= 0;
}

long way_of(PyObject* tensor) {
    if (process_is_new) settle();
    if (!array_type_of(Py_TYPE(tensor)).exact) return 0;
    const auto& watchers = once<Watchers>();
    if (!zero(PyObject_CallNoArgs(watchers.transforms)) || !zero(PyObject_CallNoArgs(watchers.dispatch_modes)) ||
        !zero(PyObject_CallNoArgs(watchers.tracing)) || in_forward_ad(watchers)) {
        return 0;
    }
    return torch_tensors::needs_gradient(tensor) ? 2 : 1;
}

PyObject* way(PyObject*, PyObject* tensor) {
    return guarded([&]() -> PyObject* { return PyLong_FromLong(way_of(tensor)); });
}

// On one thread the shuffle of so few bytes takes less time than autograd's node in Python takes more than one in C++.
constexpr std::int64_t kFewBytes = 32 << 10;

// Whether the elements lie one after the other, in the order of the axes or with the channels last.
bool contiguous_or_channels_last(const DLTensor& x) {
    const auto lies_so = [&](const auto& axis_at) {
        std::int64_t dense = 1;
        for (int i = x.ndim; i-- > 0;) {
            const int axis = axis_at(i);
            if (x.shape[axis] != 1 && x.strides[axis] != dense) return false;
            dense *= x.shape[axis];
        }
        return true;
    };
    constexpr int channels_last[] = {0, 2, 3, 1};
    return x.strides == nullptr || lies_so([](int i) { return i; }) ||
           (x.ndim == 4 && lies_so([&](int i) { return channels_last[i]; }));
}

// torch's own shuffle of `x`, of the same bits and strides, where that is the quickest way to a node of autograd; null
// where it is not.
PyRef shuffled_by_torch(PyObject* x, PyObject* groups) {
    struct Torch {
        PyObject* threads = torch_tensors::find("torch", {"get_num_threads"});
        PyObject* shuffle = torch_tensors::find("torch", {"channel_shuffle"});
    };
    const auto& torch = once<Torch>();
    const DLPackExchangeAPI* const api = array_type_of(Py_TYPE(x)).api;
    if (api == nullptr || PyLong_AsLong(checked(PyObject_CallNoArgs(torch.threads)).get()) != 1) return {};
    DLTensor described{};
    if (api->dltensor_from_py_object_no_sync(x, &described) != 0) {
        drop_failed_attempt();
        return {};
    }
    std::int64_t bytes = described.dtype.bits / 8;
    for (int axis = 0; axis < described.ndim; ++axis) {
        if (__builtin_mul_overflow(bytes, described.shape[axis], &bytes)) return {};
    }
    if (bytes == 0 || bytes > kFewBytes || !contiguous_or_channels_last(described)) return {};
    PyObject* const arguments[] = {x, groups};
    PyRef result = PyRef::steal(PyObject_Vectorcall(torch.shuffle, arguments, 2, nullptr));
    if (!result) drop_failed_attempt();  // it wants three dimensions, and words errors in another way
    return result;
}

// Nodes of autograd for the shuffle by their number of groups, as torch.autograd.Function applies them.
PyObject* shuffle_nodes() {
    static PyObject* const nodes = checked(PyDict_New()).release();
    return nodes;
}

PyObject* channel_shuffle(PyObject*, PyObject* const* args, Py_ssize_t count) {
    return guarded([&]() -> PyObject* {
        if (count != 2) throw TypeError("_channel_shuffle takes x and groups");
        PyObject* const x = args[0];
        PyObject* const groups = args[1];
        const long way = way_of(x);
        if (way == 0) Py_RETURN_NONE;
        if (way == 1) return shuffle_axis_1(x, groups, false);
        PyRef result = shuffled_by_torch(x, groups);
        if (result) return result.release();
        const PyRef node = PyRef::share(PyLong_CheckExact(groups) ? PyDict_GetItemWithError(shuffle_nodes(), groups) : nullptr);
        if (node) return PyObject_CallOneArg(node.get(), x);
        if (PyErr_Occurred() != nullptr) throw PythonError{};
        Py_RETURN_NOTIMPLEMENTED;
    });
}

// The methods of a node; `self` is its number of groups and the way for a gradient that others watch, too.
PyObject* shuffle_forward(PyObject* self, PyObject* const* args, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "forward takes a context and x, not %zd arguments", count);
    return shuffle_axis_1(args[1], PyTuple_GET_ITEM(self, 0), false);
}

PyObject* shuffle_back(PyObject* self, PyObject* gradient) {
    return guarded([&]() -> PyObject* {
        if (way_of(gradient) == 1) {
            const PyRef result = PyRef::steal(shuffle_axis_1(gradient, PyTuple_GET_ITEM(self, 0), true));
            if (result) return Py_NewRef(result.get());
            drop_failed_attempt();
        }
        return PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(self, 1), Py_None, gradient, nullptr);
    });
}

PyObject* shuffle_methods(PyObject*, PyObject* self) {
    static PyMethodDef forward = {"forward", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(shuffle_forward)),
                                  METH_FASTCALL, nullptr};
    static PyMethodDef back = {"apply", shuffle_back, METH_O, nullptr};
    return guarded([&]() -> PyObject* {
        const PyRef first = checked(PyCFunction_New(&forward, self));
        const PyRef second = checked(PyCFunction_New(&back, self));
        return PyTuple_Pack(2, first.get(), second.get());
    });
}

PyObject* begin_process(PyObject*, PyObject*) {
    process_is_new = true;
    Py_RETURN_NONE;
}

}  // namespace

bool threads_are_settled() noexcept { return !process_is_new; }

void register_torch_direct(PyObject* module) {
    static PyMethodDef functions[] = {
        {"_tensor_way", way, METH_O,
         "_tensor_way($module, x, /)\n--\n\n"
         "1 where a call on `x` may go to the engine directly, 2 where autograd has to know of it; 0 where `x` is no plain\n"
         "tensor, or a mode, a transform, a tracer or forward-mode differentiation has to see the call."},
        {"_channel_shuffle", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(channel_shuffle)), METH_FASTCALL,
         "_channel_shuffle($module, x, groups, /)\n--\n\n"
         "The shuffle of the channels of `x`, with its gradient; NotImplemented where autograd is to record a node that\n"
         "`_shuffle_nodes` does not have, None where `_tensor_way` is 0."},
        {"_shuffle_methods", shuffle_methods, METH_O,
         "_shuffle_methods($module, groups_and_backward, /)\n--\n\n"
         "What the node of so many groups calls forward and backward; `backward` takes a context and what `_tensor_way`\n"
         "does not let pass."},
        {"_begin_process", begin_process, METH_NOARGS,
         "_begin_process($module, /)\n--\n\nSettle the number of threads before the next call, as after a fork."},
        {nullptr, nullptr, 0, nullptr}};
    if (PyModule_AddFunctions(module, functions) != 0) throw PythonError{};
    if (PyModule_AddObjectRef(module, "_shuffle_nodes", shuffle_nodes()) != 0) throw PythonError{};
}

}  // namespace dnnmove
