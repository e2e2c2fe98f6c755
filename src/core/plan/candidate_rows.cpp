// Candidates for contiguous rows, runs and fills, and the loop around any kernel.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "plan/candidate.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kWorthFollowing = 1024;  // bytes of the source in a row
constexpr std::int64_t kLongRow = 128;  // bytes: of these the order matters little

// The position of the loop along which rows follow each other in the source, where it is better to read
// them in that order than to write them in the destination's: beyond the caches, reading short rows far
// apart is slow, writing them is not. loops.size() where there is none.
std::size_t find_follower(const std::vector<Loop>& loops, std::int64_t itemsize, const PlanContext& context) {
    if (!context.beyond_cache || itemsize > kUnitWorthBytes / 2) return loops.size();
    std::size_t found = loops.size();
    // Neighbours in the destination are written far apart: they must not share lines.
    std::int64_t bits = itemsize | kLine | context.dst_alignment | context.dst_offset;
    for (std::size_t k = 0; k < loops.size(); ++k) {
        const Loop& loop = loops[k];
        if (loop.table) return loops.size();
        bits |= loop.dst_stride;
        if (k + 1 < loops.size() && loop.src_stride == itemsize) found = k;
    }
    std::int64_t read = itemsize;
    for (std::size_t k = source_loop(loops, read); k < loops.size(); k = source_loop(loops, read)) read *= loops[k].extent;
    if (read < kWorthFollowing) return loops.size();
    return (bits & -bits) == kLine ? found : loops.size();
}

// The position of a loop along which rows follow each other in the source, where the destination's innermost
// loop jumps farther on both sides taken together: inside the caches, short rows are copied faster along it.
std::size_t find_closer(const std::vector<Loop>& loops, std::int64_t itemsize, const PlanContext& context) {
    if (context.large || loops.empty() || itemsize >= kLongRow) return loops.size();
    const auto apart = [](const Loop& loop) { return std::abs(loop.src_stride) + std::abs(loop.dst_stride); };
    std::size_t found = loops.size();
    for (std::size_t k = 0; k < loops.size(); ++k) {
        if (loops[k].table) return loops.size();
        if (k + 1 < loops.size() && loops[k].src_stride == itemsize && 2 * apart(loops[k]) < apart(loops.back())) found = k;
    }
    return found;
}

}  // namespace

bool follows_source(const std::vector<Loop>& loops, std::int64_t itemsize, const PlanContext& context) {
    return find_follower(loops, itemsize, context) < loops.size();
}

std::int64_t max_table_rows(const std::vector<Loop>& loops, std::int64_t itemsize) {
    std::int64_t bytes = itemsize;
    for (const Loop& loop : loops) bytes *= loop.extent;
    return std::clamp<std::int64_t>(bytes / 64, 256, 1 << 16);
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

void take_second_loop(Candidate& candidate, const std::vector<Loop>& loops, std::size_t position, std::int64_t row) {
    if (position >= loops.size() || loops[position].table) return;
    candidate.leaf.b = covering(loops[position]);
    std::vector<std::size_t> chain{position};
    std::int64_t length = loops[position].extent;
    if (row > 0 && continues(loops[position], row)) {
        while (position > 0 && row * length < kUnitWorthBytes && continues(loops[position - 1], row * length)) {
            chain.push_back(--position);
            length *= loops[position].extent;
        }
    }
    if (chain.size() > 1) {
        Leaf& leaf = candidate.leaf;
        leaf.b = {length, length, 0, row};
        leaf.b_chained = true;
        leaf.b_period = length / loops[chain.back()].extent;
        leaf.b_period_stride = loops[chain.back()].src_stride;
        leaf.src_rows = row_offsets({chain.begin(), chain.end() - 1}, loops, &Loop::src_stride);
    }
    candidate.taken.insert(candidate.taken.end(), chain.begin(), chain.end());
}

Candidate rows_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const PlanContext& context) {
    Candidate candidate;
    candidate.cost = 0.05;
    candidate.leaf.kind = KernelKind::rows;
    candidate.leaf.a = {itemsize, itemsize, 1, 1};
    const auto along = [&](std::size_t position, bool Leaf::* order) {
        candidate.leaf.b = covering(loops[position]);
        candidate.leaf.*order = true;
        candidate.taken.push_back(position);
        return candidate;
    };
    const std::size_t follows = find_follower(loops, itemsize, context);
    if (follows < loops.size()) return along(follows, &Leaf::by_source);
    const std::size_t closer = find_closer(loops, itemsize, context);
    if (closer < loops.size()) return along(closer, &Leaf::across);
    take_second_loop(candidate, loops, loops.size() - 1, itemsize);
    return candidate;
}

Candidate runs_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, KernelKind kind, const PlanContext& context) {
    Candidate candidate;
    candidate.leaf.kind = kind;
    candidate.leaf.a = covering(loops.back());
    candidate.taken.push_back(loops.size() - 1);
    const bool dense = loops.back().dst_stride == itemsize;
    take_second_loop(candidate, loops, loops.size() - 2, dense ? loops.back().extent * itemsize : 0);
    const auto row = static_cast<double>(loops.back().extent * itemsize);
    if (kind == KernelKind::fill) {
        // A store per vector; on the way to a line, and from a pattern in memory (elements of other sizes
        // than a vector's divisors), some more.
        const bool pattern = (itemsize & (itemsize - 1)) != 0;
        candidate.cost = (std::ceil(row / 64) + (row > 512 ? 4 : 0) + (pattern ? 60 : 0)) / row;
    } else {
        const Costs& costs = costs_of(*context.kernels);
        const auto bytes = static_cast<double>(itemsize);
        const bool odd_size = (itemsize & (itemsize - 1)) != 0;
        const double element = itemsize > 16 ? 0.06 * bytes : odd_size ? costs.odd_run_element : costs.run_element;
        candidate.cost = element / bytes + 1.5 / row;
        // Every element from another line, which the elements beside it need again later, if blocks of them
        // are not turned in the first-level cache. (Tiles are better at cells of odd sizes, but for pitches of
        // whole pages, which leave the rows of a tile few cache sets.)
        constexpr std::int64_t kPage = 4096;
        const bool odd = odd_size && itemsize < 16;
        const bool tiles = odd && context.kernels->packs_cells && loops.back().src_stride % kPage != 0;
        const bool follows = loops.size() >= 2 && std::abs(loops[loops.size() - 2].src_stride) < kLine;
        const bool turned = follows && context.large && itemsize >= 8 && itemsize < kLine && loops.back().extent * itemsize % kLine == 0 && !tiles;
        candidate.cost += far_cost(itemsize, loops.back(), context);
        const bool alone = itemsize <= 16 && !turned && std::abs(loops.back().src_stride) >= kLine;
        if (context.large && alone) candidate.cost += costs.far_element / bytes;
        // Rows that end inside lines are staged one by one, but for the shortest.
        constexpr double kStagedRow = 50;  // cycles
        const std::int64_t row_bytes = loops.back().extent * itemsize;
        if (context.beyond_cache && row_bytes >= 2 * kLine && row_bytes % kLine != 0) candidate.cost += kStagedRow / row;
    }
    return candidate;
}

}  // namespace dnnmove
