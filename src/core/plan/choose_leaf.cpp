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

double cost_of_calls(const std::vector<std::size_t>& taken, const std::vector<Loop>& loops, std::int64_t itemsize,
                     const Kernels& kernels) {
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
    return costs_of(kernels).calls *
           (kCallCycles / static_cast<double>(std::min<std::int64_t>(bytes, kUnitWorthBytes)) +
            kPartialLine / static_cast<double>(read) + kPartialLine / static_cast<double>(written));
}

Leaf choose_leaf(std::vector<Loop>& loops, std::int64_t itemsize, const PlanContext& context) {
    Candidate best;
    std::vector<Candidate> others;  // where the variant asks for one of them
    const auto rank = static_cast<std::size_t>(context.variant.kernel);
    each_candidate(loops, itemsize, context, [&](Candidate candidate) {
        if (candidate.cost == kCannot) return;
        candidate.cost += cost_of_calls(candidate.taken, loops, itemsize, *context.kernels);
        if (candidate.cost < best.cost) std::swap(candidate, best);
        if (rank > 0 && candidate.cost < kCannot) others.push_back(std::move(candidate));
    });
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
