// A take of many places: the list is an operand of the call.
#include "python/numpy_api.hpp"

#include "chains/listed_take.hpp"

#include <span>

#include "arguments/parse.hpp"
#include "array/overlap.hpp"
#include "call/operation.hpp"
#include "chains/step_arrays.hpp"
#include "kernels/contract.hpp"
#include "python/errors.hpp"

namespace dnnmove::python {
namespace {

constexpr std::int64_t kKey = 999;  // beyond the numbers of Op, before those of steps
constexpr std::size_t kLeast = 65;  // places

using Arrays = CallArrays<OneArray, OneArray>;

// The plan's work with the list as its second source.
class ListedTake : public PlannedCall<OneArray, OneArray> {
public:
    ListedTake(const CallPlan& plan, Arrays& arrays, const std::int64_t* list) noexcept
        : PlannedCall(plan, arrays, get_num_threads()), list_(list) {}

    void copy(const std::byte* const* srcs, std::byte* const* dsts, trace::Call* call) const {
        const std::byte* both[] = {srcs[0], reinterpret_cast<const std::byte*>(list_)};
        PlannedCall::copy(both, dsts, call);
    }
    PyRef run() const { return run_call(*this, arrays_); }

private:
    const std::int64_t* list_;
};

// One of NumPy's arrays, of one axis of integers that 64 bits hold?
bool are_plain(PyObject* object) {
    if (!PyArray_CheckExact(object)) return false;
    auto* const array = reinterpret_cast<PyArrayObject*>(object);
    return PyArray_NDIM(array) == 1 && PyArray_ISINTEGER(array) && PyArray_CanCastSafely(PyArray_TYPE(array), NPY_INT64) != 0;
}

// Null where the plan has to know the places, or has an error for them.
PyRef run_listed(StepArrays& step, std::span<const std::int64_t> places, std::int64_t axis) {
    Arrays& arrays = step.arrays();
    const Operand& source = step.data();
    const auto ndim = static_cast<std::int64_t>(source.shape().size());
    if (places.size() < kLeast || axis < -ndim || axis >= ndim) return {};
    if (axis < 0) axis += ndim;
    const auto at = static_cast<std::size_t>(axis);
    const auto count = static_cast<std::int64_t>(places.size());
    const Operand& out = arrays.outs[0];
    const bool into = arrays.into();
    if (into) check_out(out, source, "out", "data");
    const ArrayLayout layout = into ? layout_of(out) : ArrayLayout{};
    if (!takes_listed(layout_of(source), source.itemsize(), at, count, into ? &layout : nullptr)) return {};
    if (!kernels_for(best_isa()).are_indices(places.data(), count, source.shape()[at])) return {};
    PlanKey key;
    for (const std::int64_t word : {kKey, axis, count, source.itemsize(), std::int64_t{into}}) key.push(word);
    key.push_layout(source.shape(), source.strides());
    if (into) key.push_layout(out.shape(), out.strides());
    const PlanInUse plan = cached_plan(
        key, [&] { return plan_listed_take(layout_of(source), source.itemsize(), at, count, into ? &layout : nullptr); });
    // An output over the indices would be written before they all are read.
    static constexpr std::int64_t kStep = sizeof(std::int64_t);
    const Footprint read{reinterpret_cast<const std::byte*>(places.data()), {&count, 1}, {&kStep, 1}, kStep};
    Dims kept;
    if (into && overlap(read, out.footprint())) kept.assign(places.begin(), places.end());
    return ListedTake(*plan, arrays, kept.empty() ? places.data() : kept.data()).run();
}

}  // namespace

PyRef take_read_once(PyObject* data, PyObject* indices, PyObject* axis_object, PyObject* out,
                     const std::function<PyRef(StepArrays&, const chain::StepPtr&)>& by_value) {
    const auto few = [](Py_ssize_t count) { return count < static_cast<Py_ssize_t>(kLeast); };
    if ((PyTuple_CheckExact(indices) || PyList_CheckExact(indices)) && few(Py_SIZE(indices))) return {};
    // Many that lie plainly are not parsed, but read behind the data, whose reading may run Python code.
    const bool later = are_plain(indices) && !few(PyArray_SIZE(reinterpret_cast<PyArrayObject*>(indices)));
    Dims parsed;
    if (!later) parsed = parse_integers(indices, "indices");
    const std::int64_t axis = parse_integer(axis_object, "axis");
    StepArrays step(data, out);
    PyRef plain;
    if (later && are_plain(indices)) {
        plain = checked(PyArray_FROM_OTF(indices, NPY_INT64, NPY_ARRAY_CARRAY_RO));
    } else if (later) {
        parsed = parse_integers(indices, "indices");
    }
    auto* const array = reinterpret_cast<PyArrayObject*>(plain.get());
    const auto places = plain ? std::span(static_cast<const std::int64_t*>(PyArray_DATA(array)),
                                          static_cast<std::size_t>(PyArray_SIZE(array)))
                              : std::span<const std::int64_t>(parsed);
    if (PyRef done = run_listed(step, places, axis)) return done;
    return by_value(step, chain::take(Dims(places.begin(), places.end()), axis));
}

}  // namespace dnnmove::python
