// Interleave: 2, 4, 8 or 16 streams of elements interleaved into a run of the destination, or deinterleaved.
#include <bit>
#include <cmath>

#include "plan/strategies.hpp"
#include "plan/costs.hpp"
#include "plan/gather_table.hpp"
#include "plan/stream_strategy.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxElement = 16;  // bytes

bool may_be_streams(std::int64_t count) { return count == 2 || count == 4 || count == 8 || count == 16; }

struct Interleave final : StreamStrategy {
    using StreamStrategy::StreamStrategy;

    bool match(const Problem& problem) {
        const std::int64_t vector_bytes = problem.kernels().weave_bytes;
        // (More in a short vector is what tiles are as good at.)
        return itemsize <= kMaxElement && power_of_two(itemsize) && take_streams(problem, may_be_streams, vector_bytes) &&
               (vector_bytes == kLine || streams * itemsize < vector_bytes);
    }
    double cost(const Problem& problem) const override {
        const double rounds = std::countr_zero(static_cast<unsigned>(streams));
        const auto bytes = static_cast<double>(a.extent * itemsize);
        const auto vector_bytes = static_cast<double>(problem.kernels().weave_bytes);
        const double waste = std::ceil(bytes / vector_bytes) * vector_bytes / bytes;
        double cycles = waste * (1.5 + rounds) / kLine;
        if (vector_bytes < kLine) return cycles * costs_of(problem.kernels()).weave;
        // Short rows that end inside a vector cannot be streamed line by line, but by way of a stage.
        if (!(deals && stages()) && a.extent * a.dst_stride < 2048 && a.extent * itemsize % kLine != 0) cycles += 0.06;
        return cycles * costs_of(problem.kernels()).weave;
    }
    StoreMode size(const Problem& problem) override {
        const std::int64_t vector_bytes = problem.kernels().weave_bytes;
        permutes = weave_permutes(itemsize, streams, deals, vector_bytes);
        const PlanContext& context = problem.context;
        const std::int64_t vector_steps = vector_bytes / itemsize;
        const std::int64_t step = a.dst_stride;  // bytes
        const std::int64_t row = a.extent * step;
        const std::int64_t alignment = row_alignment(problem);
        const bool whole = a.extent % vector_steps == 0;
        const bool reaches_line = alignment % line_part(step) == 0;
        const bool same_phase = !deals || pitch % kLine == 0;
        // Deinterleaved rows repeat part of what they have streamed at their ends, which must be lines: little of long ones.
        const bool is_long = deals ? alignment == kLine && row >= 2 * kShortRowBytes
                                   : reaches_line && row >= kShortRowBytes / 2;
        // Whole vectors in order are shifted onto the lines in registers, wherever they begin. (Zen 4, two threads, 54 and 164 MB,
        // arrays that begin 16 bytes behind a line, 8 and 16 streams of elements of 4 bytes: 0.6 to 0.7 of the time that it takes
        // by way of a stage.)
        const bool follow = whole && (!deals || (a.extent == vector_steps && pitch == kLine)) &&
                            (b.extent == 1 || b.dst_stride == a.extent * streams * itemsize);
        const bool direct = context.beyond_cache && vector_bytes == kLine && same_phase &&
                            ((whole && alignment == kLine) || is_long || follow);
        if (!direct) return size_streams(problem, vector_steps, true);
        unit_step = streams * itemsize;
        size_inside_out(unit_step, kUnitBytes, vector_steps);
        return StoreMode::nontemporal;
    }
    void move(const Call& call, const std::byte* src, std::byte* dst, std::int64_t count, std::int64_t apart,
              KernelStores stores) const noexcept override {
        call.kernels.weave(src, dst, static_cast<int>(itemsize), static_cast<int>(streams), deals, permutes.data(),
                           count * itemsize, apart, b_of(call), stores);
    }
    std::size_t memory() const override { return Strategy::memory() + heap_bytes(permutes); }

    std::vector<GatherIndex> permutes;
};

}  // namespace

std::unique_ptr<Strategy> match_interleave(const Problem& problem) { return matched<Interleave>(problem); }

}  // namespace dnnmove
