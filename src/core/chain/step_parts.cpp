// What the steps of chains share: how axes are named, and steps that are put together from simpler ones.
#include "chain/step_parts.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ops/common.hpp"

namespace dnnmove::chain {
namespace {

class InsertAxis : public Step {
public:
    InsertAxis(std::size_t position, std::int64_t count) : position_(position), count_(count) {}

    std::string name() const override { return "insert_axis"; }
    std::vector<Argument> arguments() const override {
        return {{"position", static_cast<std::int64_t>(position_)}, {"count", count_}};
    }
    bool reshapes() const override { return count_ == 1; }
    std::vector<Dims> check(const Dims& shape) const override {
        Dims result = shape;
        result.insert(result.begin() + static_cast<std::ptrdiff_t>(position_), count_);
        return {result};
    }
    std::vector<Mosaic> apply(const Mosaic& data) const override {
        std::vector<std::size_t> to(data.shape().size());
        for (std::size_t axis = 0; axis < to.size(); ++axis) to[axis] = axis < position_ ? axis : axis + 1;
        return {data.broadcast(check(data.shape()).front(), to)};
    }
    std::optional<Leading> follow(const Leading& leading, const Dims&) const override {
        Leading after = leading;
        after.axis += position_ <= leading.axis ? 1 : 0;
        return after;
    }

private:
    std::size_t position_;
    std::int64_t count_;
};

}  // namespace

std::vector<std::size_t> resolve_axes(const Axes& axes, std::size_t ndim, std::string_view argument) {
    std::vector<std::size_t> all;
    if (std::holds_alternative<std::monostate>(axes)) {
        all.resize(ndim);
        std::iota(all.begin(), all.end(), std::size_t{0});
        return all;
    }
    const auto* one = std::get_if<std::int64_t>(&axes);
    for (const std::int64_t axis : one != nullptr ? Dims{*one} : std::get<Dims>(axes)) {
        all.push_back(ops::normalize_axis(axis, ndim, argument));
        if (std::find(all.begin(), all.end() - 1, all.back()) != all.end() - 1) {
            throw ValueError(std::string(argument) + " " + to_string(to_value(axes)) + " names axis " +
                             std::to_string(all.back()) + " twice");
        }
    }
    return all;
}

std::optional<Leading> elsewhere(std::int64_t axis, const Leading& leading, const Dims& shape) {
    if (ops::normalize_axis(axis, shape.size()) == leading.axis) return std::nullopt;
    return leading;
}

std::shared_ptr<const ComposedStep::Parts> ComposedStep::known_parts(const Dims& shape) const {
    if (auto known = known_.find(shape)) return known;
    return known_.insert(shape, std::make_shared<const Parts>(parts(shape)));
}

std::vector<Dims> ComposedStep::check(const Dims& shape) const {
    Dims now = shape;
    const std::shared_ptr<const Parts> all = known_parts(shape);
    for (const StepPtr& part : *all) now = part->check(now).front();
    return {now};
}

std::vector<Mosaic> ComposedStep::apply(const Mosaic& data) const {
    std::vector<Mosaic> now;
    Dims shape = data.shape();
    bool reshaped = false;  // `shape` is that of the array, whose boxes are not cut for it yet
    const auto latest = [&]() -> const Mosaic& { return now.empty() ? data : now.front(); };
    const std::shared_ptr<const Parts> all = known_parts(shape);
    for (const StepPtr& part : *all) {
        if (part->reshapes()) {
            shape = part->check(shape).front();
            reshaped = true;
            continue;
        }
        if (std::exchange(reshaped, false)) now = {latest().reshape(shape)};
        now = part->apply(latest());
        shape = now.front().shape();
    }
    if (reshaped || now.empty()) now = {latest().reshape(shape)};
    return now;
}

std::optional<Leading> ComposedStep::follow(const Leading& leading, const Dims& shape) const {
    std::optional<Leading> after = leading;
    Dims now = shape;
    const std::shared_ptr<const Parts> all = known_parts(shape);
    for (const StepPtr& part : *all) {
        if (after) after = part->follow(*after, now);
        now = part->check(now).front();
    }
    return after;
}

StepPtr insert_axis(std::size_t position, std::int64_t count) { return std::make_shared<InsertAxis>(position, count); }

Dims resolve_rest(const Dims& sizes, std::int64_t total, const std::function<void(const std::string&)>& fail) {
    Dims result = sizes;
    std::int64_t* rest = nullptr;
    for (std::int64_t& length : result) {
        if (length < -1) fail(std::to_string(length) + " is negative");
        if (length != -1) continue;
        if (rest != nullptr) fail("-1 occurs twice");
        rest = &length;
        length = 1;
    }
    const std::int64_t known = element_count(result);
    if (rest != nullptr) {
        if (known == 0) fail("-1 could be anything beside a length of 0");
        if (total % known != 0) fail("the known lengths hold " + std::to_string(known));
        *rest = total / known;
    } else if (known != total) {
        fail("it holds " + std::to_string(known));
    }
    return result;
}

std::optional<Leading> follow_rest(const Leading& leading, std::size_t before, const Dims& sizes, std::int64_t slower,
                                   std::int64_t faster) {
    const auto rest = std::find(sizes.begin(), sizes.end(), -1);
    if (rest == sizes.end()) return std::nullopt;
    const std::int64_t named = element_count(Dims(sizes.begin(), rest));
    if (slower % named != 0) return std::nullopt;
    Leading after = leading;
    after.axis = before + static_cast<std::size_t>(rest - sizes.begin());
    // An extent of 1 may be what a 1 before it names.
    if (leading.extent == 1 && after.axis > leading.axis) return std::nullopt;
    after.outer = slower / named;
    if (after.outer == 1) return after;
    // The elements of one slower position must not spill into the next one's.
    const std::int64_t inner = element_count(Dims(rest + 1, sizes.end()));
    return inner != 0 && faster % inner == 0 ? std::optional(after) : std::nullopt;
}

}  // namespace dnnmove::chain
