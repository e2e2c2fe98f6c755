// A copy nest: nested loops with a source and a destination stride each, the planner's input.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "array/dims.hpp"

namespace dnnmove {

// Byte offsets of each step of a loop that no stride describes (an axis cut by a blocked layout). Steps
// past the end of `src` have no source: they are padding, to become zero.
struct OffsetTable {
    Dims src;
    Dims dst;
    std::size_t whole = 0;  // where there is padding: the steps before this one fill whole blocks
    // Indices come with each run instead, integers of so many bytes (4 or 8), as the source behind the nest's: of an axis of
    // `length` places that lie `stride` bytes apart, from its end where they are negative. The loop has its dst_stride.
    std::int64_t index_bytes = 0;
    std::int64_t length = 0;
    std::int64_t stride = 0;

    bool given() const { return index_bytes != 0; }
    bool pads() const { return src.size() < dst.size(); }
};

// `extent` steps. Step k lies at k * stride bytes, or at table->src[k] / table->dst[k] where there
// is a table.
struct Loop {
    std::int64_t extent;
    std::int64_t src_stride = 0;
    std::int64_t dst_stride = 0;
    std::shared_ptr<const OffsetTable> table = nullptr;
};

// Copies `itemsize` bytes per iteration from the source base to the destination base.
// Loops are in no particular order; the planner chooses one. No two iterations write the same byte.
struct Nest {
    std::vector<Loop> loops;
    std::int64_t src_offset = 0;  // bytes
    std::int64_t dst_offset = 0;  // bytes
    std::int64_t itemsize = 1;  // bytes
};

// Bytes of the source that a nest touches, each counted once: exact where loops of one stride make windows that
// overlap, otherwise at most a few too many.
std::int64_t bytes_read(const Nest& nest);

}  // namespace dnnmove
