// The steps of a chain that are operations of their own, and reshape.
#include <algorithm>

#include "chain/step_parts.hpp"
#include "ops/common.hpp"
#include "runtime/error.hpp"

namespace dnnmove::chain {
namespace {

// The operations validate views; strides do not matter to them.
View probe(const Dims& shape) { return View::strided(shape, Dims(shape.size(), 0), 1); }

// Shuffle and ShuffleChannels: (axis, low) says which axis is seen as (length / low, low).
class ShuffleStep : public Step {
public:
    ShuffleStep(std::int64_t axis, std::int64_t value, bool channels) : axis_(axis), value_(value), channels_(channels) {}

    std::string name() const override { return channels_ ? "shuffle_channels" : "shuffle"; }
    std::vector<Argument> arguments() const override { return {{"axis", axis_}, {channels_ ? "group" : "group_size", value_}}; }
    std::vector<Dims> check(const Dims& shape) const override {
        const View view = probe(shape);
        return {(channels_ ? ops::shuffle_channels(view, axis_, value_) : ops::shuffle(view, axis_, value_)).shape()};
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override {
        const std::size_t axis = ops::normalize_axis(axis_, data.shape().size());
        return {data.swap_halves(axis, channels_ ? data.shape()[axis] / value_ : value_)};
    }
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        return elsewhere(axis_, leading, shape);
    }

private:
    std::int64_t axis_;
    std::int64_t value_;
    bool channels_;
};

class TransposeStep : public Step {
public:
    explicit TransposeStep(Dims order) : order_(std::move(order)) {}

    std::string name() const override { return "transpose"; }
    std::vector<Argument> arguments() const override { return {{"input_order", order_}}; }
    std::vector<Dims> check(const Dims& shape) const override { return {ops::transpose(probe(shape), order_).shape()}; }
    std::vector<Mosaic> apply(const Mosaic& data) const override {
        return {data.transpose(ops::transposition(order_, data.shape()))};
    }
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        const auto order = ops::transposition(order_, shape);
        Leading after = leading;
        after.axis = static_cast<std::size_t>(std::find(order.begin(), order.end(), leading.axis) - order.begin());
        return after;
    }

private:
    Dims order_;
};

class SplitStep : public Step {
public:
    bool splits() const override { return true; }
    std::vector<Dims> check(const Dims& shape) const override {
        const std::size_t axis = ops::normalize_axis(axis_, shape.size());
        std::vector<Dims> shapes;
        for (const std::int64_t length : lengths(axis, shape)) {
            shapes.push_back(shape);
            shapes.back()[axis] = length;
        }
        return shapes;
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override {
        const std::size_t axis = ops::normalize_axis(axis_, data.shape().size());
        std::vector<Mosaic> parts;
        std::int64_t start = 0;
        for (const std::int64_t length : lengths(axis, data.shape())) {
            parts.push_back(data.take(axis, start, 1, length));
            start += length;
        }
        return parts;
    }
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        return elsewhere(axis_, leading, shape);
    }

protected:
    explicit SplitStep(std::int64_t axis) : axis_(axis) {}
    // `axis` is normalized.
    virtual Dims lengths(std::size_t axis, const Dims& shape) const = 0;
    std::int64_t axis_;
};

class VariadicSplit : public SplitStep {
public:
    VariadicSplit(std::int64_t axis, Dims lengths) : SplitStep(axis), lengths_(std::move(lengths)) {}
    std::string name() const override { return "variadic_split"; }
    std::vector<Argument> arguments() const override { return {{"axis", axis_}, {"split_lengths", lengths_}}; }

private:
    Dims lengths(std::size_t axis, const Dims& shape) const override {
        return ops::resolve_split_lengths(shape[axis], axis, lengths_);
    }
    Dims lengths_;
};

class EvenSplit : public SplitStep {
public:
    EvenSplit(std::int64_t axis, std::int64_t count) : SplitStep(axis), count_(count) {}
    std::string name() const override { return "split"; }
    std::vector<Argument> arguments() const override { return {{"axis", axis_}, {"num_splits", count_}}; }

private:
    Dims lengths(std::size_t axis, const Dims& shape) const override {
        const std::int64_t total = shape[axis];
        if (count_ > kMaxBranches && total % count_ == 0) {
            throw ValueError(ops::named("num_splits", count_) + " must be at most " + std::to_string(kMaxBranches) +
                             " in a chain");
        }
        Dims lengths;
        for (const View& part : ops::split(probe(shape), axis_, count_)) lengths.push_back(part.axes[axis].length());
        return lengths;
    }
    std::int64_t count_;
};

class BroadcastStep : public Step {
public:
    BroadcastStep(Dims target, std::optional<Dims> mapping, std::string mode)
        : target_(std::move(target)), mapping_(std::move(mapping)), mode_(std::move(mode)) {}

