// The operations as values: which one, and its parameters as numbers.
#include "calls/operation.hpp"

#include <algorithm>
#include <numeric>

#include "arguments/operand.hpp"
#include "chain/finish.hpp"
#include "chain/step.hpp"
#include "layout/verbose_text.hpp"
#include "ops/common.hpp"
#include "ops/ops.hpp"
#include "runtime/error.hpp"

namespace dnnmove {
namespace {

Dims list(std::span<const std::int64_t> span) { return {span.begin(), span.end()}; }

// The first few of a list of any length.
std::string few(std::span<const std::int64_t> list_of) {
    constexpr std::size_t kFew = 16;
    return by_x(list(list_of.first(std::min(list_of.size(), kFew)))) + (list_of.size() > kFew ? "x..." : "");
}

}  // namespace

Title title_of(Op op, std::span<const std::int64_t> parameters, std::size_t ndim) {
    const auto axis = [&] { return "axis:" + std::to_string(ops::normalize_axis(parameters[0], ndim)); };
    const auto second = [&] { return std::to_string(parameters[1]); };
    switch (op) {
        case Op::shuffle: return {"shuffle", "forward_inference", axis() + " group:" + second()};
        case Op::shuffle_backward: return {"shuffle", "backward_data", axis() + " group:" + second()};
        case Op::shuffle_channels: return {"shuffle_channels", "undef", axis() + " groups:" + second()};
        case Op::transpose: {
            Dims order;
            for (std::size_t k = 0; k < ndim; ++k) {
                const std::size_t from = parameters.empty() ? ndim - 1 - k : ops::normalize_axis(parameters[k], ndim);
                order.push_back(static_cast<std::int64_t>(from));
            }
            return {"transpose", "undef", "input_order:" + by_x(order)};
        }
        case Op::variadic_split: return {"variadic_split", "undef", axis() + " split_lengths:" + few(parameters.subspan(1))};
        case Op::split: return {"split", "undef", axis() + " num_splits:" + second()};
        case Op::broadcast: {
            static constexpr const char* kModes[] = {"numpy", "explicit", "bidirectional"};
            const auto rank = static_cast<std::size_t>(parameters[2]);
            std::string text = std::string("mode:") + kModes[parameters[0]] +
                               " target_shape:" + by_x(list(parameters.subspan(3, rank)));
            if (parameters[1] != 0) text += " axes_mapping:" + by_x(list(parameters.subspan(3 + rank)));
            return {"broadcast", "undef", text};
        }
        case Op::concat: return {"concat", "undef", axis()};
        case Op::stack: return {"stack", "undef", axis()};
    }
    return {};
}

namespace {

// "out" or "out[3]".
std::string out_name(std::size_t i, bool sequence) { return sequence ? "out[" + std::to_string(i) + "]" : "out"; }

Placement place_output(const Dims& shape, const ArrayLayout* out, Dims fresh, std::int64_t itemsize, const std::string& name) {
    if (out == nullptr) return place(shape, std::move(fresh), itemsize);
    if (list(out->shape) != shape) {
        throw ValueError(name + ".shape " + to_string(list(out->shape)) + " must equal the result's, " + to_string(shape));
    }
    if (overlaps_itself(out->shape, out->strides, itemsize)) {
        throw ValueError(name + " has elements that share memory (strides " + to_string(list(out->strides)) +
                         " bytes of shape " + to_string(shape) + "): it cannot be written");
    }
    return place(shape, list(out->strides), itemsize);
}

}  // namespace

std::vector<View> apply(Op op, std::span<const std::int64_t> parameters, const View& data, std::string_view name) {
    switch (op) {
        case Op::shuffle: return {ops::shuffle(data, parameters[0], parameters[1], name)};
        case Op::shuffle_backward: return {ops::shuffle_backward(data, parameters[0], parameters[1], name)};
        case Op::shuffle_channels: return {ops::shuffle_channels(data, parameters[0], parameters[1], name)};
        case Op::transpose: return {ops::transpose(data, list(parameters), name)};
        case Op::variadic_split: return ops::variadic_split(data, parameters[0], list(parameters.subspan(1)), name);
        case Op::split: return ops::split(data, parameters[0], parameters[1], name);
        case Op::broadcast: {
            const auto mode = static_cast<ops::BroadcastMode>(parameters[0]);
            const auto rank = static_cast<std::size_t>(parameters[2]);
            std::optional<Dims> mapping;
            if (parameters[1] != 0) mapping = list(parameters.subspan(3 + rank));
            return {ops::broadcast(data, list(parameters.subspan(3, rank)), mapping, mode, name)};
        }
        case Op::concat:
        case Op::stack: break;
    }
    throw std::logic_error("concat and stack have several inputs");
}

Dims order_of(std::span<const std::int64_t> shape, std::span<const std::int64_t> like, std::int64_t itemsize) {
    Dims dense = dense_strides(list(shape), itemsize);
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return dense;
    std::int64_t total = itemsize;
    std::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        total *= shape[axis];
        if (shape[axis] > 1) axes.push_back(axis);
    }
    std::sort(axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) { return like[a] < like[b]; });
    std::int64_t expected = itemsize;
    for (const std::size_t axis : axes) {
        if (like[axis] != expected) return dense;
        expected *= shape[axis];
    }
    // Strides of length-1 axes mean nothing, but torch reads channels_last from them: keep plausible ones.
    Dims strides = list(like);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (itemsize == 0 || strides[axis] < itemsize || strides[axis] > total || strides[axis] % itemsize != 0) {
            if (std::is_sorted(axes.rbegin(), axes.rend())) return dense;
            strides[axis] = shape[axis] == 1 ? total : strides[axis];
        }
    }
    return strides;
}

