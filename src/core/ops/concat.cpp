// Concatenation: the inverse, and the backward, of VariadicSplit.
#include "ops/common.hpp"

namespace dnnmove::ops {

Concatenation concat(const std::vector<Dims>& shapes, std::int64_t axis) {
    if (shapes.empty()) throw ValueError("arrays must hold at least one array, but is empty");
    Concatenation result;
    result.shape = shapes.front();
    result.axis = normalize_axis(axis, result.shape.size());
    std::int64_t total = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        Dims expected = result.shape;
        if (shapes[i].size() == expected.size()) expected[result.axis] = shapes[i][result.axis];
        if (shapes[i] != expected) {
            throw ValueError("arrays[" + std::to_string(i) + "].shape " + to_string(shapes[i]) +
                             " must equal arrays[0].shape " + to_string(shapes.front()) + " except along axis " +
                             std::to_string(result.axis));
        }
        result.starts.push_back(total);
        total += shapes[i][result.axis];
    }
    result.shape[result.axis] = total;
    return result;
}

}  // namespace dnnmove::ops
