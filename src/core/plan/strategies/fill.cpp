// Fill: one element again and again, contiguously in the destination.
#include <cmath>

#include "plan/strategies.hpp"
#include "plan/row_strategy.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kFillBytes = 64 * 1024;  // of a unit

struct Fill final : RowStrategy {
    using RowStrategy::RowStrategy;

    bool match(const Problem& problem) {
        if (problem.innermost != Problem::Innermost::repeated) return false;
        const std::size_t last = problem.loops.size() - 1;
        a = TiledLoop::covering(problem.loops[last]);
        taken.push_back(last);
        take_second_loop(problem, last - 1, a.extent * itemsize);
        return true;
    }
    double cost(const Problem&) const override {
        // Cycles of a store per vector, and of a row (Zen 4: 2 to 4.6 in all of one up to a line); on the way to a line, and from a
        // pattern in memory (elements of other sizes than a vector's divisors), of some more.
        const auto row = static_cast<double>(a.extent * itemsize);
        return (std::ceil(row / 64) + 2 + (row > 512 ? 4 : 0) + (power_of_two(itemsize) ? 0 : 60)) / row;
    }
    StoreMode size(const Problem& problem) override {
        const std::int64_t row = a.extent * itemsize;
        const bool lines = row % kLine == 0 && row_alignment(problem) == kLine;
        size_inside_out(itemsize, kFillBytes, kLine);
        const bool stream = problem.context.far_beyond_cache && (lines || row >= kLeastStreamedRun);
        return stream ? StoreMode::nontemporal : StoreMode::cached;
    }
    void run(const Call& call) const noexcept override {
        KernelStores stores = call.stores();
        // (Emerald Rapids, AVX2, one thread, 40 to 400 KB: fills of 16 to 128 bytes 0.6 to 1.3 times as fast if they ask for their
        // lines; by vectors of a line 1.0 to 1.9.)
        if (call.near && call.kernels.vector_bytes < kLine) stores.claim = false;
        call.kernels.fill(call.src(), call.dst, itemsize, a_of(call), b_of(call), stores);
    }
    StrategyWords describe() const override { return {"fill", "elements", "rows"}; }
};

}  // namespace

std::unique_ptr<Strategy> match_fill(const Problem& problem) { return matched<Fill>(problem); }

}  // namespace dnnmove
