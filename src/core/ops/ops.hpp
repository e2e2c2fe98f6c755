// The operations: each validates its parameters, then maps a view to a view (or views).
//
// Nothing here touches data. `data` may be strided in any way; an axis of several digits (the
// result of an earlier shuffle) is accepted wherever it need not be cut; where it must, NotOneView
// is thrown, which a view of one digit per axis never causes. Errors name the argument,
// its value and what was expected; `name` is what the message calls the shape ("data.shape" in the
// eager functions, "data_desc.dims" in the primitives).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "view/view.hpp"

namespace dnnmove::ops {

inline constexpr std::string_view kDataShape = "data.shape";

// `axis` in [0, ndim); throws AxisError when it is outside [-ndim, ndim).
std::size_t normalize_axis(std::int64_t axis, std::size_t ndim, std::string_view argument = "axis");

// oneDNN Shuffle: view the axis as (C/G, G), transpose to (G, C/G). `group_size` is the size of one
// group, not the number of groups.
View shuffle(const View& data, std::int64_t axis, std::int64_t group_size, std::string_view name = kDataShape);
// The inverse permutation: shuffle with G replaced by C/G.
View shuffle_backward(const View& data, std::int64_t axis, std::int64_t group_size, std::string_view name = "diff_dst.shape");
// OpenVINO ShuffleChannels-1: `group` is the number of groups; shuffle with group_size = C/group.
View shuffle_channels(const View& data, std::int64_t axis, std::int64_t group, std::string_view name = kDataShape);
// The axes that `order` names, in [0, ndim); negative entries count from the end. Throws ValueError where it is no
// permutation of the axes of `shape`; `argument` is what the message calls the order.
std::vector<std::size_t> permutation(std::string_view argument, const Dims& order, const Dims& shape, std::string_view name);
// The axes that a transpose takes: as above, and an empty order reverses them.
std::vector<std::size_t> transposition(const Dims& input_order, const Dims& shape, std::string_view name = kDataShape);
// OpenVINO Transpose-1, with `input_order` as above.
View transpose(const View& data, const Dims& input_order, std::string_view name = kDataShape);
// The lengths with a -1 replaced by what is left of `total`, the length of `axis`.
Dims resolve_split_lengths(std::int64_t total, std::size_t axis, const Dims& split_lengths, std::string_view name = kDataShape);
// OpenVINO VariadicSplit-1; at most one length of -1 takes what is left.
std::vector<View> variadic_split(const View& data, std::int64_t axis, const Dims& split_lengths,
                                 std::string_view name = kDataShape);
// OpenVINO Split-1.
std::vector<View> split(const View& data, std::int64_t axis, std::int64_t num_splits, std::string_view name = kDataShape);

enum class BroadcastMode { numpy, explicit_, bidirectional };
// Case-insensitive; throws ValueError that lists the three.
BroadcastMode parse_broadcast_mode(std::string_view mode);
// OpenVINO Broadcast-1, and Broadcast-3's bidirectional mode. `axes_mapping`: for explicit only.
View broadcast(const View& data, const Dims& target_shape, const std::optional<Dims>& axes_mapping, BroadcastMode mode,
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
