// New layouts of the same memory: what oneDNN's memory descriptors derive from one another.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "layout/layout.hpp"

namespace dnnmove {

// All of these take plain and blocked layouts, move no byte, and keep offset and size of the buffer. They throw
// ValueError that names the argument, where oneDNN reports invalid arguments or no implementation.

// Axis k becomes axis permutation[k] (oneDNN's direction: the inverse of a transpose's order). Negative entries count
// from the end.
Layout permute_axes(const Layout& layout, const Dims& permutation);

// Other logical dims over the same elements in the same order. Axes of length 1 come and go, one axis becomes several,
// and several become one where they lie densely behind one another; no axis that changes is padded or blocked.
Layout reshape(const Layout& layout, const Dims& dims);

// The part [offsets, offsets + dims) of the tensor. In blocked layouts it begins at whole blocks, and ends at whole
// blocks or with the tensor.
Layout submemory(const Layout& layout, const Dims& dims, const Dims& offsets);

// The canonical format tag of a layout without gaps between its elements or blocks ("abcd", "aBcd16b"); empty for any
// other, and for more than 12 axes or none.
std::string canonical_tag(const Layout& layout);

}  // namespace dnnmove
