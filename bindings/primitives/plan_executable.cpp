// The executable of the native primitives: one plan.
#include "primitives/plan_executable.hpp"

#include "calls/trace.hpp"
#include "runtime/threads.hpp"

namespace dnnmove {

void PlanExecutable::run(const std::byte* const* srcs, std::byte* const* dsts, const onednn::Stream*, trace::Call* call) const {
    if (plan_->bytes() == 0) return;
    const int threads = get_num_threads();
    if (call != nullptr) {
        call->run(*plan_, srcs, dsts, threads);
        return;
    }
    plan_->program(srcs, dsts, destinations.size(), threads).execute(srcs, dsts, threads);
}

bool PlanExecutable::tunes(std::byte* const* dsts) const noexcept {
    return plan_->tunes(dsts, destinations.size(), get_num_threads());
}

std::string PlanExecutable::impl_info() const { return plan_->impl_info(); }

std::string PlanExecutable::explain() const { return plan_->explain(get_num_threads()); }

}  // namespace dnnmove
