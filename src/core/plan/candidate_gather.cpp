// Candidates for the gather kernels: blocks of the destination from a few windows of the source.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "plan/candidate.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxBlockBytes = 1024;

// The position of a short loop outside `position` that moves the source by less than a line and less
// than `src_stride`; loops.size() where there is none.
std::size_t find_sharing(const std::vector<Loop>& loops, std::size_t position, std::int64_t itemsize,
                         std::int64_t src_stride, const Kernels& kernels) {
    const std::int64_t most_runs = kernels.gather_windows == 2 ? 16 : 5;
    for (std::size_t k = 0; k < position; ++k) {
        const Loop& loop = loops[k];
        if (loop.table || loop.extent > most_runs || loop.src_stride == 0 || std::abs(loop.src_stride) < itemsize) continue;
        if (std::abs(loop.src_stride) >= std::min<std::int64_t>(64, std::abs(src_stride))) continue;
        return k;
    }
    return loops.size();
}

// Inside the caches a few streams, interleaved along this loop or dealt out of it, are gathered out of windows
// that their vectors share, in blocks of a vector of each; whole rows would need as many windows for every vector.
bool streams_follow(const std::vector<Loop>& loops, std::size_t position, std::int64_t itemsize, std::int64_t bytes,
                    const PlanContext& context) {
    const Loop& loop = loops[position];
    if (context.beyond_cache || context.kernels->gather_windows != 2 || loop.table || loop.extent * itemsize < 64) return false;
    if (bytes > itemsize) return bytes <= kMostShared * itemsize && std::abs(loop.src_stride) == itemsize;
    const std::size_t sharing = find_sharing(loops, position, itemsize, loop.src_stride, *context.kernels);
    return sharing < loops.size() && loops[sharing].extent <= kMostShared;
}

}  // namespace

// A block of whole inner loops and of some steps of the next one, gathered as one table.
Candidate gather_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const PlanContext& context) {
    Candidate candidate;
    const Kernels& kernels = *context.kernels;
    const std::int64_t width = kernels.gather_bytes;
    if (width == 0) return candidate;
    // Whole loops, as long as a block stays small and the destination contiguous.
    std::vector<std::int64_t> inner{0};  // source offsets, in order of the destination
    std::size_t position = loops.size();
    std::int64_t bytes = itemsize;
    while (position > 0 && continues(loops[position - 1], bytes) && !streams_follow(loops, position - 1, itemsize, bytes, context) &&
           bytes * loops[position - 1].extent <= (bytes < width ? kMaxBlockBytes / 2 : width)) {
        const Loop& loop = loops[--position];
        std::vector<std::int64_t> outer;
        outer.reserve(inner.size() * static_cast<std::size_t>(loop.extent));
        for (std::int64_t k = 0; k < loop.extent; ++k) {
            for (const std::int64_t offset : inner) outer.push_back(k * loop.src_stride + offset);
        }
        inner = std::move(outer);
        bytes *= loop.extent;
        candidate.taken.push_back(position);
    }
    // Some steps of the next loop, so many that the block fills whole vectors.
    std::int64_t extent = 1;
    std::int64_t src_stride = 0;
    if (position > 0 && continues(loops[position - 1], bytes)) {
        const Loop& loop = loops[--position];
        extent = loop.extent;
        src_stride = loop.src_stride;
        candidate.taken.push_back(position);
    }
    std::int64_t steps = 1;
    // Inside the caches rows of a few vectors, nearly whole ones, are blocks: the last vector overlaps the
    // one before, and none gathers from two rows.
    const bool rows = !context.beyond_cache && width == 64 && bytes > width &&
                      (bytes + width - 1) / width * width * 8 <= bytes * 9;
    while (!rows && steps < extent && (steps * bytes) % width != 0 && (steps + 1) * bytes <= kMaxBlockBytes) ++steps;
    if (!rows && (steps * bytes) % width != 0) {  // no multiple within reach: long blocks, whose last vectors overlap
        steps = std::clamp<std::int64_t>(kMaxBlockBytes / 2 / bytes, 1, extent);
    }
    if (!context.beyond_cache && extent > steps) {
        // Shorter blocks, where the last one of a row would repeat much of the one before.
        const std::int64_t blocks = (extent + steps - 1) / steps;
        const std::int64_t even = (extent + blocks - 1) / blocks;
        if ((even * bytes + width - 1) / width < steps * bytes / width) steps = even;
    }
    std::vector<std::int64_t> sources;
    sources.reserve(inner.size() * static_cast<std::size_t>(steps));
    for (std::int64_t k = 0; k < steps; ++k) {
        for (const std::int64_t offset : inner) sources.push_back(k * src_stride + offset);
    }
    GatherRuns runs{steps * bytes};
    // A loop that stays inside the lines the block reads, as NHWC's channels do, joins it: every line is
    // then read once, into several runs of the destination.
    // (Not with narrow vectors, many of which such a block would take, unless runs are of single elements.)
    const std::size_t sharing = extent > steps && (kernels.gather_windows == 2 || bytes == itemsize)
                                    ? find_sharing(loops, position, itemsize, src_stride, kernels)
                                    : loops.size();
    if (sharing < loops.size()) {
        const Loop& loop = loops[sharing];
        const std::size_t once = sources.size();
        for (std::int64_t k = 1; k < loop.extent; ++k) {
            for (std::size_t i = 0; i < once; ++i) sources.push_back(sources[i] + k * loop.src_stride);
            runs.offsets.push_back(k * loop.dst_stride);
        }
        candidate.taken.push_back(sharing);
        candidate.leaf.scattered = true;
    }
    auto block = build_gather(sources, itemsize, runs, kernels);
    if (!block) return Candidate{};
    candidate.leaf.kind = KernelKind::gather;
    block->loop_steps = static_cast<std::int32_t>(steps);
    candidate.leaf.a = {extent, extent, src_stride, bytes, true};
    candidate.cost = (block->cycles(costs_of(kernels)) + 2.0) / static_cast<double>(static_cast<std::int64_t>(sources.size()) * itemsize);
    candidate.cost += costs_of(kernels).row_of_blocks / static_cast<double>(extent * bytes * static_cast<std::int64_t>(runs.offsets.size()));
    candidate.cost += 1.5 * far_cost(itemsize, loops.back(), context);  // nothing is prefetched
    candidate.leaf.block = std::move(*block);
    while (position > 0 && position - 1 == sharing) --position;
    if (position > 0) take_second_loop(candidate, loops, position - 1, candidate.leaf.scattered ? 0 : extent * bytes);
    return candidate;
}

