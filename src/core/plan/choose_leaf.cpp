// Chooses the kernel for the innermost part of a nest: the cheapest of those that can run it.
#include <algorithm>

#include "plan/candidate.hpp"

namespace dnnmove {
namespace {

constexpr double kCannot = std::numeric_limits<double>::infinity();

}  // namespace

std::size_t source_loop(const std::vector<Loop>& loops, std::int64_t stride) {
    const auto found =
        std::find_if(loops.begin(), loops.end(), [&](const Loop& loop) { return !loop.table && loop.src_stride == stride; });
    return static_cast<std::size_t>(found - loops.begin());
}

double cost_of_calls(const std::vector<std::size_t>& taken, const std::vector<Loop>& loops, std::int64_t itemsize) {
    constexpr double kCallCycles = 60;  // of one kernel call and of the loops around it
    constexpr double kPartialLine = 16;
    const auto takes = [&](std::size_t k) { return std::find(taken.begin(), taken.end(), k) != taken.end(); };
    std::int64_t bytes = itemsize;
    for (const std::size_t position : taken) bytes *= loops[position].extent;
    // Lines that are touched again soon are found in a near cache.
    constexpr std::int64_t kSoonBytes = 16 * 1024;
    std::size_t soon = loops.size();  // of the loops that are not taken, those from here on
    for (std::int64_t between = bytes; soon > 0 && between <= kSoonBytes; --soon) {
        if (!takes(soon - 1)) between *= loops[soon - 1].extent;
    }
    const auto together = [&](std::size_t k) { return k >= soon || takes(k); };
    std::int64_t read = itemsize;
    for (std::size_t k = source_loop(loops, read); k < loops.size() && together(k); k = source_loop(loops, read)) {
        read *= loops[k].extent;
    }
    std::int64_t written = itemsize;
    for (std::size_t k = loops.size(); k-- > 0 && together(k) && continues(loops[k], written);) written *= loops[k].extent;
    return kCallCycles / static_cast<double>(std::min<std::int64_t>(bytes, kUnitWorthBytes)) +
           kPartialLine / static_cast<double>(read) + kPartialLine / static_cast<double>(written);
}

Leaf choose_leaf(std::vector<Loop>& loops, std::int64_t itemsize, const PlanContext& context) {
    Candidate best;
    std::vector<Candidate> others;  // where the variant asks for one of them
    const auto rank = static_cast<std::size_t>(context.variant.kernel);
    const auto consider = [&](Candidate candidate) {
        candidate.cost += cost_of_calls(candidate.taken, loops, itemsize);
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
        consider(row_panels_candidate(loops, itemsize, context));
    } else {
        consider(runs_candidate(loops, itemsize, KernelKind::runs, context));
        if (loops.back().dst_stride == itemsize) {
            consider(gather_candidate(loops, itemsize, context));
            consider(weave_candidate(loops, itemsize, *context.kernels));
            consider(transpose_candidate(loops, itemsize, *context.kernels));
            consider(cells_candidate(loops, itemsize, *context.kernels));
            consider(row_panels_candidate(loops, itemsize, context));
        }
        consider(tabled_gather_candidate(loops, itemsize, *context.kernels));
    }
    if (rank > 0 && rank <= others.size()) {
        std::sort(others.begin(), others.end(), [](const Candidate& one, const Candidate& other) { return one.cost < other.cost; });
        best = std::move(others[rank - 1]);
    }
    best.leaf.itemsize = itemsize;
    if (best.leaf.transposes()) tabulate_chains(best, loops);
    std::sort(best.taken.begin(), best.taken.end());
    for (auto position = best.taken.rbegin(); position != best.taken.rend(); ++position) {
        loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(*position));
    }
    return std::move(best.leaf);
}

}  // namespace dnnmove
