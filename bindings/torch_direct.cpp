// When a call on a tensor may go to the engine directly, past torch's dispatcher.
#include "torch_direct.hpp"

#include "dlpack_types.hpp"
#include "errors.hpp"
#include "torch_tensors.hpp"

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
    static const Watchers* const watchers = new Watchers();
    if (!zero(PyObject_CallNoArgs(watchers->transforms)) || !zero(PyObject_CallNoArgs(watchers->dispatch_modes)) ||
        !zero(PyObject_CallNoArgs(watchers->tracing)) || in_forward_ad(*watchers)) {
        return 0;
    }
    return torch_tensors::needs_gradient(tensor) ? 2 : 1;
}

PyObject* way(PyObject*, PyObject* tensor) {
    try {
        return PyLong_FromLong(way_of(tensor));
    } catch (...) {
        return set_python_error();
    }
}

PyObject* begin_process(PyObject*, PyObject*) {
    process_is_new = true;
    Py_RETURN_NONE;
}

}  // namespace

void register_torch_direct(PyObject* module) {
    static PyMethodDef functions[] = {
        {"_tensor_way", way, METH_O,
         "_tensor_way($module, x, /)\n--\n\n"
         "1 where a call on `x` may go to the engine directly, 2 where autograd has to know of it; 0 where `x` is no plain\n"
         "tensor, or a mode, a transform, a tracer or forward-mode differentiation has to see the call."},
        {"_begin_process", begin_process, METH_NOARGS,
         "_begin_process($module, /)\n--\n\nSettle the number of threads before the next call, as after a fork."},
        {nullptr, nullptr, 0, nullptr}};
    if (PyModule_AddFunctions(module, functions) != 0) throw PythonError{};
}

}  // namespace dnnmove
