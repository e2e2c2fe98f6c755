// Chooses the kernel for the innermost part of a nest: the cheapest of those that can run it.
#include <algorithm>

#include "plan/candidate.hpp"

namespace dnnmove {
namespace {

constexpr double kCannot = std::numeric_limits<double>::infinity();
constexpr double kCallCycles = 60;  // of one kernel call and of the loops around it

}  // namespace

Leaf choose_leaf(std::vector<Loop>& loops, std::int64_t itemsize, const PlanContext& context) {
    Candidate best;
    std::vector<Candidate> others;  // where the variant asks for one of them
    const auto rank = static_cast<std::size_t>(context.variant.kernel);
    const auto consider = [&](Candidate candidate) {
        std::int64_t bytes = itemsize;
        for (const std::size_t position : candidate.taken) bytes *= loops[position].extent;
        candidate.cost += kCallCycles / static_cast<double>(std::min<std::int64_t>(bytes, kUnitWorthBytes));
        if (candidate.cost < best.cost) std::swap(candidate, best);
        if (rank > 0 && candidate.cost < kCannot) others.push_back(std::move(candidate));
    };
    const bool pads = std::any_of(loops.begin(), loops.end(), [](const Loop& loop) { return loop.table && loop.table->pads(); });
    const bool repeats = !loops.empty() && loops.back().src_stride == 0 && continues(loops.back(), itemsize);
    if (pads) {
        consider(tabled_gather_candidate(loops, itemsize, *context.kernels));
    } else if (repeats && itemsize <= kMaxFillBytes) {
        consider(runs_candidate(loops, itemsize, KernelKind::fill, context));
        if (itemsize <= 64) consider(gather_candidate(loops, itemsize, context));
    } else if (itemsize > 64 || loops.empty() || loops.back().table) {
        consider(rows_candidate(loops, itemsize, context));
    } else {
        consider(runs_candidate(loops, itemsize, KernelKind::runs, context));
        if (loops.back().dst_stride == itemsize) {
            consider(gather_candidate(loops, itemsize, context));
            consider(weave_candidate(loops, itemsize, *context.kernels));
            consider(transpose_candidate(loops, itemsize, *context.kernels));
            consider(cells_candidate(loops, itemsize, *context.kernels));
        }
        consider(tabled_gather_candidate(loops, itemsize, *context.kernels));
    }
    if (rank > 0 && rank <= others.size()) {
        std::sort(others.begin(), others.end(), [](const Candidate& one, const Candidate& other) { return one.cost < other.cost; });
        best = std::move(others[rank - 1]);
    }
    best.leaf.itemsize = itemsize;
    std::sort(best.taken.begin(), best.taken.end());
    for (auto position = best.taken.rbegin(); position != best.taken.rend(); ++position) {
        loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(*position));
    }
    return std::move(best.leaf);
}

}  // namespace dnnmove
