// Exchange: a few streams of elements interleaved into a run of the destination, or deinterleaved, by short vectors.
#include <numeric>

#include "plan/choose.hpp"
#include "plan/exchange_table.hpp"
#include "plan/row_strategy.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxElement = 16;   // bytes
constexpr std::int64_t kMaxStreams = 16;
// What a run costs besides its blocks, of few vectors and for each of more: cycles.
constexpr double kRunCycles = 15;
constexpr double kVectorRunCycles = 50;

bool may_be_streams(const Loop& loop) { return loop.extent >= 2 && loop.extent <= kMaxStreams; }

// a walks the streams, b is the loop around them.
struct Exchange final : RowStrategy {
    using RowStrategy::RowStrategy;

    bool match(const Problem& problem) {
        const std::vector<Loop>& loops = problem.loops;
        const std::int64_t vector_bytes = problem.kernels().exchange_bytes;
        // (Vectors of lines are gathered as fast.)
        if (problem.innermost != Problem::Innermost::elements || problem.kernels().exchange == nullptr ||
            vector_bytes == kLine || itemsize > kMaxElement || loops.size() < 2) {
            return false;
        }
        const std::size_t last = loops.size() - 1;
        const Loop& inner = loops[last];
        const Loop& before = loops[last - 1];
        if (may_be_streams(inner) && continues(before, inner.extent * itemsize) && before.src_stride == itemsize) {
            streams = inner.extent;
            a = {before.extent, before.extent, itemsize, streams * itemsize, true};
            pitch = inner.src_stride;
            taken = {last - 1, last};
        } else {
            const auto found = std::find_if(loops.begin(), loops.end(), [&](const Loop& loop) {
                return !loop.table && loop.src_stride == itemsize && may_be_streams(loop) &&
                       inner.src_stride == loop.extent * itemsize;
            });
            // Past the caches the lines of each stream would be written in parts.
            if (found == loops.end() || &*found == &inner || problem.context.beyond_cache) return false;
            deals = true;
            streams = found->extent;
            a = {inner.extent, inner.extent, inner.src_stride, itemsize, true};
            pitch = found->dst_stride;
            taken = {static_cast<std::size_t>(found - loops.begin()), last};
        }
        records = vector_bytes / std::gcd(vector_bytes, itemsize);
        const std::int64_t vectors = streams * itemsize * records / vector_bytes;
        if (a.extent < records || !fits_exchange(vectors, records)) return false;
        cycles = exchange_cycles(vectors, few_vectors(vectors) ? vectors * vectors : vectors * std::min(vectors, records),
                                 vector_bytes);
        besides = few_vectors(vectors) ? kRunCycles : kVectorRunCycles * static_cast<double>(vectors);
        for (std::size_t position = loops.size(); position-- > 0;) {
            if (takes(position)) continue;
            take_second_loop(problem, position, deals ? 0 : a.extent * a.dst_stride);
            break;
        }
        return true;
    }
    double cost(const Problem&) const override {
        const double run = static_cast<double>(a.extent * streams * itemsize);
        // Two blocks take the time of one, and the one that repeats part of another is alone.
        const std::int64_t pairs = (a.extent / records + 1) / 2 + (a.extent % records == 0 ? 0 : 1);
        const double waste = static_cast<double>(2 * pairs * records) / static_cast<double>(a.extent);
        return waste * cycles / kLine + besides / run;
    }
    StoreMode size(const Problem& problem) override {
        // There is one: what it takes at most fits (match).
        table = *build_exchange(std::vector<std::int64_t>(static_cast<std::size_t>(streams), itemsize), deals,
                                problem.kernels().exchange_bytes);
        const bool stage = problem.context.beyond_cache;
        unit_step = a.dst_stride;
        const std::int64_t unit = stage ? problem.context.unit_bytes : deals ? kUnitBytes / streams : kUnitBytes;
        size_inside_out(unit_step, unit, records, stage);
        return stage && fits_stage(kMaxUnitBytes / 2) ? StoreMode::staged : StoreMode::cached;
    }
    void run(const Call& call) const noexcept override {
        const std::byte* from[kMaxStreams];
        std::byte* to[kMaxStreams];
        for (std::int64_t k = 0; k < streams; ++k) {
            from[k] = call.src() + (deals ? 0 : k * pitch);
            to[k] = call.dst + (deals ? k * pitch : 0);
        }
        call.kernels.exchange(table.block(), from, to, a.steps(call.unit.a_tile), b_of(call), {false, call.stores().prefetch});
    }
    StrategyWords describe() const override {
        return {deals ? "deinterleave" : "interleave", "elements", "rows", std::to_string(streams) + " streams"};
    }
    std::size_t memory() const override { return Strategy::memory() + table.memory(); }

    bool deals = false;  // deinterleaves
    std::int64_t streams = 0;
    std::int64_t pitch = 0;    // bytes from stream to stream, on the side where they are separate
    std::int64_t records = 0;  // of a block
    double cycles = 0;         // per line
    double besides = 0;        // cycles of a run, whatever its length
    ExchangeTable table;
};

}  // namespace

std::unique_ptr<Strategy> match_exchange(const Problem& problem) { return matched<Exchange>(problem); }

}  // namespace dnnmove
