// torch's channel shuffle by the engine, with a node of autograd in C++: compiled against the torch that is installed.
//
// Plain tensors on the CPU are dealt with here. Whatever else has to see a call (a mode, a transform, a tracer, a
// subclass), and whatever is wrong with it, is left to the functions of Python.
#include <Python.h>

#include <torch/version.h>

#if TORCH_VERSION_MAJOR < 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 13)
#error "needs torch 2.13 or newer, whose nodes of autograd count their own references"
#endif

#include <ATen/EmptyTensor.h>
#include <ATen/PythonTorchFunctionTLS.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/python_cpp_function.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/dynamo/compiled_autograd.h>
#include <torch/csrc/utils/object_ptr.h>

#include <cstdint>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "engine_interface.h"

namespace {

using torch::autograd::variable_list;

const DnnmoveEngineInterface* engine = nullptr;
PyObject* direct_function = nullptr;  // (x, groups): what is left over, for a call from Python
PyObject* whole_function = nullptr;   // the public function, which knows every way

// Tensors whose bytes are there and what they stand for, and of which nobody but autograd has to hear.
bool plain(const at::Tensor& x) {
    // (As bits: the difference of two sets keeps the backends.)
    constexpr auto known = c10::DispatchKeySet({c10::DispatchKey::CPU, c10::DispatchKey::AutogradCPU,
                                                c10::DispatchKey::AutocastCPU, c10::DispatchKey::ADInplaceOrView});
    const auto watching = c10::impl::tls_local_dispatch_key_set().included_;
    return (x.key_set().raw_repr() & ~known.raw_repr()) == 0 && x.key_set().has(c10::DispatchKey::CPU) &&
           (watching.raw_repr() & ~c10::default_included_set.raw_repr()) == 0 &&
           x.unsafeGetTensorImpl()->storage_initialized() && !at::impl::torch_function_mode_enabled() &&
           !torch::autograd::isFwGradDefined(x);
}

// A new tensor as the engine asks for it.
struct Result {
    const at::Tensor& like;
    at::Tensor tensor;

    static void* allocate(void* self, const int64_t* strides) {
        auto& result = *static_cast<Result*>(self);
        try {
            if (strides == nullptr) {
                result.tensor = at::detail::empty_cpu(result.like.sizes(), result.like.scalar_type());
            } else {
                c10::SmallVector<int64_t, 8> steps(strides, strides + result.like.dim());
                for (int64_t& step : steps) step /= result.like.element_size();
                result.tensor = at::detail::empty_strided_cpu(result.like.sizes(), steps, result.like.scalar_type());
            }
            return result.tensor.mutable_data_ptr();
        } catch (...) {
            return nullptr;  // no memory: the way of Python says so
        }
    }
};

// The shuffle as bytes, without autograd.
std::optional<at::Tensor> shuffled(const at::Tensor& x, int64_t groups, bool back) {
    const int64_t itemsize = static_cast<int64_t>(x.element_size());
    c10::SmallVector<int64_t, 8> strides(x.strides().begin(), x.strides().end());
    for (int64_t& stride : strides) stride *= itemsize;
    const DnnmoveArray array{x.const_data_ptr(), itemsize, x.dim(), x.sizes().data(), strides.data()};
    Result result{x, {}};
    if (engine->channel_shuffle(&array, groups, back ? 1 : 0, Result::allocate, &result) == 0) return std::nullopt;
    return std::move(result.tensor);
}

std::optional<at::Tensor> recorded(const at::Tensor& x, int64_t groups, bool back);

// By the public function, for gradients that others watch.
at::Tensor shuffled_by_python(const at::Tensor& x, int64_t groups, bool back) {
    const pybind11::gil_scoped_acquire acquired;
    const int64_t channels = x.dim() > 1 ? x.size(1) : 1;
    const int64_t count = !back ? groups : channels == 0 ? 1 : channels / groups;
    THPObjectPtr tensor(THPVariable_Wrap(x));
    THPObjectPtr result(tensor ? PyObject_CallFunction(whole_function, "OL", tensor.get(), (long long)count) : nullptr);
    if (result && !THPVariable_Check(result.get())) {
        PyErr_Format(PyExc_TypeError, "the gradient of channel_shuffle must be a tensor, not %s",
                     Py_TYPE(result.get())->tp_name);
    }
    if (PyErr_Occurred() != nullptr) {
        python_error error;
        error.persist();
        throw error;
    }
    return THPVariable_Unpack(result.get());
}

struct ChannelShuffleBackward final : torch::autograd::Node {
    int64_t groups = 1;
    bool back = false;  // what its own call did; a gradient goes the other way

    std::string name() const override { return "ChannelShuffleBackward"; }

    static variable_list run(const variable_list& gradients, int64_t groups, bool back) {
        const at::Tensor& gradient = gradients[0];
        if (!gradient.defined()) return {at::Tensor()};
        if (plain(gradient)) {
            if (std::optional<at::Tensor> result = recorded(gradient, groups, back)) return {std::move(*result)};
        }
        return {shuffled_by_python(gradient, groups, back)};
    }

