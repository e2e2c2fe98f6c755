// The eager functions' work: a plan, on arrays that lie as it says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "call/call_plan.hpp"
#include "calls/element_type.hpp"
#include "calls/run_call.hpp"

namespace dnnmove {

// What all work of one plan has; `dst_count` outputs. Borrows the plan.
class PlanWork {
public:
    PlanWork(const CallPlan& plan, std::size_t dst_count, int threads) noexcept
        : plan_(plan), dst_count_(dst_count), threads_(threads) {}
    std::int64_t bytes() const noexcept { return plan_.bytes(); }
    bool tunes(std::byte* const* dsts) const noexcept { return plan_.tunes(dsts, dst_count_, threads_); }
    void copy(const std::byte* const* srcs, std::byte* const* dsts, trace::Call* call) const {
        if (call != nullptr) [[unlikely]] {
            call->run(plan_, srcs, dsts, threads_);
        } else {
            plan_.program(srcs, dsts, dst_count_, threads_).execute(srcs, dsts, threads_);
        }
    }

protected:
    const CallPlan& plan_;
    std::size_t dst_count_;
    int threads_;
};

// RuntimeError: the array does not lie any longer as it did when the call was planned.
[[noreturn]] void refuse_changed(const ArgumentName& name);
// The same where an array, fetched again, does not.
void fetch_again(Operand& array, const Placement& planned, const ArgumentName& name);

// ValueError where an output shares bytes with an input or with another output; the placements say where they lie.
template <class In, class Out>
void check_overlap(const CallArrays<In, Out>& arrays, const std::vector<Placement>& inputs,
                   const std::vector<Placement>& outputs) {
    const auto region = [](const Operand& array, const Placement& placed) {
        return Region::of(array.footprint(), placed.extent);
    };
    const auto found = find_overlap(
        arrays.inputs.size(), [&](std::size_t i) { return region(arrays.inputs[i], inputs[i]); }, arrays.outs.size(),
        [&](std::size_t i) { return region(arrays.outs[i], outputs[i]); });
    if (!found) [[likely]]
        return;
    throw ValueError(arrays.out.name_at(found->out).text() + " shares memory with " +
                     (found->with_input ? arrays.in.name_at(found->other) : arrays.out.name_at(found->other)).text() +
                     ": the copy must not overlap what it reads or writes twice");
}

template <class In, class Out>
class PlannedCall : public PlanWork {
public:
    // `types`: of all outputs; null where they are the input's.
    PlannedCall(const CallPlan& plan, CallArrays<In, Out>& arrays, int threads, const ResultType* types = nullptr) noexcept
        : PlanWork(plan, plan.outputs().size(), threads), arrays_(arrays), types_(types) {}

    void check_overlap() const { dnnmove::check_overlap(arrays_, plan_.inputs(), plan_.outputs()); }
    bool make(NewArray& result, std::size_t i) const {
        const Placement& placed = plan_.outputs()[i];
        return result.make(arrays_.inputs[0], placed.shape,
                           placed.c_contiguous ? std::span<const std::int64_t>{} : placed.strides, type(i));
    }
    void fetch_again(std::size_t i) const { dnnmove::fetch_again(arrays_.inputs[i], plan_.inputs()[i], arrays_.in.name_at(i)); }
    trace::Call watch() const {
        trace::Call call(plan_.title(), plan_.impl_info());
        for (std::size_t i = 0; i < arrays_.inputs.size(); ++i) call.add_source(arrays_.inputs[i]);
        for (std::size_t i = 0; i < dst_count_; ++i) {
            const Placement& placed = plan_.outputs()[i];
            call.add_destination(placed.shape, placed.strides, type(i));
        }
        return call;
    }
    PyRef run() const { return run_call(*this, arrays_, dst_count_); }

protected:
    CallArrays<In, Out>& arrays_;

private:
    const ResultType* type(std::size_t output) const noexcept { return types_ == nullptr ? nullptr : types_ + output; }

    const ResultType* types_;
};

}  // namespace dnnmove
