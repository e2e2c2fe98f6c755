// What the steps of chains share: how axes are named, and steps that are put together from simpler ones.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chain/step.hpp"
#include "runtime/recent.hpp"

namespace dnnmove::chain {

inline Value to_value(const Axes& axes) {
    return std::visit([](const auto& each) { return Value(each); }, axes);
}

// The axes, each in [0, ndim): none twice (ValueError), none outside (AxisError). None stands for all.
std::vector<std::size_t> resolve_axes(const Axes& axes, std::size_t ndim, std::string_view argument);

// After a step that fixes the length of `axis` and lets the other axes be.
std::optional<Leading> elsewhere(std::int64_t axis, const Leading& leading, const Dims& shape);

// A step that does what simpler ones do one after another, each with one result.
class ComposedStep : public Step {
public:
    std::vector<Dims> check(const Dims& shape) const final;
    std::vector<Mosaic> apply(const Mosaic& data) const final;
    std::optional<Leading> follow(const Leading& leading, const Dims& shape) const final;

protected:
    // The simpler steps, for an array of this shape; throws what is wrong with the arguments.
    virtual std::vector<StepPtr> parts(const Dims& shape) const = 0;

private:
    using Parts = std::vector<StepPtr>;
    std::shared_ptr<const Parts> known_parts(const Dims& shape) const;

    mutable Recent<Dims, Parts> known_{2};  // hundreds of branches have a shape in common
};

// A new axis at `position` of the result, along which the data is repeated `count` times.
StepPtr insert_axis(std::size_t position, std::int64_t count);

// `sizes` with a -1 replaced by what is left of `total`; `fail(why)` throws where they do not multiply to it.
Dims resolve_rest(const Dims& sizes, std::int64_t total, const std::function<void(const std::string&)>& fail);

// Where the leading axis is when a reshape gives the axes from `before` on, which hold it, `sizes` with one -1:
// in the axis of the -1, if the lengths before that are those of slower positions. `slower` and `faster` are
// the positions of those axes that are slower and faster than the leading one.
std::optional<Leading> follow_rest(const Leading& leading, std::size_t before, const Dims& sizes, std::int64_t slower,
                                   std::int64_t faster);

}  // namespace dnnmove::chain
