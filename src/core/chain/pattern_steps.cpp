// The steps that take a pattern of einops: rearrange and repeat.
#include <algorithm>

#include "chain/pattern.hpp"
#include "chain/step_parts.hpp"
#include "ops/common.hpp"

namespace dnnmove::chain {
namespace {

using ops::named;

class PatternStep : public ComposedStep {
public:
    PatternStep(bool repeats, std::string pattern, std::vector<Length> lengths)
        : repeats_(repeats), pattern_(Pattern::parse(std::move(pattern))), lengths_(std::move(lengths)) {
        check_sides();
        for (const auto& [name, length] : lengths_) {
            if (Pattern::find(pattern_.left, name) == nullptr && Pattern::find(pattern_.right, name) == nullptr) {
                throw ValueError(named(name, length) + " is no axis of pattern " + to_string(Value(pattern_.text)));
            }
            if (length < 0) {
                throw ValueError(named(name, length) + " must be at least 0, as the length of an axis of pattern " +
                                 to_string(Value(pattern_.text)));
            }
        }
        for (const PatternGroup& group : pattern_.left) check_known(group);
    }

    std::string name() const override { return repeats_ ? "repeat" : "rearrange"; }
    std::vector<Argument> arguments() const override {
        std::vector<Argument> all{{"", pattern_.text}};
        for (const auto& [name, length] : lengths_) all.push_back({name, length});
        return all;
    }

private:
    // What every axis of the pattern needs on the other side, whatever the array.
    void check_sides() const {
        for (const PatternGroup& group : pattern_.left) {
            for (const PatternAxis& axis : group.axes) {
                if (axis.number) {
                    pattern_.fail(axis,
                                  "is an axis without a name, whose elements have no place on the right: name it, and give "
                                  "its length by keyword");
                }
                if (axis.ellipsis() && group.text != "...") pattern_.fail(axis, "must not stand in parentheses on the left");
                if (Pattern::find(pattern_.right, axis.name) == nullptr) pattern_.fail(axis, "stands on the left only");
            }
        }
        for (const PatternGroup& group : pattern_.right) {
            for (const PatternAxis& axis : group.axes) {
                if (axis.number && repeats_) continue;
                if (axis.number) pattern_.fail(axis, "is a new axis: repeat makes these, rearrange does not");
                if (Pattern::find(pattern_.left, axis.name) != nullptr) continue;
                if (axis.ellipsis() || !repeats_) pattern_.fail(axis, "stands on the right only");
                if (!length_of(axis)) pattern_.fail(axis, "is a new axis, whose length must be given as " + axis.name + "=...");
            }
        }
    }

    // At most one length in parentheses may be left to the array.
    void check_known(const PatternGroup& group) const {
        const PatternAxis* open = nullptr;
        for (const PatternAxis& axis : group.axes) {
            if (length_of(axis)) continue;
            if (open != nullptr) {
                pattern_.fail(axis, "and '" + open->name +
                                        "' stand in one pair of parentheses: all lengths but one must be given, as " +
                                        axis.name + "=...");
            }
            open = &axis;
        }
    }

    std::optional<std::int64_t> length_of(const PatternAxis& axis) const {
        if (axis.number) return axis.number;
        for (const auto& [name, length] : lengths_) {
            if (name == axis.name) return length;
        }
        return std::nullopt;
    }