void check_size(const Dims& shape, std::int64_t itemsize, std::string_view name) {
    if (shape.size() > static_cast<std::size_t>(kMaxRank)) {
        throw ValueError(std::string(name) + " has " + std::to_string(shape.size()) + " dimensions, but at most " +
                         std::to_string(kMaxRank) + " are possible");
    }
    std::int64_t bytes = std::max<std::int64_t>(itemsize, 1);
    for (const std::int64_t length : shape) {
        if (length > 1 && __builtin_mul_overflow(bytes, length, &bytes)) {
            throw ValueError(std::string(name) + " " + to_string(shape) +
                             " describes an array of more bytes than 63 bits can count");
        }
    }
}

std::shared_ptr<const CallPlan> plan_operation(Op op, std::span<const std::int64_t> parameters, const ArrayLayout& data,
                                               std::int64_t itemsize, const std::vector<ArrayLayout>* outs,
                                               std::string_view name, bool tune) {
    const auto views = apply(op, parameters, View::strided(list(data.shape), list(data.strides), itemsize), name);
    const bool sequence = op == Op::split || op == Op::variadic_split;
    if (outs != nullptr && outs->size() != views.size()) {
        throw ValueError("out must hold " + std::to_string(views.size()) + " arrays, one per part, but holds " +
                         std::to_string(outs->size()));
    }
    std::vector<Placement> outputs;
    std::vector<Transfer> transfers;
    for (std::size_t i = 0; i < views.size(); ++i) {
        const Dims shape = views[i].shape();
        if (op == Op::broadcast) check_size(shape, itemsize, "target_shape");
        const Dims fresh = keeps_memory_order(op) ? order_of(data.shape, data.strides, itemsize)
                                                  : dense_strides(shape, itemsize);
        outputs.push_back(place_output(shape, outs == nullptr ? nullptr : &(*outs)[i], fresh, itemsize, out_name(i, sequence)));
        transfers.push_back({0, static_cast<int>(i), make_nest(views[i], outputs.back().strides)});
    }
    std::vector<Placement> inputs;
    inputs.push_back(place(list(data.shape), list(data.strides), itemsize));
    return std::make_shared<const CallPlan>(title_of(op, parameters, data.shape.size()), std::move(inputs), std::move(outputs),
                                            std::move(transfers), tune);
}

std::shared_ptr<const CallPlan> plan_join(Op op, std::int64_t axis, const std::vector<ArrayLayout>& arrays,
                                          std::int64_t itemsize, const ArrayLayout* out) {
    std::vector<chain::Source> sources;
    std::vector<Placement> inputs;
    for (const ArrayLayout& array : arrays) {
        sources.push_back({list(array.shape), list(array.strides)});
        inputs.push_back(place(sources.back().shape, sources.back().strides, itemsize));
    }
    const chain::StepPtr step = op == Op::stack ? chain::stack(axis) : chain::concat(axis);
    const auto& join = dynamic_cast<const chain::Join&>(*step);
    check_size(join.shape(sources), itemsize, "the shape of the result");
    const chain::Mosaic joined = join.join(sources, itemsize);
    std::vector<Placement> outputs;
    outputs.push_back(place_output(joined.shape(), out, dense_strides(joined.shape(), itemsize), itemsize, "out"));
    std::vector<Transfer> transfers = chain::transfers_of(joined, out == nullptr ? Dims{} : outputs[0].strides, {}, 0, 0);
    return std::make_shared<const CallPlan>(title_of(op, {&axis, 1}, joined.shape().size()), std::move(inputs),
                                            std::move(outputs), std::move(transfers));
}

}  // namespace dnnmove
