// The executable of the native primitives: one plan.
#include "primitives/plan_executable.hpp"

#include "calls/planned_call.hpp"
#include "runtime/threads.hpp"

namespace dnnmove {

void PlanExecutable::run(const std::byte* const* srcs, std::byte* const* dsts, const onednn::Stream*, trace::Call* call) const {
    const PlanWork work(*plan_, destinations.size(), get_num_threads());
    if (work.bytes() > 0) work.copy(srcs, dsts, call);
}

bool PlanExecutable::tunes(std::byte* const* dsts) const noexcept {
    return plan_->tunes(dsts, destinations.size(), get_num_threads());
}

std::string PlanExecutable::impl_info() const { return plan_->impl_info(); }

std::string PlanExecutable::explain() const { return plan_->explain(get_num_threads()); }

}  // namespace dnnmove
