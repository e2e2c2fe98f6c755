// Basic indexing as a step of a chain: integers, slices, new axes and an ellipsis, as NumPy does it.
#include <algorithm>

#include "chain/step.hpp"
#include "ops/common.hpp"
#include "runtime/error.hpp"

namespace dnnmove::chain {
namespace {

// What happens to one axis of the data, or `fresh` for a new axis of length 1.
struct Selection {
    bool fresh = false;
    bool drop = false;  // an integer: the axis goes
    bool whole = false;  // whatever its length
    std::size_t axis = 0;
    std::int64_t begin = 0;
    std::int64_t step = 1;
    std::int64_t count = 1;
};

// `bound` of a slice, counted from the end where negative, within [lowest, highest].
std::int64_t clamp_bound(std::int64_t bound, std::int64_t length, std::int64_t lowest, std::int64_t highest) {
    return std::clamp(bound < 0 ? bound + length : bound, lowest, highest);
}

Selection select(const Slice& slice, std::size_t axis, std::int64_t length) {
    const bool forward = slice.step > 0;
    const std::int64_t lowest = forward ? 0 : -1;
    const std::int64_t highest = forward ? length : length - 1;
    const std::int64_t start = slice.start ? clamp_bound(*slice.start, length, lowest, highest) : forward ? lowest : highest;
    const std::int64_t stop = slice.stop ? clamp_bound(*slice.stop, length, lowest, highest) : forward ? highest : lowest;
    Selection selection;
    selection.axis = axis;
    selection.begin = start;
    selection.step = slice.step;
    const std::int64_t range = forward ? stop - start : start - stop;
    // Unsigned, since the most negative step has no positive counterpart.
    const auto pace = forward ? static_cast<std::uint64_t>(slice.step)
                              : std::uint64_t{0} - static_cast<std::uint64_t>(slice.step);
    selection.whole = slice.step == 1 && slice.start.value_or(0) == 0 && !slice.stop;
    selection.count = range <= 0 ? 0 : static_cast<std::int64_t>((static_cast<std::uint64_t>(range) - 1) / pace) + 1;
    return selection;
}

class IndexStep : public Step {
public:
    explicit IndexStep(std::vector<IndexEntry> entries) : entries_(std::move(entries)) {}

    std::string name() const override { return "index"; }
    std::vector<Argument> arguments() const override { return {{"", entries_}}; }

    std::vector<Dims> check(const Dims& shape) const override {
        Dims result;
        for (const Selection& selection : selections(shape)) {
            if (!selection.drop) result.push_back(selection.count);
        }
        return {result};
    }

    std::vector<Mosaic> apply(const Mosaic& data) const override {
        Mosaic result = data;
        for (const Selection& selection : selections(data.shape())) {
            if (selection.fresh) continue;
            result = result.take(selection.axis, selection.begin, selection.step, selection.count);
        }
        // Axes of length 1 come and go.
        return {result.reshape(check(data.shape()).front())};
    }

    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const override {
        Leading after = leading;
        after.axis = 0;
        for (const Selection& selection : selections(shape)) {
            if (!selection.fresh && selection.axis == leading.axis) {
                return selection.whole ? std::optional(after) : std::nullopt;
            }
            after.axis += selection.drop ? 0 : 1;
        }
        return std::nullopt;
    }

private:
    std::string key() const { return to_string(Value(entries_)); }

    // One per axis of the data and new axis, in the order of the result.
    std::vector<Selection> selections(const Dims& shape) const {
        std::size_t named = 0;
        std::size_t ellipses = 0;
        for (const IndexEntry& entry : entries_) {
            ellipses += std::holds_alternative<Ellipsis>(entry);
            named += std::holds_alternative<std::int64_t>(entry) || std::holds_alternative<Slice>(entry);
        }
        if (ellipses > 1) throw IndexError("key " + key() + " must hold at most one ellipsis");
        if (named > shape.size()) {
            throw IndexError("key " + key() + " indexes " + std::to_string(named) + " axes, but data has " +
                             std::to_string(shape.size()) + " dimensions");
        }
        std::vector<Selection> result;
        std::size_t axis = 0;
        const auto whole = [&](std::size_t count) {
            for (; count > 0; --count, ++axis) result.push_back(select(Slice{}, axis, shape[axis]));
        };
        for (const IndexEntry& entry : entries_) {
            if (std::holds_alternative<Ellipsis>(entry)) {
                whole(shape.size() - named);
            } else if (std::holds_alternative<NewAxis>(entry)) {
                result.push_back(Selection{.fresh = true});
            } else if (const auto* slice = std::get_if<Slice>(&entry)) {
                if (slice->step == 0) throw ValueError("key " + key() + " must not hold a slice of step 0");
                result.push_back(select(*slice, axis, shape[axis]));
                ++axis;
            } else {
                const std::int64_t position = std::get<std::int64_t>(entry);
                const std::int64_t length = shape[axis];
                if (position < -length || position >= length) {
                    throw IndexError("key " + key() + " holds " + std::to_string(position) + ", which must lie in [" +
                                     std::to_string(-length) + ", " + std::to_string(length) + ") for " +
                                     ops::named(ops::kDataShape, axis, length));
                }
                result.push_back(Selection{.drop = true, .axis = axis, .begin = position < 0 ? position + length : position});
                ++axis;
            }
        }
        whole(shape.size() - axis);
        return result;
    }

    std::vector<IndexEntry> entries_;
};

}  // namespace

StepPtr index(std::vector<IndexEntry> entries) { return std::make_shared<IndexStep>(std::move(entries)); }

}  // namespace dnnmove::chain
