// Transpose-1: permutes the axes; an empty order reverses them.
#include <numeric>

#include "ops/common.hpp"

namespace dnnmove::ops {

std::vector<std::size_t> permutation(std::string_view argument, const Dims& order, const Dims& shape, std::string_view name) {
    std::vector<std::size_t> axes(shape.size());
    const auto ndim = static_cast<std::int64_t>(shape.size());
    const auto fail = [&](const std::string& why) {
        throw ValueError(std::string(argument) + " " + to_string(order) + " must hold every integer of [0, " +
                         std::to_string(ndim) + ") once, or a negative one that counts from the end, as the axes of " +
                         std::string(name) + " " + to_string(shape) + ": " + why);
    };
    if (order.size() != shape.size()) fail("it has " + std::to_string(order.size()) + " entries");
    std::vector<bool> seen(shape.size());
    for (std::size_t k = 0; k < shape.size(); ++k) {
        const std::int64_t entry = order[k];
        if (entry < -ndim || entry >= ndim) fail(std::to_string(entry) + " is out of range");
        const auto axis = static_cast<std::size_t>(entry < 0 ? entry + ndim : entry);
        if (seen[axis]) fail("axis " + std::to_string(axis) + " occurs twice");
        seen[axis] = true;
        axes[k] = axis;
    }
    return axes;
}

std::vector<std::size_t> transpose(const Dims& shape, const Dims& input_order, std::string_view name) {
    if (!input_order.empty()) return permutation("input_order", input_order, shape, name);
    std::vector<std::size_t> axes(shape.size());
    std::iota(axes.rbegin(), axes.rend(), std::size_t{0});
    return axes;
}

}  // namespace dnnmove::ops
