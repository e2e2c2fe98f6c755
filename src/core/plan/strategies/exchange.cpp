// Exchange: a few streams of elements interleaved into a run of the destination, or deinterleaved, by short vectors.
#include "plan/choose.hpp"
#include "plan/exchange_table.hpp"
#include "plan/row_strategy.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxElement = 16;   // bytes
constexpr std::int64_t kMaxStreams = 16;
// What a run costs besides its blocks, of few vectors and for each of more: cycles.
constexpr double kRunCycles = 60;
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
        auto made = build_exchange(std::vector<std::int64_t>(static_cast<std::size_t>(streams), itemsize), deals, vector_bytes);
        if (!made || a.extent < made->records) return false;
        table = std::move(*made);
        for (std::size_t position = loops.size(); position-- > 0;) {
            if (takes(position)) continue;
            take_second_loop(problem, position, deals ? 0 : a.extent * a.dst_stride);
            break;
        }
        return true;
    }
    double cost(const Problem&) const override {
        const double run = static_cast<double>(a.extent * streams * itemsize);
        const std::int64_t records = table.records;
        const double waste = static_cast<double>((a.extent + records - 1) / records * records) / static_cast<double>(a.extent);
        const double besides = table.few() ? kRunCycles : kVectorRunCycles * static_cast<double>(table.destinations.size());
        return waste * table.cycles_per_line() / kLine + besides / run;
    }
    StoreMode size(const Problem& problem) override {
        const bool stage = problem.context.beyond_cache;
        unit_step = a.dst_stride;
        const std::int64_t unit = stage ? problem.context.unit_bytes : deals ? kUnitBytes / streams : kUnitBytes;
        size_inside_out(unit_step, unit, table.records, stage);
        return stage && fits_stage(kMaxUnitBytes / 2) ? StoreMode::staged : StoreMode::cached;
    }
    void run(const Call& call) const noexcept override {
        const std::byte* from[kMaxStreams];
        std::byte* to[kMaxStreams];
        const std::int64_t steps = a.steps(call.unit.a_tile);
        const std::int64_t blocks = steps / table.records;
        const std::int64_t rest = steps - table.records;  // where the last block starts, which repeats part of others
        const KernelLoop rows = b_of(call);
        const ExchangeBlock block = table.block();
        const auto exchange = [&](const std::byte* src, std::byte* dst, std::int64_t count) {
            for (std::int64_t k = 0; k < streams; ++k) {
                from[k] = src + (deals ? 0 : k * pitch);
                to[k] = dst + (deals ? k * pitch : 0);
            }
            call.kernels.exchange(block, from, to, count, {false, call.stores().prefetch});
        };
        for (std::int64_t j = 0; j < rows.extent; ++j) {
            const std::byte* const src = call.src() + rows.src_at(j);
            std::byte* const dst = call.dst + j * rows.dst_stride;
            exchange(src, dst, blocks);
            if (blocks * table.records != steps) exchange(src + rest * a.src_stride, dst + rest * a.dst_stride, 1);
        }
    }
    StrategyWords describe() const override {
        return {deals ? "deinterleave" : "interleave", "elements", "rows", std::to_string(streams) + " streams"};
    }
    std::size_t memory() const override { return Strategy::memory() + table.memory(); }

    bool deals = false;  // deinterleaves
    std::int64_t streams = 0;
    std::int64_t pitch = 0;  // bytes from stream to stream, on the side where they are separate
    ExchangeTable table;
};

}  // namespace

std::unique_ptr<Strategy> match_exchange(const Problem& problem) { return matched<Exchange>(problem); }

}  // namespace dnnmove
