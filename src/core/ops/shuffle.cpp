// Shuffle (oneDNN: the size of one group) and ShuffleChannels (OpenVINO: the number of groups).
//
// The axis of length C is a two-digit number (u, v), u in [0, C/G), v in [0, G); swapping the digits
// is the whole operation: dst[u + v*C/G] = src[u*G + v].
#include "ops/common.hpp"

namespace dnnmove::ops {
namespace {

// `axis` (normalized) seen as (length / low, low), halves swapped.
View swap_halves(const View& data, std::size_t axis, std::int64_t low) {
    View result = data;
    if (result.axes[axis].length() == 0) return result;
    const auto halves = factor(data.axes[axis], low);
    if (!halves) throw NotOneView("a shuffle cuts across the digits of axis " + std::to_string(axis));
    result.axes[axis] = fuse(halves->second, halves->first);
    return result;
}

void check_divides(std::string_view argument, std::int64_t value, std::string_view shape, std::size_t axis,
                   std::int64_t length) {
    if (value < 1) {
        throw ValueError(named(argument, value) + " must be at least 1 and divide " + named(shape, axis, length));
    }
    if (length != 0 && length % value != 0) {
        throw ValueError(named(argument, value) + " must divide " + named(shape, axis, length));
    }
}

View shuffle_by(const View& data, std::int64_t axis, std::int64_t group_size, bool backward, std::string_view name) {
    const std::size_t position = normalize_axis(axis, data.ndim());
    const std::int64_t length = data.axes[position].length();
    check_divides("group_size", group_size, name, position, length);
    return swap_halves(data, position, backward ? length / group_size : group_size);
}

}  // namespace

View shuffle(const View& data, std::int64_t axis, std::int64_t group_size, std::string_view name) {
    return shuffle_by(data, axis, group_size, false, name);
}

View shuffle_backward(const View& data, std::int64_t axis, std::int64_t group_size, std::string_view name) {
    return shuffle_by(data, axis, group_size, true, name);
}

View shuffle_channels(const View& data, std::int64_t axis, std::int64_t group, std::string_view name) {
    const std::size_t position = normalize_axis(axis, data.ndim());
    const std::int64_t length = data.axes[position].length();
    check_divides("group", group, name, position, length);
    return swap_halves(data, position, length / group);
}

}  // namespace dnnmove::ops