    std::string name() const override { return "broadcast"; }
    std::vector<Argument> arguments() const override {
        std::vector<Argument> all{{"target_shape", target_}};
        if (mapping_) all.push_back({"axes_mapping", *mapping_});
        all.push_back({"mode", mode_});
        return all;
    }
    std::vector<Dims> check(const Dims& shape) const override {
        return {ops::broadcast(probe(shape), target_, mapping_, ops::parse_broadcast_mode(mode_)).shape()};
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override {
        const Dims shape = check(data.shape()).front();
        std::vector<std::size_t> to(data.shape().size());
        for (std::size_t axis = 0; axis < to.size(); ++axis) to[axis] = place(axis, to.size(), shape.size());
        return {data.broadcast(shape, to)};
    }
    // The target names every length but those that it leaves to the data.
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        const std::size_t rank = check(shape).front().size();
        Leading after = leading;
        after.axis = place(leading.axis, shape.size(), rank);
        const std::size_t pad = rank - target_.size();
        const bool open = ops::parse_broadcast_mode(mode_) == ops::BroadcastMode::bidirectional &&
                          (after.axis < pad || target_[after.axis - pad] == 1);
        return open ? std::optional(after) : std::nullopt;
    }

private:
    // The axis of a result of `rank` that `axis` of data of `ndim` dimensions becomes.
    std::size_t place(std::size_t axis, std::size_t ndim, std::size_t rank) const {
        return mapping_ ? static_cast<std::size_t>((*mapping_)[axis]) : rank - ndim + axis;
    }

    Dims target_;
    std::optional<Dims> mapping_;
    std::string mode_;
};

class ReshapeStep : public Step {
public:
    explicit ReshapeStep(Dims shape) : shape_(std::move(shape)) {}

    std::string name() const override { return "reshape"; }
    std::vector<Argument> arguments() const override { return {{"shape", shape_}}; }
    std::vector<Dims> check(const Dims& shape) const override {
        const auto fail = [&](const std::string& why) {
            throw ValueError("shape " + to_string(shape_) + " must hold the " + std::to_string(element_count(shape)) +
                             " elements of data.shape " + to_string(shape) + ", with at most one -1 for what is left: " + why);
        };
        return {resolve_rest(shape_, element_count(shape), fail)};
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override { return {data.reshape(check(data.shape()).front())}; }
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        const auto at = shape.begin() + static_cast<std::ptrdiff_t>(leading.axis);
        const std::int64_t slower = element_count(Dims(shape.begin(), at)) * leading.outer;
        const std::int64_t faster = element_count(Dims(at, shape.end())) /
                                    std::max<std::int64_t>(leading.outer * leading.extent, 1);
        return follow_rest(leading, 0, shape_, slower, faster);
    }

private:
    Dims shape_;
};

class BranchStep : public Step {
public:
    explicit BranchStep(std::optional<std::int64_t> position) : position_(position) {}

    std::string name() const override { return "branch"; }
    std::vector<Argument> arguments() const override { return {{"", position_ ? Value(*position_) : Value(std::monostate())}}; }
    std::optional<Branches> turns(std::size_t count) const override {
        if (!position_) return Branches{0, count};
        const auto all = static_cast<std::int64_t>(count);
        if (*position_ < -all || *position_ >= all) {
            throw IndexError(ops::named("i", *position_) + " must lie in [" + std::to_string(-all) + ", " +
                             std::to_string(all) + "): the chain has " + std::to_string(all) +
                             (all == 1 ? " output here" : " outputs here"));
        }
        const auto begin = static_cast<std::size_t>(*position_ < 0 ? *position_ + all : *position_);
        return Branches{begin, begin + 1};
    }
    std::vector<Dims> check(const Dims& shape) const override { return {shape}; }
    std::vector<Mosaic> apply(const Mosaic& data) const override { return {data}; }
    std::optional<Leading> follow(const Leading& leading, const Dims&) const override { return leading; }

private:
    std::optional<std::int64_t> position_;
};

}  // namespace

StepPtr shuffle(std::int64_t axis, std::int64_t group_size) { return std::make_shared<ShuffleStep>(axis, group_size, false); }
StepPtr shuffle_channels(std::int64_t axis, std::int64_t group) { return std::make_shared<ShuffleStep>(axis, group, true); }
StepPtr transpose(Dims input_order) { return std::make_shared<TransposeStep>(std::move(input_order)); }
StepPtr variadic_split(std::int64_t axis, Dims split_lengths) {
    return std::make_shared<VariadicSplit>(axis, std::move(split_lengths));
}
StepPtr split(std::int64_t axis, std::int64_t num_splits) { return std::make_shared<EvenSplit>(axis, num_splits); }
StepPtr broadcast(Dims target_shape, std::optional<Dims> axes_mapping, std::string mode) {
    return std::make_shared<BroadcastStep>(std::move(target_shape), std::move(axes_mapping), std::move(mode));
}
StepPtr reshape(Dims shape) { return std::make_shared<ReshapeStep>(std::move(shape)); }
StepPtr branch(std::optional<std::int64_t> position) { return std::make_shared<BranchStep>(position); }

}  // namespace dnnmove::chain
