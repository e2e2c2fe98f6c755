// The executable of the native primitives: one plan.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "call/plan_cache.hpp"
#include "primitives/executable.hpp"

namespace dnnmove {

// The ports are the caller's to fill.
class PlanExecutable final : public python::Executable {
public:
    explicit PlanExecutable(std::shared_ptr<const CallPlan> plan) : plan_(std::move(plan)) { title = plan_->title(); }
    void run(const std::byte* const* srcs, std::byte* const* dsts, const onednn::Stream* stream,
             trace::Call* call) const override;
    bool tunes(std::byte* const* dsts) const noexcept override;
    std::string impl_info() const override;
    std::string explain() const override;

private:
    std::shared_ptr<const CallPlan> plan_;
};

}  // namespace dnnmove
