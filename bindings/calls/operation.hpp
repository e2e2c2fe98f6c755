// The operations as values: which one, and its parameters as numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "call/plan_cache.hpp"
#include "view/view.hpp"

namespace dnnmove {

// The parameters of each, in order. Part of the cache's keys.
enum class Op : std::int64_t {
    shuffle,           // axis, group_size
    shuffle_backward,  // axis, group_size
    shuffle_channels,  // axis, group
    transpose,         // input_order...
    variadic_split,    // axis, split_lengths...
    split,             // axis, num_splits
    broadcast,         // mode, 1 with a mapping, size of target_shape, target_shape..., axes_mapping...
    concat,            // axis
    stack,             // axis
};

// First in the keys of reorders, which are no eager operation.
inline constexpr std::int64_t kReorderKey = -1;

constexpr bool keeps_memory_order(Op op) {
    return op == Op::shuffle || op == Op::shuffle_backward || op == Op::shuffle_channels;
}

// The views that the results are of `data`. Errors call its shape `name`.
std::vector<View> apply(Op op, std::span<const std::int64_t> parameters, const View& data, std::string_view name);

// Byte strides of a new array of `shape`: those of `like` (an array of the same shape) where they
// are dense in some order of the axes, else C-contiguous.
Dims order_of(std::span<const std::int64_t> shape, std::span<const std::int64_t> like, std::int64_t itemsize);

// ValueError where the bytes of `shape` exceed 63 bits, or its rank NumPy's.
void check_size(const Dims& shape, std::int64_t itemsize, std::string_view name);

// Of a valid operation on data of `ndim` dimensions. (oneDNN's "group" is the size of one.)
Title title_of(Op op, std::span<const std::int64_t> parameters, std::size_t ndim);

// One array of a call: where its elements lie.
struct ArrayLayout {
    std::span<const std::int64_t> shape;
    std::span<const std::int64_t> strides;  // bytes
};

// The plan of one operation on `data`; `outs` are the caller's outputs, or empty for new ones.
// Throws ValueError where the parameters or the outputs' shapes are wrong, or an output overlaps
// itself. `name` is what errors call the shape of the data.
std::shared_ptr<const CallPlan> plan_operation(Op op, std::span<const std::int64_t> parameters, const ArrayLayout& data,
                                               std::int64_t itemsize, const std::vector<ArrayLayout>* outs,
                                               std::string_view name, bool tune = false);

// The same for concat and stack, which have several inputs.
std::shared_ptr<const CallPlan> plan_join(Op op, std::int64_t axis, const std::vector<ArrayLayout>& arrays,
                                          std::int64_t itemsize, const ArrayLayout* out);

}  // namespace dnnmove
