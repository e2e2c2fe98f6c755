// Broadcast-1 (numpy, explicit) and Broadcast-3's bidirectional mode.
#include <algorithm>
#include <cctype>

#include "ops/common.hpp"

namespace dnnmove::ops {
namespace {

// What the error messages of one call share.
struct Call {
    const Dims& shape;  // of the data
    const Dims& target_shape;
    std::string_view name;

    [[noreturn]] void fail(const std::string& why) const {
        throw ValueError("target_shape " + to_string(target_shape) + " does not fit " + std::string(name) + " " +
                         to_string(shape) + ": " + why);
    }
};

void check_axes_mapping(const Call& call, const Dims& mapping) {
    const auto rank = static_cast<std::int64_t>(call.target_shape.size());
    const std::string text = "axes_mapping " + to_string(mapping);
    if (mapping.size() != call.shape.size()) {
        throw ValueError(text + " must have one entry per dimension of " + std::string(call.name) + " " +
                         to_string(call.shape) + ", but has " + std::to_string(mapping.size()));
    }
    for (std::size_t i = 0; i < mapping.size(); ++i) {
        if (mapping[i] < 0 || mapping[i] >= rank) {
            throw ValueError(text + " must hold axes of target_shape, integers of [0, " + std::to_string(rank) +
                             "), but holds " + std::to_string(mapping[i]));
        }
        if (i > 0 && mapping[i] <= mapping[i - 1]) {
            throw ValueError(text + " must be strictly increasing: Broadcast does not transpose");
        }
    }
}

}  // namespace

BroadcastMode parse_broadcast_mode(std::string_view mode) {
    std::string lower(mode);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    if (lower == "numpy") return BroadcastMode::numpy;
    if (lower == "explicit") return BroadcastMode::explicit_;
    if (lower == "bidirectional") return BroadcastMode::bidirectional;
    throw ValueError("mode ('" + std::string(mode) + "') must be 'numpy', 'explicit' or 'bidirectional'");
}

const char* name_of(BroadcastMode mode) {
    switch (mode) {
        case BroadcastMode::explicit_: return "explicit";
        case BroadcastMode::bidirectional: return "bidirectional";
        default: return "numpy";
    }
}

Repetition broadcast(const Dims& shape, const Dims& target_shape, const std::optional<Dims>& axes_mapping, BroadcastMode mode,
                     std::string_view name) {
    const Call call{shape, target_shape, name};
    for (const std::int64_t length : target_shape) {
        if (length < 0) {
            throw ValueError("target_shape " + to_string(target_shape) + " must hold lengths of at least 0, but holds " +
                             std::to_string(length));
        }
    }
    if ((mode == BroadcastMode::explicit_) != axes_mapping.has_value()) {
        throw ValueError(axes_mapping ? "axes_mapping " + to_string(*axes_mapping) + " must be given with mode='explicit' only"
                                      : "axes_mapping (None) must be given with mode='explicit'");
    }
    const std::size_t ndim = shape.size();
    const std::size_t rank = mode == BroadcastMode::bidirectional ? std::max(target_shape.size(), ndim) : target_shape.size();
    if (rank < ndim) {
        call.fail("the data has more dimensions (" + std::to_string(ndim) + ") than the target (" + std::to_string(rank) + ")");
    }
    if (mode == BroadcastMode::explicit_) check_axes_mapping(call, *axes_mapping);

    // Lay the data's axes onto the target's, everything else a 1.
    Repetition result{Dims(rank, 1), std::vector<std::size_t>(ndim)};
    for (std::size_t i = 0; i < ndim; ++i) {
        result.to[i] = mode == BroadcastMode::explicit_ ? static_cast<std::size_t>((*axes_mapping)[i]) : rank - ndim + i;
        result.shape[result.to[i]] = shape[i];
    }
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const std::size_t pad = rank - target_shape.size();
        const std::int64_t target = axis < pad ? 1 : target_shape[axis - pad];
        std::int64_t& length = result.shape[axis];
        if (length == target || (target == 1 && mode == BroadcastMode::bidirectional)) continue;
        if (length != 1) {
            call.fail("length " + std::to_string(length) + " cannot become " + std::to_string(target) + " on axis " +
                      std::to_string(axis) + " of the target");
        }
        length = target;
    }
    return result;
}

}  // namespace dnnmove::ops
