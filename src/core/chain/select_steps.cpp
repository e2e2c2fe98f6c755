// The steps that repeat, rotate, select and overlap: tile, repeat_elements, roll, take, unfold.
#include <algorithm>
#include <optional>

#include "chain/step_parts.hpp"
#include "ops/common.hpp"
#include "runtime/error.hpp"

namespace dnnmove::chain {
namespace {

using ops::named;

constexpr std::size_t kMostRolledBoxes = 16;                          // that rolls make before they turn to tables
constexpr std::int64_t kMaxRepeats = std::int64_t{1} << 28;  // that counts of repeats may become

void check_repeats(const Dims& repeats, std::string_view argument, const std::string& text) {
    for (const std::int64_t count : repeats) {
        if (count < 0) {
            throw ValueError(std::string(argument) + " " + text + " must hold counts of at least 0, but holds " +
                             std::to_string(count));
        }
    }
}

class TileStep : public ComposedStep {
public:
    explicit TileStep(Axes reps) : reps_(std::move(reps)) {
        const auto* one = std::get_if<std::int64_t>(&reps_);
        counts_ = one != nullptr ? Dims{*one} : std::get<Dims>(reps_);
        const std::string text = to_string(to_value(reps_));
        if (counts_.size() > kMaxRank) {
            throw ValueError("reps " + text + " has " + std::to_string(counts_.size()) + " counts, but at most " +
                             std::to_string(kMaxRank) + " dimensions are possible");
        }
        check_repeats(counts_, "reps", text);
    }

    std::string name() const override { return "tile"; }
    std::vector<Argument> arguments() const override { return {{"reps", to_value(reps_)}}; }

private:
    std::vector<StepPtr> parts(const Dims& shape) const override {
        // As NumPy: the shorter of the two gets ones in front.
        std::vector<StepPtr> parts;
        for (std::size_t ndim = shape.size(); ndim < counts_.size(); ++ndim) parts.push_back(insert_axis(0, 1));
        const std::size_t ndim = std::max(shape.size(), counts_.size());
        for (std::size_t axis = ndim; axis-- > ndim - counts_.size();) {
            const std::int64_t count = counts_[axis - (ndim - counts_.size())];
            if (count == 1) continue;
            parts.push_back(insert_axis(axis, count));
            parts.push_back(flatten(static_cast<std::int64_t>(axis), static_cast<std::int64_t>(axis) + 1));
        }
        return parts;
    }

    Axes reps_;
    Dims counts_;
};

class RepeatElementsStep : public ComposedStep {
public:
    RepeatElementsStep(Axes repeats, std::int64_t axis) : repeats_(std::move(repeats)), axis_(axis) {
        const auto* one = std::get_if<std::int64_t>(&repeats_);
        check_repeats(one != nullptr ? Dims{*one} : std::get<Dims>(repeats_), "repeats", to_string(to_value(repeats_)));
    }

    std::string name() const override { return "repeat_elements"; }
    std::vector<Argument> arguments() const override { return {{"repeats", to_value(repeats_)}, {"axis", axis_}}; }

private:
    std::vector<StepPtr> parts(const Dims& shape) const override {
        const std::size_t axis = ops::normalize_axis(axis_, shape.size());
        const auto* one = std::get_if<std::int64_t>(&repeats_);
        const Dims counts = one != nullptr ? Dims{*one} : std::get<Dims>(repeats_);
        if (counts.size() == 1) {
            return {insert_axis(axis + 1, counts[0]),
                    flatten(static_cast<std::int64_t>(axis), static_cast<std::int64_t>(axis) + 1)};
        }
        if (static_cast<std::int64_t>(counts.size()) != shape[axis]) {
            throw ValueError("repeats must be one count, or one for each element of " +
                             named(ops::kDataShape, axis, shape[axis]) + ", but holds " + std::to_string(counts.size()));
        }
        Dims indices;
        for (std::size_t i = 0; i < counts.size(); ++i) {
            if (counts[i] > kMaxRepeats - static_cast<std::int64_t>(indices.size())) {
                throw ValueError("repeats adds up to more than " + std::to_string(kMaxRepeats));
            }
            indices.insert(indices.end(), static_cast<std::size_t>(counts[i]), static_cast<std::int64_t>(i));
        }
        return {take(std::move(indices), axis_)};
    }

