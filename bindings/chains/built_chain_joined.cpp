// Calls of a built chain of several sources.
#include "chains/built_chain.hpp"

#include "python/errors.hpp"
#include "runtime/threads.hpp"

namespace dnnmove::python {
namespace {

// The items of a list or tuple, of which there must be `count`, as many as `each` says.
PyRef items_of(PyObject* object, const char* name, std::size_t count, const char* each) {
    if (!PyTuple_Check(object) && !PyList_Check(object)) {
        throw TypeError(std::string(name) + " must be a list or tuple of " + std::to_string(count) +
                        (count == 1 ? " array, one per " : " arrays, one per ") + each + ", not " + type_name(object));
    }
    PyRef items = checked(PySequence_Tuple(object));
    const auto held = static_cast<std::size_t>(PyTuple_GET_SIZE(items.get()));
    if (held != count) {
        throw ValueError(std::string(name) + " must hold " + std::to_string(count) +
                         (count == 1 ? " array, one per " : " arrays, one per ") + each + ", but holds " +
                         std::to_string(held));
    }
    return items;
}

}  // namespace

ArgumentName BuiltChain::source_name(std::size_t i) const { return chain_.joins() ? ArgumentName("x", i) : ArgumentName("x"); }

PyRef BuiltChain::call_joined(PyObject* x_object, PyObject* out_object) const {
    const bool into = out_object != nullptr && out_object != Py_None;
    const std::size_t count = destinations.size();
    const PyRef x_items = items_of(x_object, "x", sources.size(), "source");
    PyRef out_items;
    if (into && splits_) out_items = items_of(out_object, "out", count, "branch");
    Operands xs(sources.size());
    Operands outs(into ? count : 0);
    bool again = xs.open(x_items.get(), "x", into ? Access::read_out : Access::read);
    if (into && splits_) again = outs.open(out_items.get(), "out", Access::write) || again;
    if (into && !splits_) again = outs[0].open(out_object, "out", Access::write) || again;
    xs.fetch("x", again);
    const auto out_name = [this](std::size_t i) { return splits_ ? ArgumentName("out", i) : ArgumentName("out"); };
    for (std::size_t i = 0; i < outs.size(); ++i) outs[i].fetch(out_name(i), again);
    const auto other = for_sources(xs, [](std::size_t i) { return "x[" + std::to_string(i) + "]"; });
    const BuiltChain& built = other ? *other : *this;
    const int threads = get_num_threads();
    if (!into) return built.call_staged(*built.row_major_, &xs[0], nullptr, threads);
    for (std::size_t i = 0; i < outs.size(); ++i) check_output(outs[i], xs[0], i, out_name(i), "x[0]");
    if (outs.size() == 0) return out_items;
    return built.call_staged(*built.plans_for(&outs[0], outs.size()), &xs[0], &outs[0], threads);
}

}  // namespace dnnmove::python
