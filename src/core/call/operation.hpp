// The operations as values: which one, its parameters as numbers, and the plan of a call of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "call/plan_cache.hpp"
#include "layout/layout.hpp"
#include "view/mosaic.hpp"

namespace dnnmove {

namespace chain {
class Step;
}

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
using Parameters = std::span<const std::int64_t>;

// First in the keys of reorders, which are no eager operation.
inline constexpr std::int64_t kReorderKey = -1;

constexpr bool keeps_memory_order(Op op) {
    return op == Op::shuffle || op == Op::shuffle_backward || op == Op::shuffle_channels;
}

// What an operation of one input makes of `data`. Errors call its shape `name`.
std::vector<view::Mosaic> apply(Op op, Parameters parameters, const view::Mosaic& data, std::string_view name);

// One array of a call: where its elements lie.
struct ArrayLayout {
    std::span<const std::int64_t> shape;
    std::span<const std::int64_t> strides;  // bytes
};

// The plan of one operation on `data`; `outs` are the caller's outputs, or null for new ones.
// Throws ValueError where the parameters or the outputs' shapes are wrong, or an output overlaps
// itself. `name` is what errors call the shape of the data.
std::shared_ptr<const CallPlan> plan_operation(Op op, Parameters parameters, const ArrayLayout& data, std::int64_t itemsize,
                                               const std::vector<ArrayLayout>* outs, std::string_view name, bool tune = false);
// The same for concat and stack, which have several inputs.
std::shared_ptr<const CallPlan> plan_join(Op op, std::int64_t axis, const std::vector<ArrayLayout>& arrays,
                                          std::int64_t itemsize, const ArrayLayout* out);
// The same for a step of chains with one result, called by itself.
std::shared_ptr<const CallPlan> plan_step(const chain::Step& step, const ArrayLayout& data, std::int64_t itemsize,
                                          const ArrayLayout* out);
// The same for a take along `axis` (below data.shape.size()) of `count` places, at least two, whose indices, integers of 4 or 8
// bytes, each call gives, as a second source. Only where takes_listed says so.
std::shared_ptr<const CallPlan> plan_listed_take(const ArrayLayout& data, std::int64_t itemsize, std::size_t axis,
                                                 std::int64_t count, std::int64_t index_bytes, const ArrayLayout* out);
// Is what lies at one place of the axis without gaps on either side, and anything there, and better not known to the plan?
bool takes_listed(const ArrayLayout& data, std::int64_t itemsize, std::size_t axis, std::int64_t count, const ArrayLayout* out);
// The same for a shuffle between two arrays of one blocked layout.
std::shared_ptr<const CallPlan> plan_blocked_shuffle(Op op, Parameters parameters, const Layout& layout, std::string_view name);

}  // namespace dnnmove
