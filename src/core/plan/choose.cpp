// Chooses the strategy for a nest. This is the only place that decides: all strategies are asked, the cheapest is taken.
#include "plan/choose.hpp"

namespace dnnmove {
namespace {

// All strategies. Their order decides nothing but which of two that cost the same is taken: the first.
constexpr std::unique_ptr<Strategy> (*kStrategies[])(const Problem&) = {
    match_fill,           match_row_copy,          match_row_blocks, match_element_copy,    match_gather,  match_interleave,
    match_tile_transpose, match_strided_transpose, match_row_panels, match_gather_by_table, match_exchange};

}  // namespace

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
    auto rank = static_cast<std::size_t>(problem.context.variant.kernel);
    if (rank >= all.size()) rank = 0;
    std::stable_sort(all.begin(), all.end(),
                     [](const Candidate& one, const Candidate& other) { return one.cost < other.cost; });
    std::unique_ptr<Strategy>& strategy = all[rank].strategy;
    const Schedule schedule = strategy->schedule(problem);
    if (schedule.stores != StoreMode::staged || !strategy->shuns_stage()) return {std::move(strategy), schedule};
    PlanContext inside = problem.context;
    inside.beyond_cache = false;
    return choose(Problem(problem.loops, problem.itemsize, inside));
}

}  // namespace dnnmove
