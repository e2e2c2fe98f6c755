// The steps that rename, merge, cut and reverse axes.
#include <algorithm>
#include <numeric>

#include "chain/step_parts.hpp"
#include "ops/common.hpp"

namespace dnnmove::chain {
namespace {

using ops::named;

// Axes of length 1 that come or go: row-major order does not change.
class SqueezeStep : public Step {
public:
    explicit SqueezeStep(Axes axis) : axis_(std::move(axis)) {}

    std::string name() const override { return "squeeze"; }
    std::vector<Argument> arguments() const override { return {{"axis", to_value(axis_)}}; }
    std::vector<Dims> check(const Dims& shape) const override {
        const auto gone = dropped(shape);
        Dims result;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            if (!gone[axis]) result.push_back(shape[axis]);
        }
        return {result};
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override { return {data.reshape(check(data.shape()).front())}; }
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        // Without axes the lengths decide which go, the leading one too.
        if (std::holds_alternative<std::monostate>(axis_)) return std::nullopt;
        const auto gone = dropped(shape);
        if (gone[leading.axis]) return std::nullopt;
        Leading after = leading;
        after.axis -= static_cast<std::size_t>(
            std::count(gone.begin(), gone.begin() + static_cast<std::ptrdiff_t>(leading.axis), true));
        return after;
    }

private:
    std::vector<bool> dropped(const Dims& shape) const {
        std::vector<bool> gone(shape.size());
        const bool all = std::holds_alternative<std::monostate>(axis_);
        for (const std::size_t axis : resolve_axes(axis_, shape.size(), "axis")) {
            if (!all && shape[axis] != 1) {
                throw ValueError("axis " + to_string(to_value(axis_)) + " must name axes of length 1, but " +
                                 named(ops::kDataShape, axis, shape[axis]) + " is another");
            }
            gone[axis] = shape[axis] == 1;
        }
        return gone;
    }

    Axes axis_;
};

class ExpandDimsStep : public ComposedStep {
public:
    explicit ExpandDimsStep(Axes axis) : axis_(std::move(axis)) {}

    std::string name() const override { return "expand_dims"; }
    std::vector<Argument> arguments() const override { return {{"axis", to_value(axis_)}}; }

private:
    std::vector<StepPtr> parts(const Dims& shape) const override {
        const auto* several = std::get_if<Dims>(&axis_);
        auto positions = resolve_axes(axis_, shape.size() + (several != nullptr ? several->size() : 1), "axis");
        std::sort(positions.begin(), positions.end());
        std::vector<StepPtr> parts;
        for (const std::size_t position : positions) parts.push_back(insert_axis(position, 1));
        return parts;
    }

    Axes axis_;
};

class MoveAxisStep : public ComposedStep {
public:
    MoveAxisStep(Axes source, Axes destination) : source_(std::move(source)), destination_(std::move(destination)) {}

    std::string name() const override { return "moveaxis"; }
    std::vector<Argument> arguments() const override {
        return {{"source", to_value(source_)}, {"destination", to_value(destination_)}};
    }

private:
    std::vector<StepPtr> parts(const Dims& shape) const override {
        const auto from = resolve_axes(source_, shape.size(), "source");
        const auto to = resolve_axes(destination_, shape.size(), "destination");
        if (from.size() != to.size()) {
            throw ValueError("source " + to_string(to_value(source_)) + " and destination " +
                             to_string(to_value(destination_)) + " must name as many axes each, not " +
                             std::to_string(from.size()) + " and " + std::to_string(to.size()));
        }
        Dims order(shape.size(), -1);
        for (std::size_t i = 0; i < to.size(); ++i) order[to[i]] = static_cast<std::int64_t>(from[i]);
        std::int64_t next = 0;
        for (std::int64_t& axis : order) {
            if (axis != -1) continue;
            while (std::find(from.begin(), from.end(), static_cast<std::size_t>(next)) != from.end()) ++next;
            axis = next++;
        }
        return {transpose(std::move(order))};
    }

    Axes source_;
    Axes destination_;
};

class SwapAxesStep : public ComposedStep {
public:
    SwapAxesStep(std::int64_t axis1, std::int64_t axis2) : axis1_(axis1), axis2_(axis2) {}

    std::string name() const override { return "swapaxes"; }
    std::vector<Argument> arguments() const override { return {{"axis1", axis1_}, {"axis2", axis2_}}; }

private:
    std::vector<StepPtr> parts(const Dims& shape) const override {
        Dims order(shape.size());
        std::iota(order.begin(), order.end(), std::int64_t{0});
        const std::size_t one = ops::normalize_axis(axis1_, shape.size(), "axis1");
        std::swap(order[one], order[ops::normalize_axis(axis2_, shape.size(), "axis2")]);
        return {transpose(std::move(order))};
    }

    std::int64_t axis1_;
    std::int64_t axis2_;
};

// Torch's: an array without axes becomes one of length 1.
class FlattenStep : public Step {
public:
    FlattenStep(std::int64_t start, std::int64_t end) : start_(start), end_(end) {}

