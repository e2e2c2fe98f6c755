// Candidates for contiguous rows, runs and fills, and the loop around any kernel.
#include "plan/candidate.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxChainedRows = 512;

}  // namespace

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
        while (position > 0 && row * length < kUnitWorthBytes && continues(loops[position - 1], row * length) &&
               length * loops[position - 1].extent <= kMaxChainedRows) {
            chain.push_back(--position);
            length *= loops[position].extent;
        }
    }
    if (chain.size() > 1) {
        candidate.leaf.b = {length, length, 0, row};
        candidate.leaf.b_chained = true;
        candidate.leaf.src_rows = row_offsets(chain, loops, &Loop::src_stride);
    }
    candidate.taken.insert(candidate.taken.end(), chain.begin(), chain.end());
}

Candidate rows_candidate(const std::vector<Loop>& loops, std::int64_t itemsize) {
    Candidate candidate;
    candidate.cost = 0.05;
    candidate.leaf.kind = KernelKind::rows;
    candidate.leaf.a = {itemsize, itemsize, 1, 1};
    take_second_loop(candidate, loops, loops.size() - 1, itemsize);
    return candidate;
}

Candidate runs_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, KernelKind kind) {
    Candidate candidate;
    candidate.leaf.kind = kind;
    candidate.leaf.a = covering(loops.back());
    candidate.taken.push_back(loops.size() - 1);
    const bool dense = loops.back().dst_stride == itemsize;
    take_second_loop(candidate, loops, loops.size() - 2, dense ? loops.back().extent * itemsize : 0);
    const auto row = static_cast<double>(loops.back().extent * itemsize);
    candidate.cost = kind == KernelKind::fill ? 0.015 + 8.0 / row : 1.3 / static_cast<double>(itemsize) + 4.0 / row;
    // Elements of other sizes than a vector's divisors need a pattern in memory.
    if (kind == KernelKind::fill && (itemsize & (itemsize - 1)) != 0) candidate.cost += 60.0 / row;
    return candidate;
}

}  // namespace dnnmove
