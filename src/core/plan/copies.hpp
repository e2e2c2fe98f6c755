// The copies that a program is made of: transfers, each with the plan or the walk over blocks that moves it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plan/block_walk.hpp"
#include "plan/context.hpp"
#include "plan/plan.hpp"
#include "plan/shares.hpp"
#include "plan/transfer.hpp"

namespace dnnmove {

// A transfer by a plan.
struct PlannedCopy {
    // A plan, and how far its nest lies from that of the copy.
    struct Planned {
        std::int64_t src_shift;  // bytes
        std::int64_t dst_shift;
        std::shared_ptr<const NestPlan> plan;
    };

    struct Repeats {
        Transfer::Repeat repeat;
        // Of copy 1, 2, ... as long as their destinations are aligned in another way; then from the first again.
        std::vector<Planned> others;
    };

    int src;
    int dst;
    Planned planned;
    std::unique_ptr<Repeats> repeats = nullptr;  // where there are several sources
    const std::byte* constant = nullptr;  // where the source is none of the caller's

    std::int64_t count() const { return repeats == nullptr ? 1 : repeats->repeat.count; }
    std::string source() const { return name_of_sources(src, repeats == nullptr ? Transfer::Repeat() : repeats->repeat); }
    std::int64_t units() const { return count() * planned.plan->units(); }
    Sharing sharing() const {
        if (repeats == nullptr) return planned.plan->sharing();
        return {.units = units(), .block_units = planned.plan->sharing().block_units};
    }
    std::int64_t block_bytes() const { return planned.plan->bytes() / planned.plan->units() * sharing().block_units; }
    bool streams() const {
        const auto does = [](const Planned& one) { return one.plan->streams(); };
        return does(planned) || (repeats != nullptr && std::any_of(repeats->others.begin(), repeats->others.end(), does));
    }
    void run(const std::byte* const* srcs, std::byte* const* dsts, std::int64_t begin, std::int64_t end) const noexcept {
        if (repeats != nullptr) return run_repeats(srcs, dsts, begin, end);
        planned.plan->run((constant != nullptr ? constant : srcs[src]) + planned.src_shift, dsts[dst] + planned.dst_shift,
                          begin, end, list_of(srcs));
    }
    const std::byte* list_of(const std::byte* const* srcs) const noexcept {
        return planned.plan->takes_list() ? srcs[src + 1] : nullptr;
    }

private:
    void run_repeats(const std::byte* const* srcs, std::byte* const* dsts, std::int64_t begin, std::int64_t end) const noexcept;
};

// A transfer by blocks.
struct BlockCopy {
    int src;
    int dst;
    Transfer::Repeat repeat;
    const std::byte* constant;  // as a PlannedCopy's
    BlockWalk walk;

    std::int64_t units() const { return repeat.count * walk.units(); }
    Sharing sharing() const { return {.units = units()}; }
    void run(const std::byte* const* srcs, std::byte* const* dsts, std::int64_t begin, std::int64_t end) const noexcept {
        const std::int64_t each = walk.units();
        for (std::int64_t k = begin / each; k * each < end; ++k) {
            walk.run((constant != nullptr ? constant : srcs[src + k * repeat.src_step]) + k * repeat.src_pitch,
                     dsts[dst] + k * repeat.dst_pitch, std::max<std::int64_t>(begin - k * each, 0),
                     std::min(end - k * each, each));
        }
    }
};

// Plans nests; those that differ only in where they begin share one plan. A split into many equal parts needs one.
class CopyPlanner {
public:
    // `several` nests are to come: one alone shares with no other.
    CopyPlanner(const PlanContext& context, bool several) : context_(context), several_(several) {}

    // The canonical nest of `transfer` as a copy.
    PlannedCopy plan(const Transfer& transfer);

private:
    PlannedCopy::Planned plan(const Nest& nest);

    struct Known {
        Nest nest;  // keeps the tables whose addresses are in the key
        std::shared_ptr<const NestPlan> plan;
    };
    PlanContext context_;
    bool several_;
    std::map<std::vector<std::int64_t>, Known> known_;
};

}  // namespace dnnmove
