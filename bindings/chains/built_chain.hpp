// A built chain: the passes of a chain as plans, run on arrays, Memory objects and raw pointers.
#pragma once

#include "python/numpy_api.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calls/call_arrays.hpp"
#include "calls/element_type.hpp"
#include "call/call_plan.hpp"
#include "chain/chain.hpp"
#include "chain/fold.hpp"
#include "primitives/executable.hpp"
#include "python/pyref.hpp"
#include "runtime/recent.hpp"

namespace dnnmove::python {

// Immutable but for its caches (plans for outputs that are not row-major, chains for other leading extents) and
// a spare block of scratch memory; may be called from many threads at once, each with scratch memory of its own.
class BuiltChain final : public Executable {
public:
    // `srcs` are plain, and `chain` starts from their layouts. `tune`: as a CallPlan's.
    BuiltChain(const chain::Chain& chain, std::vector<MemoryDesc> srcs, std::size_t max_nests, bool tune);
    ~BuiltChain() override;

    // x: an array or Memory that lies as the source descriptor says, but perhaps for its leading extent. out:
    // None, an array or, where the chain splits, a sequence of arrays, of any strides. One result, or a tuple.
    // Of several sources x is a sequence of as many.
    PyRef call(PyObject* x, PyObject* out) const;
    // Do `xs`, one for each source, lie as the sources do?
    bool takes(const Operand* xs) const {
        std::size_t i = 0;
        while (i < sources.size() && takes(xs[i], i)) ++i;
        return i == sources.size();
    }
    // The chain that runs `xs`, which this one does not take: the same steps on their leading extent. ValueError, which
    // calls them as `name` does, where it cannot be had.
    using Names = std::function<std::string(std::size_t)>;
    std::shared_ptr<const BuiltChain> for_sources(const Operand* xs, const Names& name) const;

    const chain::Chain& chain() const { return chain_; }
    std::size_t max_nests() const { return max_nests_; }
    bool tune() const { return tune_; }
    std::size_t passes() const override { return folded_.passes; }
    bool splits() const { return splits_; }
    const chain::Folded& folded() const { return folded_; }
    // What explain() says of each pass, as values of at most `most` copies.
    std::vector<ProgramSummary> summaries(std::size_t most) const;

    void run(const std::byte* const* srcs, std::byte* const* dsts, const onednn::Stream* stream,
             trace::Call* call) const override;
    bool tunes(std::byte* const* dsts) const noexcept override;
    std::string impl_info() const override;
    std::string explain() const override;

private:
    // One plan per pass. Inputs: the source, then the intermediates; outputs: the outputs, then the
    // intermediates.
    using Plans = std::vector<std::unique_ptr<const CallPlan>>;

    struct FreeScratch {
        void operator()(std::byte* block) const noexcept;
    };
    using Scratch = std::unique_ptr<std::byte, FreeScratch>;

    // Memory for all intermediates; fresh pages cost more than a pass, so one block is kept between calls.
    Scratch take_scratch() const;
    void give_back(Scratch block) const noexcept;

    template <class In, class Out>
    class Call;
    template <class In, class Out>
    PyRef call_on(const In& x, const Out& out) const;

    // Null where it is the source's.
    const ResultType* type(std::size_t output) const { return types_.empty() ? nullptr : &types_[output]; }
    // Writeable, of the output's dtype.
    void check_output(const Operand& out, const Operand& x, std::size_t output, const ArgumentName& name,
                      const ArgumentName& x_name) const;
    Title title_of(std::size_t pass) const;
    // `strides` in bytes, one list per output; empty where all are row-major.
    std::shared_ptr<const Plans> make_plans(const std::vector<Dims>& strides) const;
    // The plans for these outputs; ValueError where a shape is wrong or one overlaps itself.
    std::shared_ptr<const Plans> plans_for(const Operand* outs, std::size_t count) const;
    bool takes(const Operand& x, std::size_t source) const;
    // Whether x could lie as the source does but for its leading extent, which is another.
    bool resizable(const Operand& x, std::size_t source) const;
    // This chain for sources of these layouts, of another leading extent; errors call that of source `other` `named`.
    std::shared_ptr<const BuiltChain> resized(std::vector<Dims> key, std::vector<view::Source> layouts, std::size_t other,
                                              const std::string& named) const;
    [[noreturn]] void refuse(const Operand& x, const std::string& name, std::size_t source) const;
    bool tunes(const Plans& plans, std::byte* const* dsts, int threads) const noexcept;
    // Without the GIL or with it; throws std::bad_alloc only. `call` as run() takes it.
    void run_plans(const Plans& plans, const std::byte* const* srcs, std::byte* const* dsts, int threads,
                   trace::Call* call) const;

    chain::Chain chain_;
    std::size_t max_nests_;
    bool splits_;
    bool tune_;
    chain::Folded folded_;
    std::vector<std::int64_t> places_;  // of the intermediates within the scratch memory, bytes
    std::int64_t scratch_bytes_ = 0;
    std::int64_t bytes_ = 0;  // written by all passes
    std::vector<ResultType> types_;  // of the outputs; empty where all are the source's
    std::shared_ptr<const Plans> row_major_;
    mutable std::atomic<std::byte*> spare_{nullptr};  // owned
    mutable Recent<std::vector<Dims>, Plans> strided_;         // by the strides of all outputs
    mutable Recent<std::vector<Dims>, BuiltChain> resized_;    // by shape and strides of the sources
};

}  // namespace dnnmove::python
