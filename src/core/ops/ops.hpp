// The operations: each checks its parameters against the shape of its data, and says what becomes of the axes.
//
// Nothing here touches data or strides: `view::Mosaic` does what these say, for one call and in chains. Errors name
// the argument, its value and what was expected; `name` is what the message calls the shape ("data.shape" in the eager
// functions, "data_desc.dims" in the primitives).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "array/dims.hpp"

namespace dnnmove::ops {

inline constexpr std::string_view kDataShape = "data.shape";

// `axis` in [0, ndim); throws AxisError when it is outside [-ndim, ndim).
std::size_t normalize_axis(std::int64_t axis, std::size_t ndim, std::string_view argument = "axis");

// An axis of length C seen as (C / low, low), with the two swapped.
struct Halves {
    std::size_t axis;
    std::int64_t low;
};
// oneDNN Shuffle: view the axis as (C/G, G), transpose to (G, C/G). `group_size` is the size of one
// group, not the number of groups.
Halves shuffle(const Dims& shape, std::int64_t axis, std::int64_t group_size, std::string_view name = kDataShape);
// The inverse permutation: shuffle with G replaced by C/G.
Halves shuffle_backward(const Dims& shape, std::int64_t axis, std::int64_t group_size,
                        std::string_view name = "diff_dst.shape");
// OpenVINO ShuffleChannels-1: `group` is the number of groups; shuffle with group_size = C/group.
Halves shuffle_channels(const Dims& shape, std::int64_t axis, std::int64_t group, std::string_view name = kDataShape);

// The axes that `order` names, in [0, ndim); negative entries count from the end. Throws ValueError where it is no
// permutation of the axes of `shape`; `argument` is what the message calls the order.
std::vector<std::size_t> permutation(std::string_view argument, const Dims& order, const Dims& shape, std::string_view name);
// OpenVINO Transpose-1: the axes in the order of the result's; as above, and an empty order reverses them.
std::vector<std::size_t> transpose(const Dims& shape, const Dims& input_order, std::string_view name = kDataShape);

// Consecutive ranges of an axis.
struct Parts {
    std::size_t axis;
    Dims lengths;
};
// OpenVINO VariadicSplit-1; at most one length of -1 takes what is left.
Parts variadic_split(const Dims& shape, std::int64_t axis, const Dims& split_lengths, std::string_view name = kDataShape);
// OpenVINO Split-1.
Parts split(const Dims& shape, std::int64_t axis, std::int64_t num_splits, std::string_view name = kDataShape);

enum class BroadcastMode { numpy, explicit_, bidirectional };
// Case-insensitive; throws ValueError that lists the three.
BroadcastMode parse_broadcast_mode(std::string_view mode);
const char* name_of(BroadcastMode mode);
// The shape of the result; axis i of the data becomes axis to[i] of it. What the data lacks repeats.
struct Repetition {
    Dims shape;
    std::vector<std::size_t> to;
};
// OpenVINO Broadcast-1, and Broadcast-3's bidirectional mode. `axes_mapping`: for explicit only.
Repetition broadcast(const Dims& shape, const Dims& target_shape, const std::optional<Dims>& axes_mapping, BroadcastMode mode,
                     std::string_view name = kDataShape);

// Where each input of a concatenation goes: the shape of the result and, for each input, the
// position along `axis` (normalized) at which it starts.
struct Concatenation {
    Dims shape;
    std::size_t axis;
    Dims starts;
};
Concatenation concat(const std::vector<Dims>& shapes, std::int64_t axis);

}  // namespace dnnmove::ops