    std::string name() const override { return "flatten"; }
    bool reshapes() const override { return true; }
    std::vector<Argument> arguments() const override { return {{"start", start_}, {"end", end_}}; }
    std::vector<Dims> check(const Dims& shape) const override {
        const auto [first, last] = range(shape);
        if (shape.empty()) return {Dims{1}};
        const auto at = [&](std::size_t axis) { return shape.begin() + static_cast<std::ptrdiff_t>(axis); };
        Dims result(shape.begin(), at(first));
        result.push_back(element_count(Dims(at(first), at(last + 1))));
        result.insert(result.end(), at(last + 1), shape.end());
        return {result};
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override { return {data.reshape(check(data.shape()).front())}; }
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        const auto [first, last] = range(shape);
        Leading after = leading;
        if (leading.axis > last) {
            after.axis -= last - first;
        } else if (leading.axis > first) {
            after.axis = first;
            for (std::size_t axis = first; axis < leading.axis; ++axis) after.outer *= shape[axis];
        }
        return after;
    }

private:
    std::pair<std::size_t, std::size_t> range(const Dims& shape) const {
        const std::size_t ndim = std::max<std::size_t>(shape.size(), 1);
        const std::size_t first = ops::normalize_axis(start_, ndim, "start");
        const std::size_t last = ops::normalize_axis(end_, ndim, "end");
        if (first > last) {
            throw ValueError(named("start", start_) + " must not lie behind " + named("end", end_) + " in data.shape " +
                             to_string(shape));
        }
        return {first, last};
    }

    std::int64_t start_;
    std::int64_t end_;
};

class UnflattenStep : public Step {
public:
    UnflattenStep(std::int64_t axis, Dims sizes) : axis_(axis), sizes_(std::move(sizes)) {}

    std::string name() const override { return "unflatten"; }
    bool reshapes() const override { return true; }
    std::vector<Argument> arguments() const override { return {{"axis", axis_}, {"sizes", sizes_}}; }
    std::vector<Dims> check(const Dims& shape) const override {
        const std::size_t axis = ops::normalize_axis(axis_, shape.size());
        const auto fail = [&](const std::string& why) {
            throw ValueError("sizes " + dnnmove::to_string(sizes_) + " must multiply to " +
                             named(ops::kDataShape, axis, shape[axis]) + ", with at most one -1 for what is left: " + why);
        };
        const Dims sizes = resolve_rest(sizes_, shape[axis], fail);
        Dims result = shape;
        const auto at = result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis));
        result.insert(at, sizes.begin(), sizes.end());
        return {result};
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override { return {data.reshape(check(data.shape()).front())}; }
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        const std::size_t axis = ops::normalize_axis(axis_, shape.size());
        if (axis == leading.axis) {
            const std::int64_t faster = shape[axis] / std::max<std::int64_t>(leading.outer * leading.extent, 1);
            return follow_rest(leading, axis, sizes_, leading.outer, faster);
        }
        Leading after = leading;
        if (axis < leading.axis) after.axis = after.axis + sizes_.size() - 1;
        return after;
    }

private:
    std::int64_t axis_;
    Dims sizes_;
};

class FlipStep : public Step {
public:
    explicit FlipStep(Axes axis) : axis_(std::move(axis)) {}

    std::string name() const override { return "flip"; }
    std::vector<Argument> arguments() const override { return {{"axis", to_value(axis_)}}; }
    std::vector<Dims> check(const Dims& shape) const override {
        resolve_axes(axis_, shape.size(), "axis");
        return {shape};
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override {
        Mosaic result = data;
        for (const std::size_t axis : resolve_axes(axis_, data.shape().size(), "axis")) {
            const std::int64_t length = data.shape()[axis];
            if (length > 1) result = result.take(axis, length - 1, -1, length);
        }
        return {result};
    }
    std::optional<Leading> follow(const Leading& leading, const Dims&) const override { return leading; }

private:
    Axes axis_;
};

}  // namespace

StepPtr squeeze(Axes axis) { return std::make_shared<SqueezeStep>(std::move(axis)); }
StepPtr expand_dims(Axes axis) { return std::make_shared<ExpandDimsStep>(std::move(axis)); }
StepPtr moveaxis(Axes source, Axes destination) {
    return std::make_shared<MoveAxisStep>(std::move(source), std::move(destination));
}
StepPtr swapaxes(std::int64_t axis1, std::int64_t axis2) { return std::make_shared<SwapAxesStep>(axis1, axis2); }
StepPtr flatten(std::int64_t start, std::int64_t end) { return std::make_shared<FlattenStep>(start, end); }
StepPtr unflatten(std::int64_t axis, Dims sizes) { return std::make_shared<UnflattenStep>(axis, std::move(sizes)); }
StepPtr flip(Axes axis) { return std::make_shared<FlipStep>(std::move(axis)); }

}  // namespace dnnmove::chain
