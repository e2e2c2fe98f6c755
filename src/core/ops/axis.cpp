// Normalises axis arguments.
#include "ops/common.hpp"

namespace dnnmove::ops {

std::size_t normalize_axis(std::int64_t axis, std::size_t ndim, std::string_view argument) {
    const auto rank = static_cast<std::int64_t>(ndim);
    if (axis < -rank || axis >= rank) {
        throw AxisError(named(argument, axis) + " must lie in [" + std::to_string(-rank) + ", " + std::to_string(rank) +
                        "), since data has " + std::to_string(rank) + " dimensions");
    }
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

}  // namespace dnnmove::ops
