// The steps that begin a chain of several sources: stack and concat.
#include <algorithm>

#include "chain/step_parts.hpp"
#include "ops/common.hpp"

namespace dnnmove::chain {
namespace {

std::vector<Dims> shapes_of(const std::vector<Source>& sources) {
    std::vector<Dims> shapes;
    for (const Source& source : sources) shapes.push_back(source.shape);
    return shapes;
}

class StackStep : public Join {
public:
    explicit StackStep(std::int64_t axis) : axis_(axis) {}

    std::string name() const override { return "stack"; }
    std::vector<Argument> arguments() const override { return {{"axis", axis_}}; }
    Dims shape(const std::vector<Source>& sources) const override {
        const std::size_t axis = place(sources);
        for (std::size_t i = 1; i < sources.size(); ++i) {
            if (sources[i].shape == sources.front().shape) continue;
            throw ValueError("arrays[" + std::to_string(i) + "].shape " + dnnmove::to_string(sources[i].shape) +
                             " must equal arrays[0].shape " + dnnmove::to_string(sources.front().shape));
        }
        Dims result = sources.front().shape;
        result.insert(result.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<std::int64_t>(sources.size()));
        return result;
    }
    Mosaic join(const std::vector<Source>& sources, std::int64_t itemsize) const override {
        return Mosaic::stack(sources, place(sources), itemsize);
    }
    std::optional<Leading> follow_sources(const std::vector<Source>& sources) const override {
        return Leading{place(sources) == 0 ? std::size_t{1} : 0, 1, sources.front().shape.front()};
    }

private:
    std::size_t place(const std::vector<Source>& sources) const {
        return ops::normalize_axis(axis_, sources.front().shape.size() + 1);
    }

    std::int64_t axis_;
};

class ConcatStep : public Join {
public:
    explicit ConcatStep(std::int64_t axis) : axis_(axis) {}

    std::string name() const override { return "concat"; }
    std::vector<Argument> arguments() const override { return {{"axis", axis_}}; }
    Dims shape(const std::vector<Source>& sources) const override { return ops::concat(shapes_of(sources), axis_).shape; }
    Mosaic join(const std::vector<Source>& sources, std::int64_t itemsize) const override {
        const ops::Concatenation result = ops::concat(shapes_of(sources), axis_);
        return Mosaic::concat(sources, result.axis, result.starts, itemsize);
    }
    std::optional<Leading> follow_sources(const std::vector<Source>& sources) const override {
        const Dims& first = sources.front().shape;
        if (ops::normalize_axis(axis_, first.size()) != 0) return Leading{0, 1, first.front()};
        const auto alike = [&](const Source& source) { return source.shape.front() == first.front(); };
        if (!std::all_of(sources.begin(), sources.end(), alike)) return std::nullopt;
        // Seen as an axis of sources and the leading one, merged.
        return Leading{0, static_cast<std::int64_t>(sources.size()), first.front()};
    }

private:
    std::int64_t axis_;
};

}  // namespace

std::vector<Dims> Join::check(const Dims&) const {
    throw ValueError(
        "it joins the sources of a chain of several, dnnmove.Chain([...]), as its first step, and is none of any other");
}

StepPtr stack(std::int64_t axis) { return std::make_shared<StackStep>(axis); }
StepPtr concat(std::int64_t axis) { return std::make_shared<ConcatStep>(axis); }

}  // namespace dnnmove::chain
