// A chain: adding a step checks it against every branch and names it in errors.
#include "chain/chain.hpp"

#include <algorithm>
#include <utility>

#include "runtime/error.hpp"

namespace dnnmove::chain {
namespace {

// Adds the arrays that a step makes of one branch.
void add(Level& level, std::vector<Dims> shapes, std::int64_t itemsize) {
    for (Dims& shape : shapes) {
        check_size(shape, itemsize, "the result");
        level.shapes.push_back(std::move(shape));
    }
    if (level.shapes.size() > static_cast<std::size_t>(kMaxBranches)) {
        throw ValueError("a chain takes at most " + std::to_string(kMaxBranches) + " branches");
    }
}

// Runs `body`; the message of what it throws is led by `where()`.
template <class Where, class Body>
void lead(const Where& where, const Body& body) {
    try {
        body();
    } catch (const AxisError& error) {
        throw AxisError(where() + error.what());
    } catch (const IndexError& error) {
        throw IndexError(where() + error.what());
    } catch (const ValueError& error) {
        throw ValueError(where() + error.what());
    }
}

}  // namespace

Chain::Chain(std::shared_ptr<const std::vector<Source>> sources, bool joins, std::int64_t itemsize)
    : sources_(std::move(sources)), joins_(joins), itemsize_(itemsize) {
    Level level;
    for (const Source& source : *sources_) {
        check_size(source.shape, itemsize_, "the source");
        level.shapes.push_back(source.shape);
    }
    level.active = {0, level.shapes.size()};
    levels_.push_back(std::make_shared<const Level>(std::move(level)));
}

Chain::Chain(Dims shape, Dims strides, std::int64_t itemsize)
    : Chain(std::make_shared<const std::vector<Source>>(1, Source{std::move(shape), std::move(strides)}), false, itemsize) {}

Chain::Chain(std::vector<Source> sources, std::int64_t itemsize)
    : Chain(std::make_shared<const std::vector<Source>>(std::move(sources)), true, itemsize) {}

Mosaic Chain::start() const {
    if (!joins_) return Mosaic(sources_->front().shape, sources_->front().strides, itemsize_);
    const auto* const first = steps_.empty() ? nullptr : dynamic_cast<const Join*>(steps_.front().get());
    if (first == nullptr) {
        throw ValueError("the chain has " + std::to_string(sources_->size()) +
                         (sources_->size() == 1 ? " source in a list" : " sources") +
                         ": its first step must be stack or concat");
    }
    return first->join(*sources_, itemsize_);
}

Chain Chain::then(StepPtr step) const {
    const Level& before = *levels_.back();
    const std::size_t count = before.shapes.size();
    const std::string place = "step " + std::to_string(steps_.size() + 1) + " (" + step->name() + ")";
    if (steps_.size() == kMaxSteps) {
        throw ValueError(place + ": a chain takes at most " + std::to_string(kMaxSteps) + " steps");
    }
    if (conversion() != nullptr) {
        throw ValueError(place + ": no step may follow " + steps_.back()->text() + ", which is the last");
    }
    auto level = std::make_shared<Level>();
    Chain longer = *this;
    longer.splits_ = splits_ || step->splits();
    if (open()) {
        longer.steps_.push_back(std::move(step));
        lead([&] { return place + ": "; },
             [&] {
                 const auto* const join = dynamic_cast<const Join*>(longer.steps_.front().get());
                 if (join != nullptr) add(*level, {join->shape(*sources_)}, itemsize_);
                 static_cast<void>(longer.start());  // for its checks
             });
        level->begins.assign(count + 1, 1);
        level->begins.front() = 0;
        level->taken = level->active = {0, 1};
        longer.levels_.push_back(std::move(level));
        return longer;
    }
    std::optional<Branches> turned;
    lead([&] { return place + ": "; }, [&] { turned = step->turns(count); });
    const Conversion* const converted = step->converts();
    const std::int64_t itemsize = converted == nullptr ? itemsize_ : static_cast<std::int64_t>(bytes_of(converted->to));
    if (!turned) level->taken = converted == nullptr ? before.active : Branches{0, count};
    level->begins.push_back(0);
    for (std::size_t branch = 0; branch < count; ++branch) {
        if (level->taken.contains(branch)) {
            const auto where = [&] { return place + (count > 1 ? ", branch " + std::to_string(branch) : "") + ": "; };
            lead(where, [&] { add(*level, step->check(before.shapes[branch]), itemsize); });
        } else {
            level->shapes.push_back(before.shapes[branch]);
        }
        level->begins.push_back(level->shapes.size());
    }
    level->active = turned ? *turned : Branches{level->begins[before.active.begin], level->begins[before.active.end]};
    if (!before.swapped.empty() || step->swaps() != nullptr) {
        for (std::size_t branch = 0; branch < count; ++branch) {
            const bool was = !before.swapped.empty() && before.swapped[branch];
            const bool turns = step->swaps() != nullptr && level->taken.contains(branch);
            level->swapped.insert(level->swapped.end(), level->begins[branch + 1] - level->begins[branch], was != turns);
        }
    }
    if (step->swaps() != nullptr) longer.swap_ = step;
    longer.steps_.push_back(std::move(step));
    longer.levels_.push_back(std::move(level));
    return longer;
}

Finish Chain::finish(std::size_t output) const {
    const std::vector<Words>* const words = swapped(output) ? swap_->swaps() : nullptr;
    return finish_of(words, conversion(), outputs()[output].size(), itemsize_);
}

std::vector<Mosaic> Chain::apply(std::size_t k, std::size_t branch, const Mosaic& data) const {
    if (!levels_[k + 1]->taken.contains(branch)) return {data};
    return steps_[k]->apply(data);
}

std::optional<std::size_t> Chain::fixes_leading() const {
    std::vector<Leading> branches{Leading{0, 1, sources_->front().shape.front()}};
    if (joins_) {
        const auto joined = dynamic_cast<const Join&>(*steps_.front()).follow_sources(*sources_);
        if (!joined) return 0;
        branches = {*joined};
    }
    for (std::size_t k = joins_ ? 1 : 0; k < steps_.size(); ++k) {
        const Level& after = *levels_[k + 1];
        std::vector<Leading> next(after.shapes.size());
        for (std::size_t branch = 0; branch < branches.size(); ++branch) {
            Leading leading = branches[branch];
            if (after.taken.contains(branch)) {
                const auto found = steps_[k]->follow(leading, levels_[k]->shapes[branch]);
                if (!found) return k;
                leading = *found;
            }
            std::fill(next.begin() + static_cast<std::ptrdiff_t>(after.begins[branch]),
                      next.begin() + static_cast<std::ptrdiff_t>(after.begins[branch + 1]), leading);
        }
        branches = std::move(next);
    }
    return std::nullopt;
}

Chain Chain::on(std::vector<Source> sources) const {
    Chain other(std::make_shared<const std::vector<Source>>(std::move(sources)), joins_, itemsize_);
    for (const StepPtr& step : steps_) other = other.then(step);
    return other;
}

std::string Chain::text() const {
    std::string text;
    for (const StepPtr& step : steps_) text += "." + step->text();
    return text;
}

}  // namespace dnnmove::chain
