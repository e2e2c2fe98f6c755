// The candidate that transposes elements of odd sizes, or at odd distances, against a chain of loops.
#include <algorithm>
#include <cstdlib>

#include "plan/candidate.hpp"

namespace dnnmove {

Candidate cells_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const Kernels& kernels) {
    Candidate candidate;
    constexpr std::int64_t kMaxCell = 16;
    constexpr std::int64_t kLongRunBytes = 512;  // a longer run of the destination gains nothing
    if (kernels.transpose_cells == nullptr || itemsize > kMaxCell || loops.size() < 2) return candidate;
    const std::size_t last = loops.size() - 1;
    const auto in_cells = [&](const Loop& loop) {
        return !loop.table && std::abs(loop.src_stride) >= itemsize && std::abs(loop.src_stride) <= kMaxCell;
    };
    const auto found = std::find_if(loops.begin(), loops.end() - 1, in_cells);
    if (found == loops.end() - 1) return candidate;
    const auto across = static_cast<std::size_t>(found - loops.begin());

    const std::int64_t most_rows = max_table_rows(loops, itemsize);
    std::vector<std::size_t> run;  // loops that continue the destination
    std::int64_t length = 1;
    for (std::size_t position = last + 1; position-- > 0;) {
        const Loop& loop = loops[position];
        if (position == across || !continues(loop, length * itemsize)) break;
        if (length * itemsize >= kLongRunBytes || (length > 1 && length * loop.extent > most_rows)) break;
        run.push_back(position);
        length *= loop.extent;
    }
    if (run.empty()) return candidate;
    Leaf& leaf = candidate.leaf;
    leaf.kind = KernelKind::transpose_cells;
    const Loop& cells = loops[across];
    leaf.a = {cells.extent, cells.extent, cells.src_stride, cells.dst_stride};
    if (cells.src_stride < 0) leaf.turn_a_round();
    leaf.b_chained = run.size() > 1;
    leaf.b = {length, length, leaf.b_chained ? 0 : loops[last].src_stride, itemsize};
    if (leaf.b_chained) leaf.src_rows = row_offsets(run, loops, &Loop::src_stride);
    candidate.taken = std::move(run);
    candidate.taken.push_back(across);

    // Cycles of one tile, as many columns as a lane holds.
    std::int64_t cell = 2;
    while (cell < leaf.a.src_stride) cell *= 2;
    const double columns = static_cast<double>(16 / cell);
    const double side = static_cast<double>(kernels.vector_bytes / cell);
    const double tile = 1.2 * side + 6.0 * columns;
    const double rows = static_cast<double>(length);
    const double tiles_of_rows = static_cast<double>((length * cell + kernels.vector_bytes - 1) / kernels.vector_bytes);
    candidate.cost = tile * tiles_of_rows / (rows * std::min(columns, static_cast<double>(cells.extent)) * static_cast<double>(itemsize));
    return candidate;
}

}  // namespace dnnmove
