// A take of many places: the list is an operand of the call.
#include "python/numpy_api.hpp"

#include "chains/listed_take.hpp"

#include <cstdint>
#include <vector>

#include "arguments/parse.hpp"
#include "array/overlap.hpp"
#include "call/index_list.hpp"
#include "call/operation.hpp"
#include "chains/step_arrays.hpp"
#include "python/errors.hpp"

namespace dnnmove::python {
namespace {

constexpr std::int64_t kKey = 999;  // beyond the numbers of Op, before those of steps
constexpr std::int64_t kLeast = 65;  // places

using Arrays = CallArrays<OneArray, OneArray>;

// Is the array read as it lies? Else its places are parsed.
bool is_list(const Operand& array) {
    if (array.blocked() || array.ndim() != 1 || array.shape()[0] < kLeast || !array.is_integer()) return false;
    const std::int64_t bytes = array.itemsize();
    return array.is_signed() && !array.swapped() && (bytes == 4 || bytes == 8) && array.strides()[0] == bytes &&
           reinterpret_cast<std::uintptr_t>(array.data()) % static_cast<std::uintptr_t>(bytes) == 0;
}

// The plan's work with the list as its second source; `array` has it, unless that is null.
class ListedTake : public PlannedCall<OneArray, OneArray> {
public:
    ListedTake(const CallPlan& plan, Arrays& arrays, const IndexList& list, Operand* array) noexcept
        : PlannedCall(plan, arrays, get_num_threads()), list_(list), array_(array) {}

    void fetch_again(std::size_t i) const {
        PlannedCall::fetch_again(i);
        if (array_ == nullptr) return;
        array_->fetch("indices", true);
        if (!is_list(*array_) || array_->shape()[0] != list_.count || array_->itemsize() != list_.index_bytes)
            refuse_changed("indices");
        list_.data = array_->data();
    }
    void copy(const std::byte* const* srcs, std::byte* const* dsts, trace::Call* call) const {
        const std::byte* both[] = {srcs[0], list_.data};
        PlannedCall::copy(both, dsts, call);
    }
    PyRef run() const { return run_call(*this, arrays_); }

private:
    mutable IndexList list_;
    Operand* array_;
};

// Null where the plan has to know the places, or has an error for them.
PyRef run_listed(StepArrays& step, const IndexList& list, Operand* array, std::int64_t axis) {
    Arrays& arrays = step.arrays();
    const Operand& source = step.data();
    const auto ndim = static_cast<std::int64_t>(source.shape().size());
    if (list.count < kLeast || axis < -ndim || axis >= ndim) return {};
    if (axis < 0) axis += ndim;
    const auto at = static_cast<std::size_t>(axis);
    const Operand& out = arrays.outs[0];
    const bool into = arrays.into();
    if (into) check_out(out, source, "out", "data");
    const ArrayLayout layout = into ? layout_of(out) : ArrayLayout{};
    const ArrayLayout* const to = into ? &layout : nullptr;
    if (!takes_listed(layout_of(source), source.itemsize(), at, list.count, to)) return {};
    {
        const torch_tensors::OnItsThreads team(source.kind() == Operand::Kind::torch);
        if (!list.within(source.shape()[at], get_num_threads())) return {};
    }
    PlanKey key;
    for (const std::int64_t word : {kKey, axis, list.count, list.index_bytes, source.itemsize(), std::int64_t{into}})
        key.push(word);
    key.push_layout(source.shape(), source.strides());
    if (into) key.push_layout(out.shape(), out.strides());
    const PlanInUse plan = cached_plan(
        key, [&] { return plan_listed_take(layout_of(source), source.itemsize(), at, list.count, list.index_bytes, to); });
    // An output over the indices would be written before they all are read.
    const Footprint read{list.data, {&list.count, 1}, {&list.index_bytes, 1}, list.index_bytes};
    std::vector<std::byte> kept;
    if (into && overlap(read, out.footprint())) kept.assign(list.data, list.data + list.bytes());
    if (kept.empty()) return ListedTake(*plan, arrays, list, array).run();
    return ListedTake(*plan, arrays, {kept.data(), list.count, list.index_bytes}, nullptr).run();
}

}  // namespace

PyRef take_read_once(PyObject* data, PyObject* indices, PyObject* axis_object, PyObject* out,
                     const std::function<PyRef(StepArrays&, const chain::StepPtr&)>& by_value) {
    if ((PyTuple_CheckExact(indices) || PyList_CheckExact(indices)) && Py_SIZE(indices) < kLeast) return {};
    // Many that lie plainly are not parsed, but read behind the data, whose reading may run Python code.
    Operand array;
    const bool is_sequence = PyTuple_Check(indices) || PyList_Check(indices) || PyRange_Check(indices);
    const bool is_operand = !is_sequence && is_array(indices);
    if (is_operand) array.read(indices, "indices");
    const bool later = is_operand && is_list(array);
    Dims parsed;
    if (!later) parsed = is_operand ? parse_integers(array, "indices") : parse_integers(indices, "indices");
    const std::int64_t axis = parse_integer(axis_object, "axis");
    StepArrays step(data, out);
    if (later) array.fetch("indices", true);
    const bool plain = later && is_list(array);
    if (later && !plain) parsed = parse_integers(array, "indices");
    const IndexList list = plain ? IndexList{array.data(), array.shape()[0], array.itemsize()}
                                 : IndexList{reinterpret_cast<const std::byte*>(parsed.data()),
                                             static_cast<std::int64_t>(parsed.size()), sizeof(std::int64_t)};
    if (PyRef done = run_listed(step, list, plain ? &array : nullptr, axis)) return done;
    if (plain) {
        parsed.resize(static_cast<std::size_t>(list.count));
        array.read_integers(parsed);
    }
    return by_value(step, chain::take(std::move(parsed), axis));
}

}  // namespace dnnmove::python