    Axes repeats_;
    std::int64_t axis_;
};

// A roll in boxes, where it does not make too many of them: only those across the seam are cut.
std::optional<Mosaic> in_boxes(const Mosaic& data, std::size_t axis, std::int64_t by) {
    const std::size_t pieces = data.pieces().size();
    if (pieces > kMaxPieces / 4) return std::nullopt;
    try {
        const std::int64_t length = data.shape()[axis];
        Mosaic boxes = data.take(axis, {{length - by, 1, by}, {0, 1, length - by}});
        if (pieces < kMostRolledBoxes || boxes.pieces().size() <= pieces + kMostRolledBoxes / 4) return boxes;
    } catch (const TooManyBoxes&) {
        // Tables hold any number of them.
    }
    return std::nullopt;
}

class RollStep : public Step {
public:
    RollStep(Axes shift, Axes axis) : shift_(std::move(shift)), axis_(std::move(axis)) {
        const auto size = [](const Axes& axes) { return std::holds_alternative<Dims>(axes) ? std::get<Dims>(axes).size() : 1; };
        if (size(shift_) != size(axis_) && size(shift_) != 1 && size(axis_) != 1) {
            throw ValueError("shift " + to_string(to_value(shift_)) + " and axis " + to_string(to_value(axis_)) +
                             " must be of one length, or one of them a single integer");
        }
    }

    std::string name() const override { return "roll"; }
    std::vector<Argument> arguments() const override { return {{"shift", to_value(shift_)}, {"axis", to_value(axis_)}}; }
    std::vector<Dims> check(const Dims& shape) const override {
        shifts(shape);
        return {shape};
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override {
        const bool flat = std::holds_alternative<std::monostate>(axis_);
        Mosaic result = flat ? data.reshape({element_count(data.shape())}) : data;
        const Dims by = shifts(data.shape());
        for (std::size_t axis = 0; axis < by.size(); ++axis) {
            const std::int64_t length = result.shape()[axis];
            if (by[axis] == 0) continue;
            if (auto boxes = in_boxes(result, axis, by[axis])) {
                result = std::move(*boxes);
                continue;
            }
            Dims from(static_cast<std::size_t>(length));
            for (std::int64_t k = 0; k < length; ++k) from[static_cast<std::size_t>((k + by[axis]) % length)] = k;
            result = result.list(axis, from);
        }
        return {flat ? result.reshape(data.shape()) : result};
    }
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        if (std::holds_alternative<std::monostate>(axis_)) return std::nullopt;
        const auto* one = std::get_if<std::int64_t>(&axis_);
        for (const std::int64_t axis : one != nullptr ? Dims{*one} : std::get<Dims>(axis_)) {
            if (ops::normalize_axis(axis, shape.size()) == leading.axis) return std::nullopt;
        }
        return leading;
    }

private:
    // By how much each axis rolls, in [0, length); of the flattened array where there is no axis. An axis may be
    // named several times, as in NumPy.
    Dims shifts(const Dims& shape) const {
        const bool flat = std::holds_alternative<std::monostate>(axis_);
        const Dims lengths = flat ? Dims{element_count(shape)} : shape;
        const auto list = [](const Axes& axes) {
            const auto* one = std::get_if<std::int64_t>(&axes);
            return one != nullptr ? Dims{*one} : std::get<Dims>(axes);
        };
        const Dims by = list(shift_);
        const Dims axes = flat ? Dims{0} : list(axis_);
        Dims total(lengths.size(), 0);
        for (std::size_t i = 0; i < (by.size() == 1 ? axes.size() : axes.size() == 1 ? by.size() : axes.size()); ++i) {
            const std::size_t axis = ops::normalize_axis(axes[axes.size() == 1 ? 0 : i], lengths.size());
            const std::int64_t length = std::max<std::int64_t>(lengths[axis], 1);
            const std::int64_t rest = by[by.size() == 1 ? 0 : i] % length;
            const std::int64_t step = rest < 0 ? rest + length : rest;
            total[axis] = total[axis] >= length - step ? total[axis] - (length - step) : total[axis] + step;
        }
        return total;
    }

