// An axis of a layout: a mixed-radix number, whose digits are the whole blocks and the places in them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace dnnmove {

// One digit of an axis: `length` steps, each `stride` bytes apart (0 and negative allowed).
struct Digit {
    std::int64_t length;
    std::int64_t stride;
    bool operator==(const Digit&) const = default;
};

// Digits, most significant first. A plain axis has one; splitting an axis of 6 into (2, 3) and swapping the
// halves, as a shuffle does, leaves one axis of two digits that no single stride could describe. No digit at all means
// length 1.
struct Axis {
    std::vector<Digit> digits;

    std::int64_t length() const;
    bool operator==(const Axis&) const = default;
};

// The axis cut in two: `second` has length `low_length`, and first * low_length + second is the
// axis. Empty where a digit straddles the cut. `low_length` must divide the axis.
std::optional<std::pair<Axis, Axis>> factor(const Axis& axis, std::int64_t low_length);

// The high axis followed by the low one as one axis; adjacent digits that one stride describes merge.
Axis fuse(const Axis& high, const Axis& low);

}  // namespace dnnmove
