// Shuffle (oneDNN: the size of one group) and ShuffleChannels (OpenVINO: the number of groups).
//
// The axis of length C is a two-digit number (u, v), u in [0, C/G), v in [0, G); swapping the digits
// is the whole operation: dst[u + v*C/G] = src[u*G + v].
#include "ops/common.hpp"

namespace dnnmove::ops {
namespace {

// The axis, whose length `value` must divide; and the length divided by it.
Halves divided(std::string_view argument, std::int64_t value, const Dims& shape, std::int64_t axis, std::string_view name) {
    const std::size_t position = normalize_axis(axis, shape.size());
    const std::int64_t length = shape[position];
    if (value < 1) {
        throw ValueError(named(argument, value) + " must be at least 1 and divide " + named(name, position, length));
    }
    if (length != 0 && length % value != 0) {
        throw ValueError(named(argument, value) + " must divide " + named(name, position, length));
    }
    return {position, length / value};
}

}  // namespace

Halves shuffle(const Dims& shape, std::int64_t axis, std::int64_t group_size, std::string_view name) {
    return {divided("group_size", group_size, shape, axis, name).axis, group_size};
}

Halves shuffle_backward(const Dims& shape, std::int64_t axis, std::int64_t group_size, std::string_view name) {
    return divided("group_size", group_size, shape, axis, name);
}

Halves shuffle_channels(const Dims& shape, std::int64_t axis, std::int64_t group, std::string_view name) {
    return divided("group", group, shape, axis, name);
}

}  // namespace dnnmove::ops
