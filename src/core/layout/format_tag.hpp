// Format tags: oneDNN's names of memory layouts ("nchw", "acdb", "nChw16c", "OIhw4i16o4i").
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "array/dims.hpp"

namespace dnnmove {

// What a tag says. Axes are numbered by their canonical letter: a is 0, b is 1.
struct FormatTag {
    std::vector<std::size_t> order;  // the axes, outermost in memory first
    Dims inner_blocks;               // lengths of the inner blocks, outermost first
    Dims inner_indices;              // the axis of each inner block
    std::string canonical;           // the tag in canonical letters

    std::size_t ndim() const { return order.size(); }
};

// Reads a canonical tag or an alias of one; case matters. Throws ValueError for anything else, "any"
// and "undef" included. Whether oneDNN itself has the tag is not checked.
FormatTag parse_format_tag(std::string_view tag);

}  // namespace dnnmove
