// The kernels that compete for the innermost part of a nest, and what each would cost.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "plan/costs.hpp"
#include "plan/plan.hpp"

namespace dnnmove {

// A kernel that could run a nest's innermost part. Costs are cycles per byte (plan/costs.hpp); they need
// only be right where two kernels compete.
struct Candidate {
    double cost = std::numeric_limits<double>::infinity();
    Leaf leaf;
    std::vector<std::size_t> taken;  // positions of the loops that the kernel covers
    std::size_t columns = 0;         // of a transpose: how many of them, the first ones, are a
};

// One function per kernel; the cost is infinite where it cannot run the nest. `loops` are canonical:
// not empty but for rows, the last one innermost in the destination.
Candidate rows_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const PlanContext& context);
Candidate runs_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, KernelKind kind, const PlanContext& context);
Candidate gather_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const PlanContext& context);
Candidate tabled_gather_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const Kernels& kernels);
Candidate weave_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const Kernels& kernels);
Candidate cells_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const Kernels& kernels);
// Would rows be copied in the order of the source?
bool follows_source(const std::vector<Loop>& loops, std::int64_t itemsize, const PlanContext& context);
Candidate row_panels_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const PlanContext& context);
Candidate transpose_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const Kernels& kernels);

// Is `outer` the continuation of a destination run of `bytes` bytes?
inline bool continues(const Loop& outer, std::int64_t bytes) { return !outer.table && outer.dst_stride == bytes; }

// Cycles per byte for elements of some size that are taken out of lines far apart, beyond the caches: what the
// estimates of kernels that move element after element leave out.
inline double far_cost(std::int64_t itemsize, const Loop& loop, const PlanContext& context) {
    const bool far = context.beyond_cache && itemsize > 16 && std::abs(loop.src_stride) >= 64;
    return far ? 8.0 / static_cast<double>(itemsize) : 0.0;
}

inline TiledLoop covering(const Loop& loop) { return {loop.extent, loop.extent, loop.src_stride, loop.dst_stride}; }

// The position of the loop whose steps are `stride` bytes apart in the source; loops.size() where there is none.
std::size_t source_loop(const std::vector<Loop>& loops, std::int64_t stride);

// Cycles per byte for what kernel calls on the loops `taken` cost besides the kernel's work: the calls, and
// the lines at the ends of the runs that a call reads and writes, which other calls touch again.
double cost_of_calls(const std::vector<std::size_t>& taken, const std::vector<Loop>& loops, std::int64_t itemsize,
                     const Kernels& kernels);

// Offsets, by `stride`, of every step of a chain of loops, the first innermost.
std::vector<std::int64_t> row_offsets(const std::vector<std::size_t>& positions, const std::vector<Loop>& loops,
                                      std::int64_t Loop::* stride);

// A chain's offset table may be this long: about an eighth of what is copied.
std::int64_t max_table_rows(const std::vector<Loop>& loops, std::int64_t itemsize);

// Cycles per byte of a transpose of `columns` against `rows`.
using TransposeCost = double (*)(std::int64_t columns, std::int64_t rows, Cells cells, const Kernels& kernels);

// The loop at `inner` and those that continue it in the source become a, loops that are contiguous in the
// destination b: as many of both as cost the least. A reversed `inner` is walked from its end. Takes nothing
// where `inner` is the innermost loop.
void take_chains(Candidate& candidate, const std::vector<Loop>& loops, std::int64_t itemsize, std::size_t inner,
                 const Kernels& kernels, TransposeCost cost_of);

// The offsets of a transpose's rows along its chains, once it is chosen.
void tabulate_chains(Candidate& candidate, const std::vector<Loop>& loops);

// The loop at `position` becomes b. Where rows of `row` bytes are short and more loops continue the
// destination, b is the whole chain of them, so that a kernel call is worth its while.
void take_second_loop(Candidate& candidate, const std::vector<Loop>& loops, std::size_t position, std::int64_t row = 0);

// A kernel call on less is mostly the call.
inline constexpr std::int64_t kUnitWorthBytes = 8 * 1024;

// Hands over the candidates for a nest, one after another; costs are without cost_of_calls.
template <class Consider>
void each_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const PlanContext& context, const Consider& consider) {
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
}

}  // namespace dnnmove
