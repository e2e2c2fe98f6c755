// A sink: what becomes of elements on their way out, after they were moved and before they are stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/contract.hpp"

namespace dnnmove {

// Neighbouring words of an element that have a byte order: `count` of `bytes` bytes each, from `offset` on.
struct Words {
    std::int64_t offset;
    std::int64_t bytes;
    std::int64_t count;
    bool operator==(const Words&) const = default;
};

// First the byte order of some words is turned, then the numbers are converted; either may be absent, or both.
struct Sink {
    struct Conversion {
        Number from;
        Number to;
    };
    std::int64_t src_bytes = 1;  // of an element
    std::int64_t dst_bytes = 1;
    std::vector<Words> swapped;
    std::optional<Conversion> conversion;
    // One for all numbers, or one for each position along an axis; as many of both, or none of either.
    std::vector<float> scale;
    std::vector<float> shift;

    // Does the position of an element decide what becomes of it?
    bool varies() const { return scale.size() > 1; }
    // Or do elements stay as they are?
    bool changes() const { return !swapped.empty() || conversion.has_value(); }
    // "u8 to f32 with scale and shift"
    std::string describe() const;
};

// "f32"
const char* name_of(Number number);

}  // namespace dnnmove
