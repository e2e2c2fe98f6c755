// Chooses the strategy for a nest, which is decided nowhere else, and walks over what it leaves.
#include "plan/plan.hpp"

#include <algorithm>
#include <utility>

#include "plan/lines.hpp"
#include "plan/strategies.hpp"
#include "runtime/scratch.hpp"

namespace dnnmove {

std::vector<Candidate> candidates(const Problem& problem) {
    std::vector<Candidate> all;
    all.reserve(std::size(kStrategies));
    for (const auto match : kStrategies) {
        std::unique_ptr<Strategy> strategy = match(problem);
        if (strategy == nullptr) continue;
        const double cost = strategy->cost(problem) + strategy->call_cost(problem);
        all.push_back({std::move(strategy), cost});
    }
    return all;
}

Choice choose(const Problem& problem) {
    std::vector<Candidate> all = candidates(problem);
    if (all.empty()) return {};
    const auto waits = [](const Candidate& candidate) { return !candidate.strategy->asks_ahead(); };
    if (problem.context.far_source && !std::all_of(all.begin(), all.end(), waits)) std::erase_if(all, waits);
    auto rank = static_cast<std::size_t>(problem.context.variant.kernel);
    if (rank >= all.size()) rank = 0;
    std::stable_sort(all.begin(), all.end(),
                     [](const Candidate& one, const Candidate& other) { return one.cost < other.cost; });
    std::unique_ptr<Strategy>& strategy = all[rank].strategy;
    const Schedule schedule = strategy->schedule(problem);
    if (schedule.stores != StoreMode::staged || !strategy->shuns_stage())
        return {std::move(strategy), schedule, all[rank].cost};
    PlanContext inside = problem.context;
    inside.beyond_cache = false;
    return choose(Problem(problem.loops, problem.itemsize, inside));
}

NestPlan::NestPlan(const Nest& nest, const PlanContext& context) : kernels_(context.kernels), near_(context.near) {
    const Problem problem(nest.loops, nest.itemsize, context);
    bytes_ = problem.bytes();
    takes_list_ = problem.innermost == Problem::Innermost::listed;
    auto [strategy, schedule, cost] = choose(problem);
    if (strategy == nullptr) return;
    cost_ = cost + (context.beyond_cache ? cost_of_far_runs(strategy->taken, problem) : 0);
    stores_ = schedule.stores;
    claims_ = context.claims && stores_ == StoreMode::cached;
    walk_ = make_walk(problem, *strategy, schedule);
    walk_.src_offset += nest.src_offset;
    walk_.dst_offset += nest.dst_offset;
    if (walk_.blocks != nullptr) {
        std::int64_t units = walk_.blocks->steps;  // of a block
        for (std::size_t k = walk_.along_rows + 1; k < walk_.loops.size(); ++k) units *= walk_.loops[k].extent;
        lines_per_unit_ = (walk_.blocks->lines() + units - 1) / units;
    }
    strategy_ = std::move(strategy);
}

double NestPlan::worth_of_blocks(const Processor& processor) const {
    WorthOfBlocks worth = processor.worth_of_blocks;
    if (kernels_->vector_bytes == kLine || walk_.blocks != nullptr) worth.staged = worth.staged_runs;
    if (kernels_->vector_bytes < kLine) worth.lines = worth.lines_by_halves;
    return strategy_->worth_of_blocks(stores_, worth);
}

std::size_t NestPlan::memory() const {
    return sizeof *this + strategy_->memory() + heap_bytes(walk_.loops) +
           (walk_.blocks == nullptr ? 0 : sizeof *walk_.blocks + heap_bytes(walk_.blocks->rows));
}

void NestPlan::run(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end,
                   const std::byte* list) const noexcept {
    if (begin >= end) return;
    Call call{*kernels_, stores_, near_, claims_, src, list};
    if (stores_ == StoreMode::staged) return run_staged(call, dst, begin, end);
    call.dst = dst + walk_.dst_offset;
    call.unit = call.next = {walk_.src_offset, 0, 0, true};
    if (walk_.loops.empty()) return strategy_->run(call);
    LoopCounter at = begin == 0 ? LoopCounter(walk_) : LoopCounter(walk_, begin);
    for (std::int64_t k = begin; k < end; ++k) {
        call.unit = at.unit();
        call.dst = dst + at.dst();
        if (k + 1 < end) at.next();
        call.next = at.unit();
        strategy_->run(call);
    }
}

// Units that follow each other in the destination collect in the stage, out of which whole lines leave.
void NestPlan::run_staged(Call call, std::byte* dst, std::int64_t begin, std::int64_t end) const noexcept {
    using Stage = LineStage<std::max(2 * kMaxUnitBytes, kFlushBytes + kMaxGroupedBytes)>;
    with_stage<Stage>([&](Stage& stage) { collect(stage, call, dst, begin, end); }, *kernels_);
}

template <class Stage>
void NestPlan::collect(Stage& stage, Call call, std::byte* dst, std::int64_t begin, std::int64_t end) const noexcept {
    const Strategy& strategy = *strategy_;
    LoopCounter at(walk_, begin);
    LinesAhead ahead(walk_.blocks.get());
    std::int64_t due = 0;  // lines to ask for
    for (std::int64_t k = begin; k < end; ++k) {
        call.unit = at.unit();
        call.dst = stage.place(dst + at.dst());
        if (walk_.blocks != nullptr) {
            if (at.starts_block()) {
                const std::int64_t distance = at.to_next_block();
                ahead.start(distance == 0 ? nullptr : call.base + call.unit.src + distance);
                due = 0;
            }
            due += lines_per_unit_;
        }
        if (k + 1 < end) at.next();
        call.next = at.unit();
        strategy.run(call);
        stage.add(strategy.a.steps(call.unit.a_tile) * strategy.b.steps(call.unit.b_tile) * strategy.unit_step);
        if (stage.filled() < kFlushBytes) continue;
        stage.send_lines([&](const std::byte* from, std::byte* to, std::int64_t bytes) {
            if (walk_.blocks != nullptr) {
                stream_asking(*kernels_, from, to, bytes, ahead, std::exchange(due, 0));
            } else {
                strategy.unstage(*kernels_, from, to, bytes, k + 1 < end ? call.base + call.next.src : nullptr);
            }
        });
    }
    stage.finish();
}

}  // namespace dnnmove
