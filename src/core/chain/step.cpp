// The steps of a chain that are operations of their own, and reshape.
#include <algorithm>

#include "chain/step_parts.hpp"
#include "ops/common.hpp"
#include "runtime/error.hpp"

namespace dnnmove::chain {
namespace {

// Shuffle and ShuffleChannels.
class ShuffleStep : public Step {
public:
    ShuffleStep(std::int64_t axis, std::int64_t value, bool channels) : axis_(axis), value_(value), channels_(channels) {}

    std::string name() const override { return channels_ ? "shuffle_channels" : "shuffle"; }
    std::vector<Argument> arguments() const override { return {{"axis", axis_}, {channels_ ? "group" : "group_size", value_}}; }
    std::vector<Dims> check(const Dims& shape) const override {
        halves(shape);
        return {shape};
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override {
        const auto [axis, low] = halves(data.shape());
        return {data.swap_halves(axis, low)};
    }
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        return elsewhere(axis_, leading, shape);
    }

private:
    ops::Halves halves(const Dims& shape) const {
        return channels_ ? ops::shuffle_channels(shape, axis_, value_) : ops::shuffle(shape, axis_, value_);
    }

    std::int64_t axis_;
    std::int64_t value_;
    bool channels_;
};

class TransposeStep : public Step {
public:
    explicit TransposeStep(Dims order) : order_(std::move(order)) {}

    std::string name() const override { return "transpose"; }
    std::vector<Argument> arguments() const override { return {{"input_order", order_}}; }
    std::vector<Dims> check(const Dims& shape) const override {
        Dims result;
        for (const std::size_t axis : ops::transpose(shape, order_)) result.push_back(shape[axis]);
        return {result};
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override {
        return {data.transpose(ops::transpose(data.shape(), order_))};
    }
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        const auto order = ops::transpose(shape, order_);
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
        const auto [axis, lengths] = parts(shape);
        std::vector<Dims> shapes;
        for (const std::int64_t length : lengths) {
            shapes.push_back(shape);
            shapes.back()[axis] = length;
        }
        return shapes;
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override {
        const auto [axis, lengths] = parts(data.shape());
        return data.split(axis, lengths);
    }
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        return elsewhere(axis_, leading, shape);
    }

protected:
    explicit SplitStep(std::int64_t axis) : axis_(axis) {}
    virtual ops::Parts parts(const Dims& shape) const = 0;
    std::int64_t axis_;
};

class VariadicSplit : public SplitStep {
public:
    VariadicSplit(std::int64_t axis, Dims lengths) : SplitStep(axis), lengths_(std::move(lengths)) {}
    std::string name() const override { return "variadic_split"; }
    std::vector<Argument> arguments() const override { return {{"axis", axis_}, {"split_lengths", lengths_}}; }

private:
    ops::Parts parts(const Dims& shape) const override { return ops::variadic_split(shape, axis_, lengths_); }
    Dims lengths_;
};

class EvenSplit : public SplitStep {
public:
    EvenSplit(std::int64_t axis, std::int64_t count) : SplitStep(axis), count_(count) {}
    std::string name() const override { return "split"; }
    std::vector<Argument> arguments() const override { return {{"axis", axis_}, {"num_splits", count_}}; }

private:
    ops::Parts parts(const Dims& shape) const override {
        if (count_ > kMaxBranches && shape[ops::normalize_axis(axis_, shape.size())] % count_ == 0) {
            throw ValueError(ops::named("num_splits", count_) + " must be at most " + std::to_string(kMaxBranches) +
                             " in a chain");
        }
        return ops::split(shape, axis_, count_);
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
    std::vector<Dims> check(const Dims& shape) const override { return {repetition(shape).shape}; }
    std::vector<Mosaic> apply(const Mosaic& data) const override {
        const auto [shape, to] = repetition(data.shape());
        return {data.broadcast(shape, to)};
    }
    // The target names every length but those that it leaves to the data.
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        const ops::Repetition result = repetition(shape);
        Leading after = leading;
        after.axis = result.to[leading.axis];
        const std::size_t pad = result.shape.size() - target_.size();
        const bool open = ops::parse_broadcast_mode(mode_) == ops::BroadcastMode::bidirectional &&
                          (after.axis < pad || target_[after.axis - pad] == 1);
        return open ? std::optional(after) : std::nullopt;
    }

private:
    ops::Repetition repetition(const Dims& shape) const {
        return ops::broadcast(shape, target_, mapping_, ops::parse_broadcast_mode(mode_));
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
