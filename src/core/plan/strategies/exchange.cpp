// Exchange: a few streams of elements interleaved into a run of the destination, or deinterleaved, by short vectors.
#include <numeric>

#include "plan/strategies.hpp"
#include "plan/costs.hpp"
#include "plan/exchange_table.hpp"
#include "plan/stream_strategy.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxElement = 16;   // bytes
constexpr std::int64_t kMaxStreams = 16;
// What a run costs besides its blocks, of few vectors and for each of more: cycles.
constexpr double kRunCycles = 5;
constexpr double kVectorRunCycles = 50;
// What a call of few vectors takes for each of its picks. (Zen 4, AVX2, two to four rows of one block a call: 200 cycles of three
// vectors, 420 of seven.)
constexpr double kPickCycles = 5;

bool may_be_streams(std::int64_t count) { return count >= 2 && count <= kMaxStreams; }

struct Exchange final : StreamStrategy {
    using StreamStrategy::StreamStrategy;

    bool match(const Problem& problem) {
        const std::int64_t vector_bytes = problem.kernels().exchange_bytes;
        // (Vectors of lines are gathered as fast.)
        if (vector_bytes == kLine || itemsize > kMaxElement || !take_streams(problem, may_be_streams, 0)) {
            return false;
        }
        records = vector_bytes / std::gcd(vector_bytes, itemsize);
        const std::int64_t vectors = streams * itemsize * records / vector_bytes;
        if (a.extent < records || !fits_exchange(vectors, records, vector_bytes)) return false;
        few = few_vectors(vectors, vector_bytes);
        cycles = exchange_cycles(vectors, vectors * (few ? vectors : std::min(vectors, records)), vector_bytes) *
                 costs_of(problem.kernels()).exchange;
        besides = few ? kRunCycles : kVectorRunCycles * static_cast<double>(vectors);
        setup = few ? kPickCycles * static_cast<double>(vectors * vectors) : 0;
        return true;
    }
    double cost(const Problem&) const override {
        const std::int64_t bytes = a.extent * streams * itemsize;
        const double run = static_cast<double>(bytes);
        const double call = setup / static_cast<double>(std::min(b.extent * bytes, kUnitBytes));
        // Rows of one block go two at a time, where vectors have two lanes and no table says where rows are read.
        if (few && a.extent == records) {
            const double pairs = static_cast<double>((b.extent + 1) / 2);
            return 2 * pairs / static_cast<double>(b.extent) * cycles / kLine + call;
        }
        // Two blocks take the time of one (by registers of 16 bytes it is not far off). The one that repeats part of another is
        // alone where there are more vectors.
        const std::int64_t again = a.extent % records == 0 ? 0 : 1;
        const std::int64_t blocks = a.extent / records;
        const std::int64_t pairs = few ? (blocks + again + 1) / 2 : (blocks + 1) / 2 + again;
        const double waste = static_cast<double>(2 * pairs * records) / static_cast<double>(a.extent);
        return waste * cycles / kLine + besides / run + call;
    }
    StoreMode size(const Problem& problem) override {
        // There is one: what it takes at most fits (match).
        table = *build_exchange(std::vector<std::int64_t>(static_cast<std::size_t>(streams), itemsize), deals,
                                problem.kernels().exchange_bytes);
        return size_streams(problem, records);
    }
    void move(const Call& call, const std::byte* src, std::byte* dst, std::int64_t count, std::int64_t apart,
              KernelStores stores) const noexcept override {
        const std::byte* from[kMaxStreams];
        std::byte* to[kMaxStreams];
        for (std::int64_t k = 0; k < streams; ++k) {
            from[k] = src + (deals ? 0 : k * apart);
            to[k] = dst + (deals ? k * apart : 0);
        }
        call.kernels.exchange(table.block(), from, to, count, b_of(call), stores);
    }
    std::size_t memory() const override { return Strategy::memory() + table.memory(); }

    std::int64_t records = 0;  // of a block
    bool few = false;  // vectors
    double cycles = 0;  // per line
    double besides = 0;  // cycles of a run, whatever its length
    double setup = 0;  // of a call
    ExchangeTable table;
};

}  // namespace

std::unique_ptr<Strategy> match_exchange(const Problem& problem) { return matched<Exchange>(problem); }

}  // namespace dnnmove
