// A chain: the layout of its source or sources and the steps to take from there, validated one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array/dims.hpp"
#include "chain/finish.hpp"
#include "chain/step.hpp"

namespace dnnmove::chain {

inline constexpr std::size_t kMaxSteps = 256;

// The arrays after one step, all branches in order, depth first.
struct Level {
    std::vector<Dims> shapes;
    // Branch b of the level before became [begins[b], begins[b + 1]) of this one.
    std::vector<std::size_t> begins;
    // The branches of the level before that the step applied to; the others passed by it.
    Branches taken;
    // The branches of this level that the next step applies to.
    Branches active;
    // Whether the byte order of a branch is the other one than the source's; empty where none's is.
    std::vector<bool> swapped;
};

// Immutable and cheap to copy. A step applies to all branches that the splits before it made, or, after
// branch(i), to what became of that one.
class Chain {
public:
    // `strides` in bytes.
    Chain(Dims shape, Dims strides, std::int64_t itemsize);
    // Of several sources, at least one, which the first step joins.
    Chain(std::vector<Source> sources, std::int64_t itemsize);

    // The chain with one more step; throws what the eager function throws, its message led by the
    // step's number and name ("step 2 (transpose): ...").
    Chain then(StepPtr step) const;

    const std::vector<Source>& sources() const { return *sources_; }
    // Of several sources: even if there is one.
    bool joins() const { return joins_; }
    // Several sources that no step joins yet.
    bool open() const { return joins_ && steps_.empty(); }
    // What the first step makes its array of: the source, or the sources as the first step has joined them. ValueError
    // where none has.
    Mosaic start() const;
    std::int64_t itemsize() const { return itemsize_; }
    const std::vector<StepPtr>& steps() const { return steps_; }
    // levels()[0] are the sources, levels()[k] what step k (from 1) leaves.
    const std::vector<std::shared_ptr<const Level>>& levels() const { return levels_; }
    const std::vector<Dims>& outputs() const { return levels_.back()->shapes; }
    // The first step (from 0) that fixes the extent of the sources' leading axis; nothing where none does.
    // The sources have at least one axis.
    std::optional<std::size_t> fixes_leading() const;
    // The same steps from other sources, as many; throws what then() throws.
    Chain on(std::vector<Source> sources) const;
    // What step k (from 0) makes of `data`, which is branch `branch` of what the steps before it leave.
    std::vector<Mosaic> apply(std::size_t k, std::size_t branch, const Mosaic& data) const;
    // True where a split is among the steps: the outputs are then many, even if there is one.
    bool splits() const { return splits_; }
    // The last step, where it is a conversion, else null.
    const Conversion* conversion() const { return steps_.empty() ? nullptr : steps_.back()->converts(); }
    bool swapped(std::size_t output) const { return !levels_.back()->swapped.empty() && levels_.back()->swapped[output]; }
    // Do the outputs have other elements than the source? Never unsaid by a step.
    bool changes_elements() const { return conversion() != nullptr || swap_ != nullptr; }
    // What becomes of an output on its way out.
    Finish finish(std::size_t output) const;
    // ".transpose(input_order=(0, 2, 1)).split(axis=0, num_splits=2)"
    std::string text() const;

private:
    Chain(std::shared_ptr<const std::vector<Source>> sources, bool joins, std::int64_t itemsize);

    std::shared_ptr<const std::vector<Source>> sources_;
    bool joins_;
    std::int64_t itemsize_;
    std::vector<StepPtr> steps_;
    std::vector<std::shared_ptr<const Level>> levels_;
    bool splits_ = false;
    StepPtr swap_;  // the last of those that turn the byte order: all turn the same words
};

}  // namespace dnnmove::chain