    Axes shift_;
    Axes axis_;
};

class TakeStep : public Step {
public:
    TakeStep(Dims indices, std::int64_t axis) : indices_(std::move(indices)), axis_(axis) {}

    std::string name() const override { return "take"; }
    std::vector<Argument> arguments() const override { return {{"indices", indices_}, {"axis", axis_}}; }
    std::vector<Dims> check(const Dims& shape) const override {
        const std::size_t axis = ops::normalize_axis(axis_, shape.size());
        positions(axis, shape);
        Dims result = shape;
        result[axis] = static_cast<std::int64_t>(indices_.size());
        return {result};
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override {
        const std::size_t axis = ops::normalize_axis(axis_, data.shape().size());
        return {data.gather(axis, positions(axis, data.shape()))};
    }
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        return elsewhere(axis_, leading, shape);
    }

private:
    // The indices, none negative.
    Dims positions(std::size_t axis, const Dims& shape) const {
        Dims result = indices_;
        const std::int64_t length = shape[axis];
        for (std::size_t i = 0; i < result.size(); ++i) {
            if (result[i] < -length || result[i] >= length) {
                throw IndexError(named("indices", i, result[i]) + " must lie in [" + std::to_string(-length) + ", " +
                                 std::to_string(length) + ") for " + named(ops::kDataShape, axis, length));
            }
            if (result[i] < 0) result[i] += length;
        }
        return result;
    }

    Dims indices_;
    std::int64_t axis_;
};

class UnfoldStep : public Step {
public:
    UnfoldStep(std::int64_t axis, std::int64_t size, std::int64_t step) : axis_(axis), size_(size), step_(step) {
        if (step_ < 1) throw ValueError(named("step", step_) + " must be at least 1");
    }

    std::string name() const override { return "unfold"; }
    std::vector<Argument> arguments() const override { return {{"axis", axis_}, {"size", size_}, {"step", step_}}; }
    std::vector<Dims> check(const Dims& shape) const override {
        const std::size_t axis = ops::normalize_axis(axis_, shape.size());
        if (size_ < 1 || size_ > shape[axis]) {
            throw ValueError(named("size", size_) + " must lie in [1, " + std::to_string(shape[axis]) + "], the length of " +
                             named(ops::kDataShape, axis, shape[axis]));
        }
        Dims result = shape;
        result[axis] = (shape[axis] - size_) / step_ + 1;
        result.push_back(size_);
        return {result};
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override {
        return {data.windows(ops::normalize_axis(axis_, data.shape().size()), size_, step_)};
    }
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        return elsewhere(axis_, leading, shape);
    }

private:
    std::int64_t axis_;
    std::int64_t size_;
    std::int64_t step_;
};

}  // namespace

StepPtr tile(Axes reps) { return std::make_shared<TileStep>(std::move(reps)); }
StepPtr repeat_elements(Axes repeats, std::int64_t axis) {
    return std::make_shared<RepeatElementsStep>(std::move(repeats), axis);
}
StepPtr roll(Axes shift, Axes axis) { return std::make_shared<RollStep>(std::move(shift), std::move(axis)); }
StepPtr take(Dims indices, std::int64_t axis) { return std::make_shared<TakeStep>(std::move(indices), axis); }
StepPtr unfold(std::int64_t axis, std::int64_t size, std::int64_t step) {
    return std::make_shared<UnfoldStep>(axis, size, step);
}

}  // namespace dnnmove::chain
