// A take of many places: the list is an operand of the call.
#include "python/numpy_api.hpp"

#include "chains/listed_take.hpp"

#include <memory>
#include <new>
#include <span>

#include "arguments/parse.hpp"
#include "call/operation.hpp"
#include "chains/step_arrays.hpp"
#include "runtime/buffer_pool.hpp"

namespace dnnmove::python {
namespace {

constexpr std::int64_t kKey = 999;  // beyond the numbers of Op, before those of steps
constexpr std::size_t kLeast = 65;  // places

using Arrays = CallArrays<OneArray, OneArray>;

// The plan's work with the list as its second source.
class ListedTake : public PlannedCall<OneArray, OneArray> {
public:
    ListedTake(const CallPlan& plan, Arrays& arrays, const std::uint64_t* list) noexcept
        : PlannedCall(plan, arrays, get_num_threads()), list_(list) {}

    void copy(const std::byte* const* srcs, std::byte* const* dsts, trace::Call* call) const {
        const std::byte* both[] = {srcs[0], reinterpret_cast<const std::byte*>(list_)};
        PlannedCall::copy(both, dsts, call);
    }
    PyRef run() const { return run_call(*this, arrays_); }

private:
    const std::uint64_t* list_;
};

// As they lie in one of NumPy's arrays of 64 bits; null where they do not.
const std::int64_t* plain_indices(PyObject* object) {
    if (!PyArray_CheckExact(object)) return nullptr;
    auto* const array = reinterpret_cast<PyArrayObject*>(object);
    if (PyArray_NDIM(array) != 1 || PyArray_TYPE(array) != NPY_INT64 || !PyArray_ISCARRAY_RO(array)) return nullptr;
    return static_cast<const std::int64_t*>(PyArray_DATA(array));
}

struct FreeBuffer {
    void operator()(std::uint64_t* data) const noexcept { free_buffer(data); }
};
using Offsets = std::unique_ptr<std::uint64_t[], FreeBuffer>;

// Byte offsets of the places; null where an index lies outside the axis.
Offsets offsets_of(std::span<const std::int64_t> indices, std::int64_t length, std::int64_t stride) {
    Offsets list(static_cast<std::uint64_t*>(allocate_buffer(indices.size_bytes())));
    if (list == nullptr) throw std::bad_alloc();
    const auto places = static_cast<std::uint64_t>(length);
    bool outside = false;
    for (std::size_t k = 0; k < indices.size(); ++k) {
        const auto index = static_cast<std::uint64_t>(indices[k]);
        const std::uint64_t place = index + (indices[k] < 0 ? places : 0);
        outside |= place >= places;
        list[k] = place * static_cast<std::uint64_t>(stride);
    }
    return outside ? nullptr : std::move(list);
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
    const Offsets list = offsets_of(places, source.shape()[at], source.strides()[at]);
    if (list == nullptr) return {};
    PlanKey key;
    for (const std::int64_t word : {kKey, axis, count, source.itemsize(), std::int64_t{into}}) key.push(word);
    key.push_layout(source.shape(), source.strides());
    if (into) key.push_layout(out.shape(), out.strides());
    const PlanInUse plan = cached_plan(
        key, [&] { return plan_listed_take(layout_of(source), source.itemsize(), at, count, into ? &layout : nullptr); });
    return ListedTake(*plan, arrays, list.get()).run();
}

}  // namespace

PyRef take_read_once(PyObject* data, PyObject* indices, PyObject* axis_object, PyObject* out,
                     const std::function<PyRef(StepArrays&, const chain::StepPtr&)>& by_value) {
    const auto few = [](Py_ssize_t count) { return count < static_cast<Py_ssize_t>(kLeast); };
    if ((PyTuple_CheckExact(indices) || PyList_CheckExact(indices)) && few(Py_SIZE(indices))) return {};
    const auto count_of = [&] { return PyArray_SIZE(reinterpret_cast<PyArrayObject*>(indices)); };
    // Many that lie plainly are not copied, but read behind the data, whose reading may run Python code.
    const bool later = plain_indices(indices) != nullptr && !few(count_of());
    Dims parsed;
    if (!later) parsed = parse_integers(indices, "indices");
    const std::int64_t axis = parse_integer(axis_object, "axis");
    StepArrays step(data, out);
    const std::int64_t* const plain = later ? plain_indices(indices) : nullptr;
    if (later && plain == nullptr) parsed = parse_integers(indices, "indices");
    const auto places = plain == nullptr ? std::span<const std::int64_t>(parsed)
                                         : std::span(plain, static_cast<std::size_t>(count_of()));
    if (PyRef done = run_listed(step, places, axis)) return done;
    return by_value(step, chain::take(Dims(places.begin(), places.end()), axis));
}

}  // namespace dnnmove::python
