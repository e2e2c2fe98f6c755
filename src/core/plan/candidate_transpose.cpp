// The candidate that transposes: one chain of loops against another.
#include <algorithm>

#include "plan/candidate.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kLongRunBytes = 512;  // a longer run of the destination gains nothing

// A chain of loops as one dimension, the first innermost.
struct Chain {
    std::vector<std::size_t> positions;
    std::int64_t length = 1;
};

}  // namespace

Candidate transpose_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const Kernels& kernels) {
    Candidate candidate;
    if (itemsize > 16 || (itemsize & (itemsize - 1)) != 0) return candidate;
    const auto contiguous = [&](const Loop& loop) { return !loop.table && loop.src_stride == itemsize; };
    const auto first = std::find_if(loops.begin(), loops.end(), contiguous);
    if (first == loops.end()) return candidate;
    const auto source_inner = static_cast<std::size_t>(first - loops.begin());

    const std::int64_t most_rows = max_table_rows(loops, itemsize);
    // Destination-contiguous loops, until the run is long or reaches the source-contiguous loop.
    Chain b;
    for (std::size_t position = loops.size(); position-- > 0;) {
        const Loop& loop = loops[position];
        if (position == source_inner || !continues(loop, b.length * itemsize)) break;
        if (b.length * itemsize >= kLongRunBytes || (b.length > 1 && b.length * loop.extent > most_rows)) break;
        b.positions.push_back(position);
        b.length *= loop.extent;
    }
    if (b.positions.empty()) return candidate;
    // Source-contiguous loops, likewise.
    Chain a;
    for (std::size_t position = source_inner; position < loops.size();) {
        a.positions.push_back(position);
        a.length *= loops[position].extent;
        if (a.length * itemsize >= kLongRunBytes) break;
        const std::int64_t next = a.length * itemsize;
        const auto chained = std::find_if(loops.begin(), loops.end(),
                                          [&](const Loop& loop) { return !loop.table && loop.src_stride == next; });
        position = static_cast<std::size_t>(chained - loops.begin());
        if (position < loops.size() &&
            (a.length * chained->extent > most_rows ||
             std::find(b.positions.begin(), b.positions.end(), position) != b.positions.end())) {
            break;
        }
    }
    Leaf& leaf = candidate.leaf;
    leaf.kind = KernelKind::transpose;
    leaf.a_chained = a.positions.size() > 1;
    leaf.b_chained = b.positions.size() > 1;
    leaf.a = {a.length, a.length, itemsize, leaf.a_chained ? 0 : loops[a.positions[0]].dst_stride};
    leaf.b = {b.length, b.length, leaf.b_chained ? 0 : loops[b.positions[0]].src_stride, itemsize};
    if (leaf.a_chained) leaf.dst_rows = row_offsets(a.positions, loops, &Loop::dst_stride);
    if (leaf.b_chained) leaf.src_rows = row_offsets(b.positions, loops, &Loop::src_stride);
    candidate.taken = a.positions;
    candidate.taken.insert(candidate.taken.end(), b.positions.begin(), b.positions.end());

    const std::int64_t side = kernels.vector_bytes / itemsize;
    double per_vector = 2.5;  // cycles: load, lane stage, store
    double inside_lanes = 0;
    for (std::int64_t width = itemsize; width < 16; width *= 2) inside_lanes += 0.7;
    if (itemsize <= 2) per_vector += 1.5;  // a tile exceeds the registers
    // Few columns that are left take narrow tiles, a lane of every row each.
    const std::int64_t per_lane = 16 / itemsize;
    const std::int64_t left = a.length % side;
    const std::int64_t narrow = left <= side / 2 && side > per_lane ? (left + per_lane - 1) / per_lane : 0;
    const std::int64_t whole = a.length / side + (left != 0 && narrow == 0 ? 1 : 0);
    // Lanes that end inside a register take several loads where there are no masked ones.
    const double load_lane = left % per_lane != 0 && kernels.vector_bytes < 64 ? 3.0 : 1.0;
    const double per_row_of_tiles =
        static_cast<double>(whole * side) * (per_vector + inside_lanes) +
        static_cast<double>(narrow) * (load_lane * static_cast<double>(side) + static_cast<double>(per_lane) * (1.5 + inside_lanes));
    const double partial = b.length < side ? 2.0 : 1.0;
    candidate.cost = partial * per_row_of_tiles * static_cast<double>((b.length + side - 1) / side) /
                     static_cast<double>(a.length * b.length * itemsize);
    return candidate;
}

}  // namespace dnnmove
