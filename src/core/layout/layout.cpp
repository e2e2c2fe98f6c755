// A layout: how the elements of a tensor lie in memory, blocked oneDNN formats included.
#include "layout/layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "array/overlap.hpp"
#include "runtime/error.hpp"

namespace dnnmove {
namespace {

constexpr auto kMaxBytes = static_cast<__int128>(std::numeric_limits<std::int64_t>::max());

void check_lengths(const Dims& dims) {
    for (const std::int64_t length : dims) {
        if (length < 0) throw ValueError("dims " + to_string(dims) + " must not hold negative lengths");
    }
}

// Every step that the layout takes: extent and stride in bytes of each digit of each axis.
std::vector<Digit> digits(const Layout& layout) {
    std::vector<Digit> all;
    for (std::size_t axis = 0; axis < layout.ndim(); ++axis) {
        for (const Digit& digit : layout.axis(axis).digits) {
            if (digit.length != 1) all.push_back(digit);
        }
    }
    return all;
}

void check_size(const Layout& layout) {
    if (layout.empty()) return;
    __int128 low = 0;
    __int128 high = layout.itemsize;
    __int128 size = 0;
    for (std::size_t axis = 0; axis < layout.ndim(); ++axis) {
        const auto steps = static_cast<__int128>(layout.padded_dims[axis] / layout.block(axis));
        const __int128 reach = (steps - 1) * layout.strides[axis];
        (reach < 0 ? low : high) += reach;
        const auto stride = static_cast<__int128>(layout.strides[axis]);
        if (steps > 1) size = std::max(size, steps * (stride < 0 ? -stride : stride));
        if (high - low > kMaxBytes || size > kMaxBytes) {
            throw ValueError("dims " + to_string(layout.dims) + " with strides " + to_string(layout.strides) +
                             " (bytes) span more bytes than 63 bits can count");
        }
    }
}

}  // namespace

Layout Layout::strided(const Dims& dims, const Dims& byte_strides, std::int64_t itemsize) {
    check_lengths(dims);
    element_count(dims);
    if (byte_strides.size() != dims.size()) {
        throw ValueError("strides " + to_string(byte_strides) + " must have one entry for each of dims " + to_string(dims));
    }
    Layout layout;
    layout.dims = layout.padded_dims = dims;
    layout.strides = byte_strides;
    layout.itemsize = itemsize;
    check_size(layout);
    return layout;
}

Layout Layout::dense(const Dims& dims, std::int64_t itemsize) {
    FormatTag row_major;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) row_major.order.push_back(axis);
    return tagged(dims, row_major, itemsize);
}

Layout Layout::tagged(const Dims& dims, const FormatTag& tag, std::int64_t itemsize) {
    check_lengths(dims);
    Layout layout;
    layout.dims = layout.padded_dims = dims;
    layout.strides.resize(dims.size());
    layout.inner_blocks = tag.inner_blocks;
    layout.inner_indices = tag.inner_indices;
    layout.itemsize = itemsize;
    if (layout.blocked()) layout.tag = tag.canonical;
    __int128 stride = itemsize;
    for (const std::int64_t block : tag.inner_blocks) stride *= block;
    const bool empty = layout.empty();
    for (auto axis = tag.order.rbegin(); axis != tag.order.rend(); ++axis) {
        const std::int64_t block = layout.block(*axis);
        const std::int64_t blocks = dims[*axis] / block + (dims[*axis] % block != 0);
        layout.strides[*axis] = static_cast<std::int64_t>(stride);
        if (__builtin_mul_overflow(blocks, block, &layout.padded_dims[*axis])) stride = kMaxBytes + 1;
        if (!empty || blocks > 0) stride *= std::max<std::int64_t>(blocks, 1);
        if (stride > kMaxBytes) {
            if (empty) {
                stride = itemsize;  // no byte is ever addressed
                continue;
            }
            throw ValueError("dims " + to_string(dims) + " need more bytes than 63 bits can count");
        }
    }
    return layout;
}

bool Layout::empty() const { return std::find(dims.begin(), dims.end(), 0) != dims.end(); }

std::int64_t Layout::block(std::size_t axis) const {
    std::int64_t block = 1;
    for (std::size_t k = 0; k < inner_blocks.size(); ++k) {
        if (inner_indices[k] == static_cast<std::int64_t>(axis)) block *= inner_blocks[k];
    }
    return block;
}

Axis Layout::axis(std::size_t axis) const {
    Axis result{{Digit{padded_dims[axis] / block(axis), strides[axis]}}};
    std::int64_t stride = itemsize;
    for (const std::int64_t block : inner_blocks) stride *= block;
    for (std::size_t k = 0; k < inner_blocks.size(); ++k) {
        stride /= inner_blocks[k];
        if (inner_indices[k] == static_cast<std::int64_t>(axis)) result.digits.push_back(Digit{inner_blocks[k], stride});
    }
    return result;
}

std::int64_t Layout::lowest() const {
    if (empty()) return 0;
    std::int64_t low = 0;
    for (const Digit& digit : digits(*this)) low += std::min<std::int64_t>(0, (digit.length - 1) * digit.stride);
    return low;
}

std::int64_t Layout::span() const {
    if (empty()) return 0;
    std::int64_t bytes = itemsize;
    for (const Digit& digit : digits(*this)) bytes += (digit.length - 1) * std::abs(digit.stride);
    return bytes;
}

std::int64_t Layout::size() const {
    if (buffer_size != 0) return buffer_size;
    std::int64_t bytes = span();
    if (bytes == 0) return 0;
    for (std::size_t axis = 0; axis < ndim(); ++axis) {
        const std::int64_t steps = padded_dims[axis] / block(axis);
        if (steps > 1) bytes = std::max(bytes, steps * std::abs(strides[axis]));
    }
    return bytes;
}

bool Layout::is_dense() const {
    std::int64_t bytes = 0;  // more than 63 bits' where many elements share them
    return empty() ||
           (!__builtin_mul_overflow(element_count(padded_dims), itemsize, &bytes) && span() == bytes && !self_overlaps());
}

bool Layout::self_overlaps() const {
    if (empty()) return false;
    const Steps all = steps();
    return overlaps_itself(all.lengths, all.strides, itemsize);
}

Layout::Steps Layout::steps() const {
    Steps all;
    for (const Digit& digit : digits(*this)) {
        all.lengths.push_back(digit.length);
        all.strides.push_back(digit.stride);
    }
    return all;
}

bool Layout::operator==(const Layout& other) const {
    if (dims != other.dims || itemsize != other.itemsize || inner_blocks != other.inner_blocks ||
        inner_indices != other.inner_indices) {
        return false;
    }
    if (empty()) return true;
    if (offset != other.offset) return false;
    for (std::size_t axis = 0; axis < ndim(); ++axis) {
        if (padded_dims[axis] > block(axis) && strides[axis] != other.strides[axis]) return false;
    }
    return true;
}

std::size_t Layout::hash() const {
    std::size_t value = static_cast<std::size_t>(itemsize);
    const auto mix = [&value](std::int64_t number) {
        value ^= static_cast<std::size_t>(number) + 0x9e3779b97f4a7c15u + (value << 6) + (value >> 2);
    };
    for (const std::int64_t length : dims) mix(length);
    for (const std::int64_t length : inner_blocks) mix(length);
    for (const std::int64_t index : inner_indices) mix(index);
    if (empty()) return value;
    mix(offset);
    for (std::size_t axis = 0; axis < ndim(); ++axis) {
        if (padded_dims[axis] > block(axis)) mix(strides[axis]);
    }
    return value;
}

}  // namespace dnnmove
