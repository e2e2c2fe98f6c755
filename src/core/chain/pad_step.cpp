// The step that puts more elements around the data: pad.
#include <algorithm>

#include "chain/step_parts.hpp"
#include "ops/common.hpp"

namespace dnnmove::chain {
namespace {

using ops::named;

constexpr std::size_t kMostBoxes = 16;                      // that edges make before they turn to tables
constexpr std::int64_t kMaxIndices = std::int64_t{1} << 28;  // of such a table

const Dims kNoWidths{0, 0};

class PadStep : public Step {
public:
    PadStep(Widths widths, std::string mode, Element value)
        : widths_(std::move(widths)), mode_(std::move(mode)), value_(std::move(value)) {
        constexpr std::string_view kModes[] = {"constant", "edge", "reflect", "wrap"};
        if (std::find(std::begin(kModes), std::end(kModes), mode_) == std::end(kModes)) {
            throw ValueError("mode (" + to_string(Value(mode_)) + ") must be 'constant', 'edge', 'reflect' or 'wrap'");
        }
        const auto* one = std::get_if<std::int64_t>(&widths_);
        const auto* pair = std::get_if<Dims>(&widths_);
        pairs_ = one != nullptr    ? std::vector<Dims>{{*one}}
                 : pair != nullptr ? std::vector<Dims>{*pair}
                                   : std::get<std::vector<Dims>>(widths_);
        for (Dims& each : pairs_) {
            if (each.empty() || each.size() > 2) {
                throw ValueError("pad_width " + text() +
                                 " must be a width, a pair (before, after), or pairs: one for all axes, or one for each");
            }
            if (each.size() == 1) each.push_back(each.front());
            for (const std::int64_t width : each) {
                if (width < 0)
                    throw ValueError("pad_width " + text() + " must hold widths of at least 0, but holds " +
                                     std::to_string(width));
            }
        }
    }

    std::string name() const override { return "pad"; }
    std::vector<Argument> arguments() const override {
        std::vector<Argument> all{{"pad_width", std::visit([](const auto& each) { return Value(each); }, widths_)},
                                  {"mode", mode_}};
        if (mode_ == "constant") all.push_back({"constant_value", value_});
        return all;
    }
    std::vector<Dims> check(const Dims& shape) const override {
        Dims result = shape;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            const Dims& around = widths(axis, shape.size());
            for (const std::int64_t width : around) {
                if (__builtin_add_overflow(result[axis], width, &result[axis])) {
                    throw ValueError("pad_width " + text() + " makes more of " + named(ops::kDataShape, axis, shape[axis]) +
                                     " than 63 bits can count");
                }
            }
            if (mode_ != "constant" && shape[axis] == 0 && result[axis] > 0) {
                throw ValueError("pad_width " + text() + " cannot pad " + named(ops::kDataShape, axis, shape[axis]) +
                                 " in mode '" + mode_ + "': there is no element to repeat");
            }
        }
        if (shape.empty()) widths(0, 0);  // for its check
        return {result};
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override {
        if (mode_ == "constant" && static_cast<std::int64_t>(value_.bytes->size()) != data.itemsize()) {
            throw ValueError("constant_value is an element of " + std::to_string(value_.bytes->size()) +
                             " bytes, but those of data have " + std::to_string(data.itemsize()));
        }
        Mosaic result = data;
        const std::size_t ndim = data.shape().size();
        for (std::size_t axis = 0; axis < ndim; ++axis) {
            const Dims& around = widths(axis, ndim);
            if (around[0] == 0 && around[1] == 0) continue;
            result = mode_ == "constant" ? result.pad(axis, around[0], around[1], value_.bytes)
                                         : extended(result, axis, around[0], around[1]);
        }
        return {result};
    }
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        const Dims& around = widths(leading.axis, shape.size());
        return around[0] == 0 && around[1] == 0 ? std::optional(leading) : std::nullopt;
    }

private:
    std::string text() const {
        return to_string(std::visit([](const auto& each) { return Value(each); }, widths_));
    }

    // Before and after.
    const Dims& widths(std::size_t axis, std::size_t ndim) const {
        const bool for_all = !std::holds_alternative<std::vector<Dims>>(widths_) || pairs_.size() == 1;
        if (!for_all && pairs_.size() != ndim) {
            throw ValueError("pad_width " + text() + " holds " + std::to_string(pairs_.size()) + " pairs, but data has " +
                             std::to_string(ndim) + (ndim == 1 ? " dimension" : " dimensions"));
        }
        return ndim == 0 ? kNoWidths : pairs_[for_all ? 0 : axis];
    }

    // The place in an axis of `length` that place `at` repeats: [0, length) are its own.
    std::int64_t source_of(std::int64_t at, std::int64_t length) const {
        if (mode_ == "edge" || length == 1) return std::clamp<std::int64_t>(at, 0, length - 1);
        const std::int64_t period = mode_ == "wrap" ? length : 2 * (length - 1);
        const std::int64_t within = ((at % period) + period) % period;
        return within < length ? within : period - within;
    }

    Mosaic extended(const Mosaic& data, std::size_t axis, std::int64_t before, std::int64_t after) const {
        const std::int64_t length = data.shape()[axis];
        if (data.pieces().size() >= kMostBoxes && before + length + after <= kMaxIndices) {
            Dims indices;
            for (std::int64_t at = -before; at < length + after; ++at) indices.push_back(source_of(at, length));
            return data.list(axis, indices);
        }
        const auto runs = [&](std::vector<Mosaic::Run> all) {
            std::erase_if(all, [](const Mosaic::Run& run) { return run.count == 0; });
            return data.take(axis, all);
        };
        if (mode_ == "edge" || length == 1) return runs({{0, 0, before}, {0, 1, length}, {length - 1, 0, after}});
        const bool reflects = mode_ == "reflect";
        if (!reflects && std::max(before, after) <= length)
            return runs({{length - before, 1, before}, {0, 1, length}, {0, 1, after}});
        if (reflects && std::max(before, after) < length)
            return runs({{before, -1, before}, {0, 1, length}, {length - 2, -1, after}});
        // Wider than the axis: a part of the period again and again.
        const Mosaic period = reflects ? runs({{0, 1, length}, {length - 2, -1, length - 2}}) : data;
        const std::int64_t each = period.shape()[axis];
        const std::int64_t begin = (each - before % each) % each;
        const std::int64_t total = before + length + after;
        Dims shape = period.shape();
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), (begin + total + each - 1) / each);
        std::vector<std::size_t> to(period.shape().size());
        for (std::size_t k = 0; k < to.size(); ++k) to[k] = k < axis ? k : k + 1;
        Dims merged = period.shape();
        merged[axis] = shape[axis] * each;
        return period.broadcast(shape, to).reshape(merged).take(axis, begin, 1, total);
    }

    Widths widths_;
    std::string mode_;
    Element value_;
    std::vector<Dims> pairs_;  // of two widths each: one for all axes, or one for each
};

}  // namespace

StepPtr pad(Widths widths, std::string mode, Element value) {
    return std::make_shared<PadStep>(std::move(widths), std::move(mode), std::move(value));
}

}  // namespace dnnmove::chain
