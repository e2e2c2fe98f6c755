// One axis of a copy between two layouts, cut into pieces that plain loops describe.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/axis.hpp"
#include "plan/nest.hpp"

namespace dnnmove {

// A stretch of an axis: nested loops, and where they start, in bytes.
struct Piece {
    std::vector<Loop> loops;
    std::int64_t src_offset = 0;
    std::int64_t dst_offset = 0;
};

// Pieces that together copy the indices [begin, end) of `src` to the same indices of `dst`; both axes
// are at least `end` long. A cut at a block's end gives a piece for the whole blocks and one for the
// rest. Where the blocks of the two do not divide each other, a loop has an OffsetTable over their
// least common multiple.
std::vector<Piece> copy_pieces(const Axis& src, const Axis& dst, std::int64_t begin, std::int64_t end);

// Pieces that shuffle the first `length` indices of an axis: dst[u + v*K] = src[u*group_size + v] with
// K = length / group_size, u in [0, K), v in [0, group_size).
// Where the axis is longer, its padding is part of the pieces.
std::vector<Piece> shuffle_pieces(const Axis& axis, std::int64_t length, std::int64_t group_size);

// The same axis with every stride 0: a source that is one element.
Axis repeated(const Axis& axis);

}  // namespace dnnmove
