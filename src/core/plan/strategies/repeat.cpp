// Repeat: an element or a row again and again over a long run of the destination, by string instructions.
#include "plan/strategies.hpp"

namespace dnnmove {
namespace {

// Runs from which string instructions are worth their start, of elements that divide a word and of others; the longest row; and
// bytes of a unit. (Zen 5, 10 to 64 MB: elements of 4 bytes 1.05 to 1.6 times as fast as by vectors, in runs of 8 KB level,
// inside the second-level caches 0.85; rows of 1 to 16 KB 1.1 to 1.36 times, in runs of 25 KB 0.93 to 1.12. From 128 MB on
// 0.8 to 1 of the speed of stores past the caches.)
constexpr std::int64_t kLeastWords = 16 * 1024;
constexpr std::int64_t kLeastRun = 32 * 1024;
constexpr std::int64_t kLongestRow = 128 * 1024;
constexpr std::int64_t kUnit = 256 * 1024;
constexpr double kCyclesPerByte = 0.005;

struct Repeat final : Strategy {
    using Strategy::Strategy;

    bool match(const Problem& problem) {
        const auto& [loops, bytes, context, innermost] = problem;
        if (!context.processor->repeats_by_strings || context.near || context.far_beyond_cache) return false;
        if (loops.empty() || bytes > kLongestRow || innermost == Problem::Innermost::listed) return false;
        const Loop& last = loops.back();
        if (last.table || last.src_stride != 0 || last.dst_stride != bytes) return false;
        const bool words = bytes <= 8 && power_of_two(bytes);
        if (last.extent * bytes < (words ? kLeastWords : kLeastRun)) return false;
        a = TiledLoop::covering(last);
        taken.push_back(loops.size() - 1);
        return true;
    }
    double cost(const Problem&) const override { return kCyclesPerByte; }
    double call_cost(const Problem&) const override { return 0; }  // an element read, the ends of a run: little beside it
    Schedule schedule(const Problem&) override {
        a.tile = even_tile(a.extent, steps_for(kUnit, itemsize));
        return {};
    }
    void run(const Call& call) const noexcept override {
        call.kernels.repeat(call.src(), itemsize, call.dst, a.steps(call.unit.a_tile) * itemsize);
    }
    StrategyWords describe() const override { return {"repeat", "elements", "rows", "by string instructions"}; }
};

}  // namespace

std::unique_ptr<Strategy> match_repeat(const Problem& problem) { return matched<Repeat>(problem); }

}  // namespace dnnmove
