// A planning problem: a canonical nest, and what else decides how it is copied.
#include "plan/problem.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxElement = 64;  // bytes: longer ones are rows
constexpr std::int64_t kSoonBytes = 16 * 1024;  // lines that are touched again within these are found in a near cache

Problem::Innermost innermost_of(const std::vector<Loop>& loops, std::int64_t itemsize) {
    using enum Problem::Innermost;
    if (std::any_of(loops.begin(), loops.end(), [](const Loop& loop) { return loop.table && loop.table->pads(); }))
        return padding;
    if (std::any_of(loops.begin(), loops.end(), [](const Loop& loop) { return loop.table && loop.table->given(); }))
        return listed;
    const bool contiguous = !loops.empty() && continues(loops.back(), itemsize);
    if (contiguous && loops.back().src_stride == 0 && itemsize <= kMaxFillBytes) return repeated;
    if (itemsize > kMaxElement || loops.empty() || loops.back().table) return rows;
    return contiguous ? elements : apart;
}

// Bytes from the first to the last of a table's steps on one side, `itemsize` bytes each, where they make up one part in
// `share` of that at least, so that they come as one run; of one step where they do not.
std::int64_t run_of(const Dims& steps, std::int64_t itemsize, std::int64_t share) {
    if (steps.empty()) return itemsize;
    const auto [first, last] = std::minmax_element(steps.begin(), steps.end());
    std::int64_t span = 0;
    if (__builtin_sub_overflow(*last, *first, &span) || __builtin_add_overflow(span, itemsize, &span)) return itemsize;
    const auto fills = [&](std::size_t count) { return static_cast<std::int64_t>(count) >= span / itemsize / share; };
    if (!fills(steps.size())) return itemsize;
    Dims offsets = steps;
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    return fills(offsets.size()) ? span : itemsize;
}

}  // namespace

Problem::Problem(const std::vector<Loop>& nest_loops, std::int64_t element, const PlanContext& plan_context)
    : loops(nest_loops), itemsize(element), context(plan_context), innermost(innermost_of(nest_loops, element)) {}

std::int64_t Problem::bytes() const {
    std::int64_t bytes = itemsize;
    for (const Loop& loop : loops) bytes *= loop.extent;
    return bytes;
}

std::size_t Problem::source_loop(std::int64_t stride) const {
    const auto found = std::find_if(loops.begin(), loops.end(),
                                    [&](const Loop& loop) { return !loop.table && loop.src_stride == stride; });
    return static_cast<std::size_t>(found - loops.begin());
}

Runs runs_of_calls(const std::vector<std::size_t>& taken, const Problem& problem, std::int64_t soon) {
    const std::vector<Loop>& loops = problem.loops;
    const auto takes = [&](std::size_t k) { return std::find(taken.begin(), taken.end(), k) != taken.end(); };
    std::int64_t bytes = problem.itemsize;
    for (const std::size_t position : taken) bytes *= loops[position].extent;
    std::size_t from = loops.size();  // of the loops that are not taken, those that come soon
    for (std::int64_t between = bytes; from > 0 && between <= soon; --from) {
        if (!takes(from - 1)) between *= loops[from - 1].extent;
    }
    const auto together = [&](std::size_t k) { return k >= from || takes(k); };
    std::int64_t read = problem.itemsize;
    std::int64_t written = problem.itemsize;
    if (!loops.empty() && loops[0].table && !loops[0].table->given() && takes(0)) {
        constexpr std::int64_t kSparse = 4;  // what lies between is read with what is wanted
        read = run_of(loops[0].table->src, read, kSparse);
        written = run_of(loops[0].table->dst, written, 1);
    }
    const auto goes_on = [&](const Loop& loop) { return !loop.table && std::abs(loop.src_stride) == read; };
    for (;;) {
        const auto next = std::find_if(loops.begin(), loops.end(), goes_on);
        if (next == loops.end() || !together(static_cast<std::size_t>(next - loops.begin()))) break;
        read *= next->extent;
    }
    for (std::size_t k = loops.size(); k-- > 0 && together(k) && continues(loops[k], written);) written *= loops[k].extent;
    return {bytes, read, written};
}

// Emerald Rapids, two threads, 72 random permutations of 5 to 20 axes, 24 to 150 MB, as nests and by blocks: with these the faster
// one is chosen but for 2 % of the time, with kWritten from 8 to 30 for less than 3 %.
double cost_of_far_runs(const Runs& soon, std::int64_t written_by_call) {
    constexpr double kRead = 15;
    constexpr double kWritten = 20;
    constexpr double kWrittenByCall = 30;
    return kRead / static_cast<double>(soon.read) + kWritten / static_cast<double>(soon.written) +
           kWrittenByCall / static_cast<double>(written_by_call);
}

double cost_of_far_runs(const std::vector<std::size_t>& taken, const Problem& problem) {
    return cost_of_far_runs(runs_of_calls(taken, problem, kSoonBytes), runs_of_calls(taken, problem, 0).written);
}

double cost_of_calls(const std::vector<std::size_t>& taken, const Problem& problem) {
    // All in cycles, for every instruction set, from what benchmarks/estimates measured on Zen 5.
    // Of the lines at the ends of a run, which others share: of each that is read or written once more.
    const PlanContext& context = problem.context;
    const double partial_read = context.beyond_cache ? 5 : context.near ? 0.9 : 1.8;
    const double partial_written = context.beyond_cache ? 18 : 4;
    const auto [bytes, read, written] = runs_of_calls(taken, problem, kSoonBytes);
    return kCallCycles / static_cast<double>(std::min<std::int64_t>(bytes, kUnitWorthBytes)) +
           partial_read / static_cast<double>(read) + partial_written / static_cast<double>(written);
}

double far_cost(const Problem& problem, const Loop& loop) {
    const bool far = problem.context.reads_far() && problem.itemsize > 16 && std::abs(loop.src_stride) >= kLine;
    return far ? 8.0 / static_cast<double>(problem.itemsize) : 0.0;
}

std::vector<std::int64_t> row_offsets(const std::vector<std::size_t>& positions, const std::vector<Loop>& loops,
                                      std::int64_t Loop::* stride) {
    std::vector<std::int64_t> offsets{0};
    for (const std::size_t position : positions) {
        const Loop& loop = loops[position];
        const std::size_t inner = offsets.size();
        for (std::int64_t k = 1; k < loop.extent; ++k) {
            for (std::size_t i = 0; i < inner; ++i) offsets.push_back(offsets[i] + k * (loop.*stride));
        }
    }
    return offsets;
}

}  // namespace dnnmove
