// A chain: adding a step checks it against every branch and names it in errors.
#include "chain/chain.hpp"

#include <algorithm>
#include <utility>

#include "runtime/error.hpp"

namespace dnnmove::chain {
namespace {

// Results are arrays that somebody allocates, so their bytes must fit into 63 bits even where a
// length is 0 (NumPy asks the same).
void check_size(const Dims& shape, std::int64_t itemsize) {
    if (shape.size() > kMaxRank) {
        throw ValueError("the result " + to_string(shape) + " has " + std::to_string(shape.size()) +
                         " dimensions, but at most " + std::to_string(kMaxRank) + " are possible");
    }
    std::int64_t bytes = std::max<std::int64_t>(itemsize, 1);
    for (const std::int64_t length : shape) {
        if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(length, 1), &bytes)) {
            throw ValueError("the result " + to_string(shape) + " has more bytes than 63 bits can count");
        }
    }
}

}  // namespace

Chain::Chain(Dims shape, Dims strides, std::int64_t itemsize)
    : shape_(std::move(shape)), strides_(std::move(strides)), itemsize_(itemsize) {
    check_size(shape_, itemsize_);
    levels_.push_back(std::make_shared<const Level>(Level{{shape_}, {}}));
}

Chain Chain::then(StepPtr step) const {
    const std::vector<Dims>& before = outputs();
    const auto where = [&](std::size_t branch) {
        return "step " + std::to_string(steps_.size() + 1) + " (" + step->name() + ")" +
               (before.size() > 1 ? ", branch " + std::to_string(branch) : "") + ": ";
    };
    if (steps_.size() == kMaxSteps) {
        throw ValueError(where(0) + "a chain takes at most " + std::to_string(kMaxSteps) + " steps");
    }
    auto level = std::make_shared<Level>();
    level->begins.push_back(0);
    for (std::size_t branch = 0; branch < before.size(); ++branch) {
        try {
            for (Dims& shape : step->check(before[branch])) {
                check_size(shape, itemsize_);
                level->shapes.push_back(std::move(shape));
            }
            if (level->shapes.size() > static_cast<std::size_t>(kMaxBranches)) {
                throw ValueError("a chain takes at most " + std::to_string(kMaxBranches) + " branches");
            }
        } catch (const AxisError& error) {
            throw AxisError(where(branch) + error.what());
        } catch (const ValueError& error) {
            throw ValueError(where(branch) + error.what());
        }
        level->begins.push_back(level->shapes.size());
    }
    Chain longer = *this;
    longer.splits_ = splits_ || step->splits();
    longer.steps_.push_back(std::move(step));
    longer.levels_.push_back(std::move(level));
    return longer;
}

std::string Chain::text() const {
    std::string text;
    for (const StepPtr& step : steps_) text += "." + step->text();
    return text;
}

}  // namespace dnnmove::chain
