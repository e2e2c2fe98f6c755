// Whether two strided arrays share a byte, and whether one array meets itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dnnmove {

// One array as memory sees it: lengths in elements, strides and itemsize in bytes.
struct Footprint {
    const std::byte* base;
    std::span<const std::int64_t> shape;
    std::span<const std::int64_t> strides;
    std::int64_t itemsize;
};

// The bytes of an array lie in [base + low, base + high); low == high for an array without bytes.
struct Extent {
    std::int64_t low = 0;
    std::int64_t high = 0;
};
Extent extent_of(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides, std::int64_t itemsize);

// True where some byte belongs to both, and where the bounded search cannot tell. Exact for all
// arrays that slicing, transposing and reshaping produce in practice; never false for an overlap.
bool overlap(const Footprint& a, const Footprint& b);
// The same; adds the nodes that the search visited to `nodes`.
bool overlap(const Footprint& a, const Footprint& b, std::int64_t& nodes);

// True where two different elements of one array share a byte (a stride of 0, sliding windows), and
// where the bounded search cannot tell.
bool overlaps_itself(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides, std::int64_t itemsize);

}  // namespace dnnmove
