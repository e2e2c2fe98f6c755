// The operations as values: which one, its parameters as numbers, and the plan of a call of it.
#include "call/operation.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "array/overlap.hpp"
#include "chain/finish.hpp"
#include "chain/step.hpp"
#include "layout/transfer.hpp"
#include "layout/verbose_text.hpp"
#include "ops/ops.hpp"
#include "runtime/error.hpp"

namespace dnnmove {
namespace {

using view::Mosaic;

Dims list(std::span<const std::int64_t> span) { return {span.begin(), span.end()}; }

// The first ones of a list of any length, so many at most.
std::string few(std::span<const std::int64_t> all, std::size_t most) {
    return by_x(list(all.first(std::min(all.size(), most)))) + (all.size() > most ? "x..." : "");
}

// What traces call a valid operation on data of `ndim` dimensions. (oneDNN's "group" is the size of one.)
Title title_of(Op op, Parameters parameters, std::size_t ndim) {
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
        case Op::variadic_split:
            return {"variadic_split", "undef", axis() + " split_lengths:" + few(parameters.subspan(1), 16)};
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

// What traces call it: "axis:1 sizes:3x4". Their lines are cut at commas and their parameters at spaces.
Title title_of(const chain::Step& step) {
    Title title{step.name(), "undef", ""};
    for (const chain::Argument& argument : step.arguments()) {
        std::string value;
        if (const auto* integers = std::get_if<Dims>(&argument.value)) {
            value = few(*integers, 8);
        } else if (const auto* text = std::get_if<std::string>(&argument.value)) {
            value = *text;
            std::replace(value.begin(), value.end(), ' ', '_');
        } else {
            value = to_string(argument.value);
        }
        title.auxiliary += (title.auxiliary.empty() ? "" : " ") + (argument.name.empty() ? "pattern" : argument.name) + ":" +
                           value;
    }
    return title;
}

// "out" or "out[3]".
std::string out_name(std::size_t i, bool sequence) { return sequence ? "out[" + std::to_string(i) + "]" : "out"; }

// Byte strides of a new array of `shape`: those of `like` (an array of the same shape) where they
// are dense in some order of the axes, else C-contiguous.
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

// What a shuffle swaps.
ops::Halves halves_of(Op op, Parameters parameters, const Dims& shape, std::string_view name) {
    const auto check = op == Op::shuffle            ? ops::shuffle
                       : op == Op::shuffle_backward ? ops::shuffle_backward
                                                    : ops::shuffle_channels;
    return check(shape, parameters[0], parameters[1], name);
}

// A plan as its arrays become known.
struct Outline {
    std::vector<Placement> inputs;
    std::vector<Placement> outputs;
    std::vector<Transfer> transfers;

    void add_input(const ArrayLayout& array, std::int64_t itemsize) {
        inputs.push_back(place(list(array.shape), list(array.strides), itemsize));
    }
    // The next result: in the caller's output, or in new memory of strides `fresh`.
    void add_output(const Mosaic& result, const chain::Finish& finish, const ArrayLayout* out, Dims fresh,
                    const std::string& name) {
        const Dims& shape = result.shape();
        const std::int64_t itemsize = finish.itemsize(result.itemsize());
        if (out != nullptr && list(out->shape) != shape) {
            throw ValueError(name + ".shape " + to_string(list(out->shape)) + " must equal the result's, " + to_string(shape));
        }
        if (out != nullptr && overlaps_itself(out->shape, out->strides, itemsize)) {
            throw ValueError(name + " has elements that share memory (strides " + to_string(list(out->strides)) +
                             " bytes of shape " + to_string(shape) + "): it cannot be written");
        }
        Placement at = place(shape, out == nullptr ? std::move(fresh) : list(out->strides), itemsize);
        const int number = static_cast<int>(outputs.size());
        auto copies = chain::transfers_of(result, at.c_contiguous ? Dims{} : at.strides, finish, 0, number);
        if (copies.empty()) copies.push_back({0, number, Nest{{{0}}, 0, 0, itemsize}});  // traces name an empty result, too
        std::move(copies.begin(), copies.end(), std::back_inserter(transfers));
        outputs.push_back(std::move(at));
    }
    std::shared_ptr<const CallPlan> plan(Title title, bool tune = false) {
        return std::make_shared<const CallPlan>(std::move(title), std::move(inputs), std::move(outputs), std::move(transfers),
                                                tune);
    }
};

}  // namespace

std::vector<Mosaic> apply(Op op, Parameters parameters, const Mosaic& data, std::string_view name) {
    const Dims& shape = data.shape();
    switch (op) {
        case Op::shuffle:
        case Op::shuffle_backward:
        case Op::shuffle_channels: {
            const auto [axis, low] = halves_of(op, parameters, shape, name);
            return {data.swap_halves(axis, low)};
        }
        case Op::transpose: return {data.transpose(ops::transpose(shape, list(parameters), name))};
        case Op::variadic_split: {
            const auto [axis, lengths] = ops::variadic_split(shape, parameters[0], list(parameters.subspan(1)), name);
            return data.split(axis, lengths);
        }
        case Op::split: {
            const auto [axis, lengths] = ops::split(shape, parameters[0], parameters[1], name);
            return data.split(axis, lengths);
        }
        case Op::broadcast: {
            const auto mode = static_cast<ops::BroadcastMode>(parameters[0]);
            const auto rank = static_cast<std::size_t>(parameters[2]);
            std::optional<Dims> mapping;
            if (parameters[1] != 0) mapping = list(parameters.subspan(3 + rank));
            const auto [result, to] = ops::broadcast(shape, list(parameters.subspan(3, rank)), mapping, mode, name);
            check_size(result, data.itemsize(), "target_shape");
            return {data.broadcast(result, to)};
        }
        case Op::concat:
        case Op::stack: break;
    }
    throw std::logic_error("concat and stack have several inputs");
}

std::shared_ptr<const CallPlan> plan_operation(Op op, Parameters parameters, const ArrayLayout& data, std::int64_t itemsize,
                                               const std::vector<ArrayLayout>* outs, std::string_view name, bool tune) {
    const auto results = apply(op, parameters, Mosaic(list(data.shape), list(data.strides), itemsize), name);
    const bool sequence = op == Op::split || op == Op::variadic_split;
    if (outs != nullptr && outs->size() != results.size()) {
        throw ValueError("out must hold " + std::to_string(results.size()) + " arrays, one per part, but holds " +
                         std::to_string(outs->size()));
    }
    Outline outline;
    outline.add_input(data, itemsize);
    for (std::size_t i = 0; i < results.size(); ++i) {
        Dims fresh = keeps_memory_order(op) ? order_of(data.shape, data.strides, itemsize)
                                            : dense_strides(results[i].shape(), itemsize);
        outline.add_output(results[i], {}, outs == nullptr ? nullptr : &(*outs)[i], std::move(fresh), out_name(i, sequence));
    }
    return outline.plan(title_of(op, parameters, data.shape.size()), tune);
}

std::shared_ptr<const CallPlan> plan_join(Op op, std::int64_t axis, const std::vector<ArrayLayout>& arrays,
                                          std::int64_t itemsize, const ArrayLayout* out) {
    Outline outline;
    std::vector<view::Source> sources;
    for (const ArrayLayout& array : arrays) {
        sources.push_back({list(array.shape), list(array.strides)});
        outline.add_input(array, itemsize);
    }
    const chain::StepPtr step = op == Op::stack ? chain::stack(axis) : chain::concat(axis);
    const auto& join = dynamic_cast<const chain::Join&>(*step);
    const Dims shape = join.shape(sources);
    check_size(shape, itemsize, "the shape of the result");
    outline.add_output(join.join(sources, itemsize), {}, out, dense_strides(shape, itemsize), "out");
    return outline.plan(title_of(op, {&axis, 1}, shape.size()));
}

std::shared_ptr<const CallPlan> plan_step(const chain::Step& step, const ArrayLayout& data, std::int64_t itemsize,
                                          const ArrayLayout* out) {
    const Dims shape = step.check(list(data.shape)).front();
    const chain::Finish finish = chain::finish_of(step.swaps(), step.converts(), shape.size(), itemsize);
    check_size(shape, finish.itemsize(itemsize), "the result");
    Outline outline;
    outline.add_input(data, itemsize);
    const Mosaic result = step.apply(Mosaic(list(data.shape), list(data.strides), itemsize)).front();
    outline.add_output(result, finish, out, dense_strides(shape, finish.itemsize(itemsize)), "out");
    return outline.plan(title_of(step));
}

bool takes_listed(const ArrayLayout& data, std::int64_t itemsize, std::size_t axis, std::int64_t count,
                  const ArrayLayout* out) {
    std::int64_t bytes = itemsize;
    for (std::size_t k = data.shape.size(); k-- > axis + 1;) {
        if (data.shape[k] != 1 && data.strides[k] != bytes) return false;
        bytes *= data.shape[k];
    }
    if (bytes == 0 || std::find(data.shape.begin(), data.shape.end(), 0) != data.shape.end()) return false;
    // Many short rows are permuted in registers by a plan that knows the places; making it takes as long as moving some
    // 600,000 single elements.
    constexpr std::int64_t kShortRow = 256;  // bytes
    constexpr double kMany = 1 << 20;        // elements
    double elements = static_cast<double>(count);
    for (std::size_t k = 0; k < axis; ++k) elements *= static_cast<double>(data.shape[k]);
    if (count <= kShortRow / bytes && elements >= kMany) return false;
    if (out == nullptr) return true;
    Dims shape = list(data.shape);
    shape[axis] = count;
    return list(out->shape) == shape && place(shape, list(out->strides), itemsize).c_contiguous;
}

std::shared_ptr<const CallPlan> plan_listed_take(const ArrayLayout& data, std::int64_t itemsize, std::size_t axis,
                                                 std::int64_t count, std::int64_t index_bytes, const ArrayLayout* out) {
    Dims shape = list(data.shape);
    shape[axis] = count;
    check_size(shape, itemsize, "the result");
    Dims strides = dense_strides(shape, itemsize);
    Nest nest;
    nest.itemsize = strides[axis];
    for (std::size_t k = 0; k < axis; ++k) nest.loops.push_back({shape[k], data.strides[k], strides[k]});
    auto given = std::make_shared<OffsetTable>();
    given->index_bytes = index_bytes;
    given->length = data.shape[axis];
    given->stride = data.strides[axis];
    nest.loops.push_back({count, 0, nest.itemsize, std::move(given)});
    Outline outline;
    outline.add_input(data, itemsize);
    outline.outputs.push_back(place(std::move(shape), out == nullptr ? std::move(strides) : list(out->strides), itemsize));
    outline.transfers.push_back({0, 0, std::move(nest)});
    return outline.plan({"take", "undef", "indices:" + std::to_string(count) + " axis:" + std::to_string(axis)});
}

std::shared_ptr<const CallPlan> plan_blocked_shuffle(Op op, Parameters parameters, const Layout& layout,
                                                     std::string_view name) {
    const auto [axis, low] = halves_of(op, parameters, layout.dims, name);
    Outline outline;
    if (!layout.empty()) outline.transfers = shuffle_transfers(layout, axis, low);
    return outline.plan(title_of(op, parameters, layout.ndim()));
}

}  // namespace dnnmove