// A loop with offset tables, whose steps fall into equal runs of the destination (the lanes of a blocked
// layout), with as many steps of the innermost other loop as make the runs whole vectors.
Candidate tabled_gather_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const Kernels& kernels) {
    Candidate candidate;
    constexpr std::int64_t kMaxTabled = 32 * 1024;
    if (itemsize > 64 || kernels.gather_bytes == 0 || loops.size() < 2 || !loops[0].table || loops[1].table ||
        loops[0].extent * itemsize > kMaxTabled) {
        return candidate;
    }
    const OffsetTable& table = *loops[0].table;
    std::vector<std::size_t> order(table.dst.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (!std::is_sorted(table.dst.begin(), table.dst.end())) {
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return table.dst[a] < table.dst[b]; });
    }
    GatherRuns runs{0, {}};
    std::int64_t length = 0;  // bytes of the run so far
    for (std::size_t k = 0; k < order.size(); ++k) {
        if (k == 0 || table.dst[order[k]] != table.dst[order[k - 1]] + itemsize) {
            if (runs.offsets.size() == 1) runs.bytes = length;
            if (length != runs.bytes) return candidate;
            runs.offsets.push_back(table.dst[order[k]]);
            length = 0;
        }
        length += itemsize;
    }
    if (runs.offsets.size() == 1) runs.bytes = length;
    if (length != runs.bytes) return candidate;

    const Loop& inner = loops.back();
    const std::int64_t width = kernels.gather_bytes;
    std::int64_t steps = 1;
    if (inner.dst_stride == runs.bytes) {
        while (steps * runs.bytes % width != 0 && steps < inner.extent && steps < width) ++steps;
    }
    std::vector<std::int64_t> sources;
    sources.reserve(order.size() * static_cast<std::size_t>(steps));
    const auto per_run = static_cast<std::size_t>(runs.bytes / itemsize);
    for (std::size_t run = 0; run < runs.offsets.size(); ++run) {
        for (std::int64_t step = 0; step < steps; ++step) {
            for (std::size_t k = 0; k < per_run; ++k) {
                const std::size_t at = order[run * per_run + k];
                sources.push_back(at < table.src.size() ? table.src[at] + step * inner.src_stride : kNoSource);
            }
        }
    }
    runs.bytes *= steps;
    auto block = build_gather(sources, itemsize, runs, kernels);
    if (!block) return candidate;
    block->loop_steps = static_cast<std::int32_t>(steps);
    candidate.leaf.kind = KernelKind::gather;
    candidate.leaf.a = {inner.extent, inner.extent, inner.src_stride, inner.dst_stride, true};
    candidate.leaf.scattered = true;
    candidate.cost = (block->cycles(costs_of(kernels)) + 2.0) / static_cast<double>(static_cast<std::int64_t>(sources.size()) * itemsize);
    candidate.leaf.block = std::move(*block);
    candidate.taken = {0, loops.size() - 1};
    if (loops.size() > 2) take_second_loop(candidate, loops, loops.size() - 2);
    return candidate;
}

}  // namespace dnnmove