    std::vector<StepPtr> parts(const Dims& shape) const override {
        const std::size_t ellipsis = axes_of_ellipsis(shape);
        std::vector<StepPtr> parts;
        // The left side: dimensions become the axes that they are made of, the last first, so that those
        // before it keep their numbers.
        std::vector<std::string> names;  // of the axes then; "...0", "...1" for an ellipsis
        for (std::size_t g = pattern_.left.size(), dimension = shape.size(); g-- > 0;) {
            const PatternGroup& group = pattern_.left[g];
            if (group.text == "...") {
                dimension -= ellipsis;
                const auto stand_ins = names_of(group.axes.front(), ellipsis);
                names.insert(names.begin(), stand_ins.begin(), stand_ins.end());
                continue;
            }
            --dimension;
            const Dims sizes = sizes_of(group, dimension, shape);
            if (sizes != Dims{-1}) parts.push_back(unflatten(static_cast<std::int64_t>(dimension), sizes));
            for (std::size_t i = group.axes.size(); i-- > 0;) names.insert(names.begin(), group.axes[i].name);
        }
        // In the order of the right side, with its new axes.
        Dims order;
        std::vector<StepPtr> fresh;
        std::vector<std::size_t> counts;  // axes of each dimension of the result
        std::size_t position = 0;
        for (const PatternGroup& group : pattern_.right) {
            const std::size_t before = position;
            for (const PatternAxis& axis : group.axes) {
                for (const std::string& each : names_of(axis, ellipsis)) {
                    const auto found = axis.number ? names.end() : std::find(names.begin(), names.end(), each);
                    if (found == names.end()) {
                        fresh.push_back(insert_axis(position, *length_of(axis)));
                    } else {
                        order.push_back(found - names.begin());
                    }
                    ++position;
                }
                if (group.text == "...") counts.insert(counts.end(), ellipsis, 1);
            }
            if (group.text != "...") counts.push_back(position - before);
        }
        parts.push_back(transpose(std::move(order)));
        parts.insert(parts.end(), fresh.begin(), fresh.end());
        // Dimensions of several axes, or of none, the last first.
        for (std::size_t i = counts.size(); i-- > 0;) {
            position -= counts[i];
            const auto first = static_cast<std::int64_t>(position);
            if (counts[i] == 0) parts.push_back(insert_axis(position, 1));
            if (counts[i] > 1) parts.push_back(flatten(first, first + static_cast<std::int64_t>(counts[i]) - 1));
        }
        return parts;
    }

    static std::vector<std::string> names_of(const PatternAxis& axis, std::size_t ellipsis) {
        if (!axis.ellipsis()) return {axis.name};
        std::vector<std::string> names;
        for (std::size_t i = 0; i < ellipsis; ++i) names.push_back("..." + std::to_string(i));
        return names;
    }

    // How many axes the ellipsis stands for; 0 where there is none.
    std::size_t axes_of_ellipsis(const Dims& shape) const {
        const bool open = Pattern::find(pattern_.left, "...") != nullptr;
        const std::size_t named_axes = pattern_.left.size() - (open ? 1 : 0);
        if (open ? shape.size() < named_axes : shape.size() != named_axes) {
            pattern_.fail("names " + std::string(open ? "at least " : "") + std::to_string(named_axes) +
                          " dimensions on the left, but data.shape " + dnnmove::to_string(shape) + " has " +
                          std::to_string(shape.size()));
        }
        return shape.size() - named_axes;
    }

    // The lengths of the axes of one dimension, -1 for the one that is left to the array.
    Dims sizes_of(const PatternGroup& group, std::size_t dimension, const Dims& shape) const {
        const std::int64_t total = shape[dimension];
        const std::string where = "'" + group.text + "' stands for " + named(ops::kDataShape, dimension, total);
        Dims sizes;
        Dims known;
        std::string given;
        for (const PatternAxis& axis : group.axes) {
            const auto length = length_of(axis);
            sizes.push_back(length.value_or(-1));
            if (!length) continue;
            known.push_back(*length);
            given += (given.empty() ? "" : ", ") + axis.name + "=" + std::to_string(*length);
        }
        const std::int64_t product = element_count(known);
        if (known.size() == sizes.size()) {
            if (product != total) pattern_.fail("does not fit: " + where + ", not " + (given.empty() ? "1" : given));
        } else if (!known.empty() && (product == 0 || total % product != 0)) {
            pattern_.fail("does not fit: " + where + ", which is no multiple of " + given);
        }
        return sizes;
    }

    bool repeats_;
    Pattern pattern_;
    std::vector<Length> lengths_;
};

}  // namespace

StepPtr rearrange(std::string pattern, std::vector<Length> lengths) {
    return std::make_shared<PatternStep>(false, std::move(pattern), std::move(lengths));
}
StepPtr repeat(std::string pattern, std::vector<Length> lengths) {
    return std::make_shared<PatternStep>(true, std::move(pattern), std::move(lengths));
}

}  // namespace dnnmove::chain
