// What torch knows of its tensors and the bytes alone do not say: gradients, lazy conjugation, versions.
#include "arguments/torch_tensors.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "python/once.hpp"
#include "python/pyref.hpp"

namespace dnnmove::torch_tensors {

PyObject* find(const char* module_name, std::initializer_list<const char*> path) {
    PyRef object = checked(PyImport_ImportModule(module_name));
    for (const char* name : path) object = checked(PyObject_GetAttrString(object.get(), name));
    return object.release();
}

namespace {

// The attributes of torch.Tensor are taken from the class: they cost less so than by an attribute look-up, and no
// class or instance can put its own in their place.
struct Torch {
    PyObject* requires_grad = find("torch", {"Tensor", "requires_grad"});
    PyObject* is_neg = find("torch", {"Tensor", "is_neg"});
    PyObject* is_conj = find("torch", {"Tensor", "is_conj"});
    PyObject* is_grad_enabled = find("torch", {"is_grad_enabled"});
    PyObject* has_function_mode = find("torch._C", {"_is_torch_function_mode_enabled"});
    PyObject* increment_version = find("torch.autograd.graph", {"increment_version"});
    // The function under the public one, in a third of the time; null where it takes no tuple (before torch 2.6).
    PyObject* increment_versions = find("torch._C", {"_increment_version"});
};

Torch& torch() { return once<Torch>(); }

bool truth(PyObject* answer) {
    const PyRef value = checked(answer);
    const int is_true = PyObject_IsTrue(value.get());
    if (is_true < 0) throw PythonError{};
    return is_true != 0;
}

bool requires_grad(PyObject* tensor) {
    PyObject* const descriptor = torch().requires_grad;
    return truth(Py_TYPE(descriptor)->tp_descr_get(descriptor, tensor, reinterpret_cast<PyObject*>(Py_TYPE(tensor))));
}

// dnnmove.torch is named only where it can be imported.
bool has_integration() {
    const PyRef util = PyRef::steal(PyImport_ImportModule("importlib.util"));
    const PyRef spec = util ? PyRef::steal(PyObject_CallMethod(util.get(), "find_spec", "s", "dnnmove.torch")) : PyRef{};
    PyErr_Clear();
    return spec && spec.get() != Py_None;
}

[[noreturn]] void refuse_grad(Access access, const ArgumentName& name) {
    const std::string what = name.text();
    if (access == Access::write) {
        throw TypeError(what + " is a tensor that requires grad: write to " + what +
                        ".detach(), or call inside torch.no_grad()");
    }
    throw TypeError(what + " is a tensor that requires grad, and the result would have no gradient: pass " + what +
                    ".detach(), or call inside torch.no_grad()" +
                    (has_integration() ? "; dnnmove.torch has differentiable functions" : ""));
}

// Two functions of torch's stable C interface, in torch 2.10 and newer.
struct Threads {
    using Part = void (*)(std::int64_t begin, std::int64_t end, void* context);
    std::int32_t (*parallel_for)(std::int64_t begin, std::int64_t end, std::int64_t grain, Part part, void* context) = nullptr;
    std::int32_t (*count)(std::uint32_t* threads) = nullptr;

    Threads() noexcept {
        for (const char* name : {"libtorch_cpu.so", "libtorch_cpu.dylib"}) {
            void* const library = dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
            if (library == nullptr) continue;
            parallel_for = reinterpret_cast<decltype(parallel_for)>(dlsym(library, "torch_parallel_for"));
            count = reinterpret_cast<decltype(count)>(dlsym(library, "torch_get_num_threads"));
        }
    }
};

const Threads& threads() noexcept {
    static const Threads found;
    return found;
}

bool run_on_torch(std::size_t parts, Threads::Part part, void* context) noexcept {
    std::uint32_t count = 0;
    if (threads().count(&count) != 0 || count < parts) return false;
    return threads().parallel_for(0, static_cast<std::int64_t>(parts), 1, part, context) == 0;
}

[[noreturn]] void refuse_lazy(const ArgumentName& name) {
    throw TypeError(name.text() + " is a lazily negated or conjugated tensor: pass tensor.resolve_neg().resolve_conj()");
}

}  // namespace

OnItsThreads::OnItsThreads(bool torch) : set_(torch && threads().parallel_for != nullptr && threads().count != nullptr) {
    if (set_) before_ = exchange_team(run_on_torch);
}

bool needs_gradient(PyObject* tensor) { return requires_grad(tensor) && truth(PyObject_CallNoArgs(torch().is_grad_enabled)); }

bool check(PyObject* tensor, Access access, bool exact, const ArgumentName& name) {
    const bool quiet = exact && !truth(PyObject_CallNoArgs(torch().has_function_mode));
    const bool gradient = access == Access::read || access == Access::write;
    if (gradient && needs_gradient(tensor)) refuse_grad(access, name);
    if (truth(PyObject_CallOneArg(torch().is_neg, tensor))) refuse_lazy(name);
    return !quiet;
}

void check_conjugation(PyObject* tensor, const ArgumentName& name) {
    if (truth(PyObject_CallOneArg(torch().is_conj, tensor))) refuse_lazy(name);
}

void increment_version(PyObject* tensor) {
    if (torch().increment_versions != nullptr) {
        const PyRef tensors = checked(PyTuple_Pack(1, tensor));
        if (PyRef::steal(PyObject_CallOneArg(torch().increment_versions, tensors.get()))) return;
        drop_failed_attempt();
        torch().increment_versions = nullptr;
    }
    checked(PyObject_CallOneArg(torch().increment_version, tensor));
}

}  // namespace dnnmove::torch_tensors
