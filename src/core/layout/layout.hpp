// A layout: how the elements of a tensor lie in memory, blocked oneDNN formats included.
//
// This is the package's own type; it is lowered to dnnl::memory::desc wherever oneDNN is asked.
// It also holds what oneDNN's descriptor cannot: negative strides, rank 0, any element size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "array/dims.hpp"
#include "layout/axis.hpp"
#include "layout/format_tag.hpp"

namespace dnnmove {

// Value type. Element (i0, i1, ...) lies at the sum of the axes' offsets, in bytes from element
// (0, 0, ...). Where axis a is cut into blocks, its index is a mixed-radix number: the outermost digit
// steps by strides[a], the inner blocks of all axes follow each other densely, the last one fastest.
struct Layout {
    Dims dims;           // logical lengths in elements
    Dims padded_dims;    // dims, rounded up to whole blocks
    Dims strides;        // bytes per step of an axis (of a whole block, where the axis is blocked)
    Dims inner_blocks;   // lengths of the inner blocks, outermost first; empty: a plain layout
    Dims inner_indices;  // the axis that each inner block belongs to
    std::int64_t itemsize = 1;  // bytes
    std::string tag;     // the canonical format tag of a blocked layout that oneDNN has; empty for plain ones
    // A part of a larger tensor lies in that one's buffer: how many bytes are before the part's first, and the
    // buffer's size, 0 where it is the layout's own.
    std::int64_t offset = 0;
    std::int64_t buffer_size = 0;

    // Row-major without gaps. All factories throw ValueError for negative lengths and for sizes
    // beyond 63 bits.
    static Layout dense(const Dims& dims, std::int64_t itemsize);
    // `byte_strides` has one entry per dimension; any value.
    static Layout strided(const Dims& dims, const Dims& byte_strides, std::int64_t itemsize);
    // No gaps; blocked axes are padded. The tag must have one letter per dimension.
    static Layout tagged(const Dims& dims, const FormatTag& tag, std::int64_t itemsize);

    std::size_t ndim() const { return dims.size(); }
    bool blocked() const { return !inner_blocks.empty(); }
    bool empty() const;
    bool padded() const { return padded_dims != dims; }
    // Elements per block of `axis`; 1 where it is not blocked.
    std::int64_t block(std::size_t axis) const;
    // The axis over its padded length, most significant digit first.
    Axis axis(std::size_t axis) const;
    // Bytes from element (0, 0, ...) to the first byte of memory; 0 or, with negative strides, less.
    std::int64_t lowest() const;
    // Bytes from the buffer's first byte to element (0, 0, ...).
    std::int64_t origin() const { return offset - lowest(); }
    // Bytes from the first byte of memory to the end of the last, padding included; 0 when empty.
    std::int64_t span() const;
    // Bytes that a buffer for this layout must have, as oneDNN counts them: padding included, and the
    // gap behind the last row of a pitched layout too. At least span(); of a part, the whole tensor's.
    std::int64_t size() const;
    // No gap between the first byte and the last (block padding is no gap), no byte used twice.
    bool is_dense() const;
    // All digits of all axes but those of length 1: the layout as a strided array over the padded dims.
    struct Steps {
        Dims lengths;  // elements
        Dims strides;  // bytes
    };
    Steps steps() const;
    // Whether two different elements share a byte. Exact, except that an intricate overlap that the
    // bounded search cannot exclude counts as one.
    bool self_overlaps() const;

    // Equal where every element lies at the same place of the buffer: strides of axes with one step, and all
    // strides of empty layouts, do not matter. `tag` and `buffer_size` do not either.
    bool operator==(const Layout& other) const;
    std::size_t hash() const;
};

}  // namespace dnnmove