    variable_list apply(variable_list&& gradients) override { return run(gradients, groups, !back); }

    // For compiled autograd: what makes two nodes the same, and the call that it traces.
    void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& args) const override {
        args.collect(groups);
        args.collect(back);
    }

    variable_list apply_with_saved(const variable_list& inputs, torch::dynamo::autograd::SwapSavedVariables& saved) override {
        saved.before(groups);
        saved.before(back);
        torch::dynamo::autograd::PackedArgs arguments;
        arguments.pack(groups);
        arguments.pack(back);
        const std::vector<at::IValue> values = std::move(arguments).vec();
        std::vector<at::TypePtr> schema;
        for (const at::IValue& value : values) schema.push_back(value.type());
        const auto traced = [](const variable_list& gradients, const std::vector<c10::IValue>& packed) {
            torch::dynamo::autograd::PackedArgs unpacked(packed);
            const auto count = unpacked.unpack<int64_t>();
            return run(gradients, count, !unpacked.unpack<bool>());
        };
        const auto& compiler = torch::dynamo::autograd::getPyCompilerInterface();
        const std::string function = compiler->bind_function(saved.get_py_compiler(), name(), traced, schema,
                                                             /*is_custom_function=*/true);
        const auto metadata =
            torch::dynamo::autograd::IValuePacker<std::vector<std::optional<torch::autograd::InputMetadata>>>::pack(
                torch::dynamo::autograd::get_input_metadata(next_edges()));
        variable_list results = compiler->call_function(saved.get_py_compiler(), "apply_functional", function, inputs, values,
                                                        metadata);
        saved.after(groups);
        saved.after(back);
        return results;
    }
};

// The shuffle as autograd knows it.
std::optional<at::Tensor> recorded(const at::Tensor& x, int64_t groups, bool back) {
    std::optional<at::Tensor> result = shuffled(x, groups, back);
    if (result && x.requires_grad() && at::GradMode::is_enabled()) {
        const auto node = c10::make_intrusive<ChannelShuffleBackward>();
        node->groups = groups;
        node->back = back;
        node->set_next_edges(torch::autograd::collect_next_edges(x));
        torch::autograd::set_history(*result, node);
    }
    return result;
}

// channel_shuffle(x, groups)
PyObject* channel_shuffle(PyObject*, PyObject* const* args, Py_ssize_t count) {
    HANDLE_TH_ERRORS
    if (count == 2 && THPVariable_CheckExact(args[0]) && PyLong_CheckExact(args[1])) {
        const at::Tensor& x = THPVariable_Unpack(args[0]);
        int overflows = 0;
        const int64_t groups = PyLong_AsLongLongAndOverflow(args[1], &overflows);
        // More bytes are worth letting go of Python's lock, which Python's way does even as the interpreter ends.
        if (overflows == 0 && plain(x) && static_cast<int64_t>(x.nbytes()) <= engine->few_bytes) {
            std::optional<at::Tensor> result = recorded(x, groups, false);
            if (result) return THPVariable_Wrap(std::move(*result));
        }
    }
    return PyObject_Vectorcall(direct_function, args, static_cast<size_t>(count), nullptr);
    END_HANDLE_TH_ERRORS
}

// bind(engine_interface, direct_function, whole_function)
PyObject* bind(PyObject*, PyObject* args) {
    PyObject* capsule = nullptr;
    PyObject* direct = nullptr;
    PyObject* whole = nullptr;
    if (!PyArg_ParseTuple(args, "OOO", &capsule, &direct, &whole)) return nullptr;
    const auto* table = static_cast<const DnnmoveEngineInterface*>(PyCapsule_GetPointer(capsule, DNNMOVE_ENGINE_INTERFACE));
    if (table == nullptr) return nullptr;
    if (table->version != DNNMOVE_ENGINE_INTERFACE_VERSION) {
        return PyErr_Format(PyExc_ImportError, "compiled for version %d of the engine's interface, not %d",
                            DNNMOVE_ENGINE_INTERFACE_VERSION, static_cast<int>(table->version));
    }
    engine = table;
    Py_XSETREF(direct_function, Py_NewRef(direct));
    Py_XSETREF(whole_function, Py_NewRef(whole));
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"channel_shuffle", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(channel_shuffle)), METH_FASTCALL,
     "channel_shuffle($module, x, groups, /)\n--\n\nThe shuffle of the channels of `x`, with its gradient."},
    {"bind", bind, METH_VARARGS,
     "bind($module, engine_interface, direct, whole, /)\n--\n\n"
     "What is called: the engine, the function for calls that are left over, and the public one."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_channel_shuffle",
                          "The channel shuffle of torch's tensors.",
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__channel_shuffle() {
    // What Python sees of a node.
    static PyTypeObject type;
    torch::autograd::_initFunctionPyTypeObject(type, "ChannelShuffleBackward", nullptr, nullptr);
    torch::autograd::registerCppFunction(typeid(ChannelShuffleBackward), &type);
    return PyModule_Create(&definition);
}
