// The candidate that transposes elements which are rows of bytes, beyond the caches: one chain of loops against another.
#include "plan/candidate.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kLeastRow = 17;   // bytes: shorter ones are transposed in registers
constexpr std::int64_t kMostRow = 2048;  // the order of longer ones matters little
constexpr std::int64_t kLeastRun = 1024;  // bytes: a shorter one of the destination is not worth its two partial lines
constexpr std::int64_t kLeastSources = 8;
constexpr double kCyclesPerByte = 0.04;  // by way of the stage

double panels_cost(std::int64_t, std::int64_t, Cells, const Kernels&) { return kCyclesPerByte; }

}  // namespace

Candidate row_panels_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const PlanContext& context) {
    Candidate candidate;
    const bool fits = itemsize >= kLeastRow && itemsize <= kMostRow && loops.size() >= 2;
    // Rows of whole lines, two and more, need no stage.
    if (!context.beyond_cache || !fits || (itemsize > 64 && follows_source(loops, itemsize, context))) return candidate;
    const std::size_t inner = source_loop(loops, itemsize);
    if (inner + 1 >= loops.size()) return candidate;
    candidate.leaf.kind = KernelKind::transpose_rows;
    take_chains(candidate, loops, itemsize, inner, *context.kernels, panels_cost);
    // Short runs of the destination must follow each other, for whole lines to be made of them, and come from so many
    // places that rows in the destination's order are read slowly.
    const Leaf& leaf = candidate.leaf;
    const bool dense = !leaf.a_chained && leaf.a.dst_stride == leaf.b.extent * itemsize && leaf.b.extent >= kLeastSources;
    return streams_row_panels(leaf.b.extent, itemsize) || dense ? candidate : Candidate{};
}

bool streams_row_panels(std::int64_t rows, std::int64_t itemsize) { return rows * itemsize >= kLeastRun; }

}  // namespace dnnmove
