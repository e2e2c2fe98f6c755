// A layout as oneDNN's verbose output writes it.
#pragma once

#include <string>

#include "layout/layout.hpp"

namespace dnnmove {

// What follows the data type: ":p:blocked:aBcd16b::f0" for a blocked layout with padding, "::blocked:acdb::f0" for
// channels last, "::blocked:ab:5000x1:f0" for a pitched one. Strides, in elements, only where there are gaps, or
// elements that share bytes or go backwards ("20Bx5B": bytes, where they are not all whole elements). The tag is "*"
// beyond 26 axes, which letters cannot name.
std::string verbose_text(const Layout& layout);

// "32x64x56x56"; empty for rank 0.
std::string by_x(const Dims& dims);

}  // namespace dnnmove
