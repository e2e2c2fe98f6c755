// Transpose-1: permutes the axes; an empty order reverses them.
#include <algorithm>

#include "ops/common.hpp"

namespace dnnmove::ops {

View transpose(const View& data, const Dims& input_order, std::string_view name) {
    View result = data;
    if (input_order.empty()) {
        std::reverse(result.axes.begin(), result.axes.end());
        return result;
    }
    const auto ndim = static_cast<std::int64_t>(data.ndim());
    const auto fail = [&](const std::string& why) {
        throw ValueError("input_order " + to_string(input_order) + " must hold every integer of [0, " +
                         std::to_string(ndim) + ") once, the axes of " + std::string(name) + " " +
                         to_string(data.shape()) + ": " + why);
    };
    if (input_order.size() != data.ndim()) fail("it has " + std::to_string(input_order.size()) + " entries");
    std::vector<bool> seen(data.ndim());
    for (std::size_t axis = 0; axis < data.ndim(); ++axis) {
        const std::int64_t from = input_order[axis];
        if (from < 0 || from >= ndim) fail(std::to_string(from) + " is out of range");
        if (seen[static_cast<std::size_t>(from)]) fail(std::to_string(from) + " occurs twice");
        seen[static_cast<std::size_t>(from)] = true;
        result.axes[axis] = data.axes[static_cast<std::size_t>(from)];
    }
    return result;
}

}  // namespace dnnmove::ops
