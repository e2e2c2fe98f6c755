// A nest plan: one canonical nest, a strategy for its innermost part, and a walk over the rest.
//
// Its steps, each a function that can be called by itself: the nest is made canonical (plan/canonical.hpp); all
// strategies that can copy its innermost part (plan/strategies.hpp) are candidates, of which the cheapest is chosen; it
// schedules its tiles and stores (plan/strategy.hpp); the loops around them become a walk (plan/walk.hpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plan/strategy.hpp"
#include "plan/summary.hpp"
#include "plan/walk.hpp"

namespace dnnmove {

struct Candidate {
    std::unique_ptr<Strategy> strategy;
    double cost;  // cycles per byte, with those of calls
};

// All that can copy the nest, in the order of the list; empty where it has padding that none zeroes.
std::vector<Candidate> candidates(const Problem& problem);

struct Choice {
    std::unique_ptr<Strategy> strategy = nullptr;  // null where there is no candidate
    Schedule schedule = {};
    double cost = 0;  // as of a candidate
};

// The cheapest candidate, or where the context's variant asks for it, another; scheduled.
Choice choose(const Problem& problem);

class NestPlan {
public:
    // `nest` is canonical.
    NestPlan(const Nest& nest, const PlanContext& context);

    // False where no strategy zeroes the padding of the nest along the way (plan/padding.hpp): not to be run.
    bool complete() const { return strategy_ != nullptr; }
    // Kernel calls; each writes bytes that no other does, in any order.
    std::int64_t units() const { return walk_.sharing.units; }
    std::int64_t bytes() const { return bytes_; }
    const Sharing& sharing() const { return walk_.sharing; }
    // Cycles per byte, as the planner estimates them: past the caches, with what the ends of its runs cost.
    double cost() const { return cost_; }
    // Strategy::worth_of_blocks on this processor.
    double worth_of_blocks(const Processor& processor) const;
    bool asks_ahead() const { return strategy_->asks_ahead(); }
    // Bytes that the plan holds, without the tables of the nest.
    std::size_t memory() const;
    // Does run() need a list, for a table that is given?
    bool takes_list() const { return takes_list_; }
    // Must the thread that ran it fence its stores?
    bool streams() const { return stores_ != StoreMode::cached; }
    // Units [begin, end). `src` and `dst` are the bases of the nest's offsets; `list` has the indices of a table that is given. The
    // caller fences.
    void run(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end,
             const std::byte* list = nullptr) const noexcept;
    // Kernel, element, tiles, stores, loops; and the same as one line.
    KernelSummary summary() const;
    std::string describe() const;

private:
    void run_staged(Call call, std::byte* dst, std::int64_t begin, std::int64_t end) const noexcept;
    template <class Stage>
    void collect(Stage& stage, Call call, std::byte* dst, std::int64_t begin, std::int64_t end) const noexcept;

    std::unique_ptr<const Strategy> strategy_;
    const Kernels* kernels_;
    StoreMode stores_ = StoreMode::cached;
    bool near_;  // see Call
    bool claims_ = false;  // see Call
    bool takes_list_ = false;
    Walk walk_;
    std::int64_t lines_per_unit_ = 0;  // to ask for of the next block
    std::int64_t bytes_;
    double cost_ = 0;
};

}  // namespace dnnmove
