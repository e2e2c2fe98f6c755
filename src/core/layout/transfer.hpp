// The copies that a reorder, or a shuffle, of a layout is made of: the input of a Program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "layout/layout.hpp"
#include "plan/transfer.hpp"

namespace dnnmove {

// All offsets count from element (0, 0, ...) of source 0 and destination 0. Block padding of the
// destination is zeroed by transfers from kZeroSource; gaps between its strides are left alone. The
// destination must not overlap itself. Empty layouts give no transfers.

// `src` and `dst` have the same dims, and the same itemsize without a sink. `axis`: whose positions choose what the
// sink multiplies by.
std::vector<Transfer> reorder_transfers(const Layout& src, const Layout& dst, const std::shared_ptr<const Sink>& sink = nullptr,
                                        std::optional<std::size_t> axis = {});

// dst[u + v*C/G] = src[u*G + v] along `axis` of length C, both in `layout`; G divides C, C > 0.
std::vector<Transfer> shuffle_transfers(const Layout& layout, std::size_t axis, std::int64_t group_size);

// Only the zeroes of the padding, but for that of axis `done`, which is not zeroed elsewhere than in other
// axes' padding.
inline constexpr std::size_t kNoAxis = static_cast<std::size_t>(-1);
std::vector<Transfer> padding_transfers(const Layout& layout, std::size_t done = kNoAxis);

}  // namespace dnnmove
