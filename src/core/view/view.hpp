// A view: a shape and byte strides over somebody else's bytes, every axis a mixed-radix number.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "view/dims.hpp"

namespace dnnmove {

// One digit of an axis: `length` steps, each `stride` bytes apart (0 and negative allowed).
struct Digit {
    std::int64_t length;
    std::int64_t stride;
    bool operator==(const Digit&) const = default;
};

// An axis is a mixed-radix number of digits, most significant first. An ordinary strided axis has
// one digit; splitting an axis of 6 into (2, 3) and swapping the halves, as a shuffle does, leaves
// one axis of two digits that no single stride could describe. No digit at all means length 1.
struct Axis {
    std::vector<Digit> digits;

    std::int64_t length() const;
    bool operator==(const Axis&) const = default;
};

// The elements of an array, without the array: `offset` and strides count bytes from a base
// pointer that the view does not hold. Value type, thread-compatible.
struct View {
    std::vector<Axis> axes;
    std::int64_t offset = 0;
    std::int64_t itemsize = 1;  // bytes

    // One digit per axis. `shape` and `strides` (bytes) have the same size.
    static View strided(const Dims& shape, const Dims& strides, std::int64_t itemsize);
    // Row-major over exactly the bytes of the array.
    static View dense(const Dims& shape, std::int64_t itemsize);

    std::size_t ndim() const { return axes.size(); }
    Dims shape() const;
    std::int64_t element_count() const { return dnnmove::element_count(shape()); }
};

// The axis cut in two: `second` has length `low_length`, and first * low_length + second is the
// axis. Empty where a digit straddles the cut. `low_length` must divide the axis.
std::optional<std::pair<Axis, Axis>> factor(const Axis& axis, std::int64_t low_length);

// The high axis followed by the low one as one axis; adjacent digits that one stride describes merge.
Axis fuse(const Axis& high, const Axis& low);

// Elements [start, start + length) of `axis`. Empty where no single box of digits holds them.
std::optional<View> narrow(const View& view, std::size_t axis, std::int64_t start, std::int64_t length);

}  // namespace dnnmove
