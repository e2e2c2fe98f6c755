// The candidate that transposes elements of odd sizes, or at odd distances: one chain of loops against another.
#include <algorithm>
#include <cstdlib>

#include "plan/candidate.hpp"

namespace dnnmove {
namespace {

// Cycles per byte of a transpose of `columns` against `rows`.
double cells_cost(std::int64_t columns, std::int64_t rows, Cells cells, const Kernels& kernels) {
    std::int64_t cell = 2;
    while (cell < cells.cell) cell *= 2;
    const std::int64_t per_lane = 16 / cell;
    const std::int64_t side = kernels.vector_bytes / cell;
    // A tile, as many columns as a lane holds; then the rows of a panel leave the stage. The kernel has more to
    // prepare than others.
    const double partial = rows < side ? 2.0 : 1.0;
    const double tile = partial * (1.2 * static_cast<double>(side) + 6.0 * static_cast<double>(per_lane));
    const auto tiles = static_cast<double>(((rows + side - 1) / side) * ((columns + per_lane - 1) / per_lane));
    const double piece = 6.0 / static_cast<double>(std::min<std::int64_t>(rows * cells.width, 256)) + 0.03;
    return costs_of(kernels).cells * ((tile * tiles + 60.0) / static_cast<double>(rows * columns * cells.width) + piece);
}

}  // namespace

Candidate cells_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const Kernels& kernels) {
    Candidate candidate;
    constexpr std::int64_t kMaxCell = 16;
    if (kernels.transpose_cells == nullptr || itemsize > kMaxCell || loops.size() < 2) return candidate;
    std::size_t inner = loops.size();
    std::int64_t cell = kMaxCell + 1;
    for (std::size_t k = 0; k + 1 < loops.size(); ++k) {
        const std::int64_t stride = std::abs(loops[k].src_stride);
        if (loops[k].table || stride < itemsize || stride >= cell) continue;
        inner = k;
        cell = stride;
    }
    // Elements without gaps are what the ordinary tiles of 64 bytes are better at.
    const bool gaps = cell > itemsize || (itemsize & (itemsize - 1)) != 0;
    if (inner == loops.size() || (!gaps && kernels.vector_bytes == 64)) return candidate;
    candidate.leaf.kind = KernelKind::transpose_cells;
    take_chains(candidate, loops, itemsize, inner, kernels, cells_cost);
    return candidate;
}

}  // namespace dnnmove
