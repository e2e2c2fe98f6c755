// Which two of many arrays share a byte, without a comparison of each with each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "array/overlap.hpp"

namespace dnnmove {

// One of many arrays: its bytes lie in [low, high), as addresses; low == high for an array without bytes.
struct Region {
    Footprint footprint;
    std::int64_t low;
    std::int64_t high;

    static Region of(const Footprint& footprint, const Extent& extent) noexcept;
    // Counts every byte between the lowest and the highest as its own: `extent` counts from `base`.
    static Region solid(const std::byte* base, const Extent& extent) noexcept;
};

// Two arrays that share a byte, by their positions in the lists.
struct SharedBytes {
    std::size_t first;
    std::size_t second;
};

// What a search took, for tests.
struct SearchWork {
    std::size_t pairs = 0;   // that the exact solver compared
    std::size_t pieces = 0;  // that the sweep over interleaved arrays handled
};

// Two of `arrays`, first < second; none of them overlaps itself. Exact where overlap() is, but that the total work is
// bounded: where it runs out, the two that were not compared any longer are named.
std::optional<SharedBytes> find_shared(std::span<const Region> arrays, SearchWork* work = nullptr);

// One of `as` (first) and one of `bs` (second), likewise. Those of one list may share bytes with one another.
std::optional<SharedBytes> find_shared(std::span<const Region> as, std::span<const Region> bs, SearchWork* work = nullptr);

}  // namespace dnnmove
