// Interleave: 2, 4, 8 or 16 streams of elements interleaved into a run of the destination, or deinterleaved; by short vectors up to
// 16 of any number.
#include <bit>
#include <cmath>

#include "plan/strategies.hpp"
#include "plan/costs.hpp"
#include "plan/gather_table.hpp"
#include "plan/stream_strategy.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxElement = 16;  // bytes
constexpr std::int64_t kMostStreams = 16;
// Shorter runs of the source, from far apart, are better read by strategies that ask for them, and that read more of a line at
// once. (Emerald Rapids, AVX2, two threads, 6 to 80 MB, 5 to 9 streams of 60 to 160 bytes at a time: 0.55 to 1.2 of their speed.)
constexpr std::int64_t kLongRun = 512;  // bytes

bool few_streams(std::int64_t count) { return count >= 2 && count <= kMostStreams; }
bool may_be_streams(std::int64_t count) { return power_of_two(count) && few_streams(count); }

struct Interleave final : StreamStrategy {
    using StreamStrategy::StreamStrategy;

    bool match(const Problem& problem) {
        const std::int64_t vector_bytes = problem.kernels().weave_bytes;
        const bool lines = vector_bytes == kLine;
        if (itemsize > kMaxElement || !power_of_two(itemsize) ||
            !take_streams(problem, lines ? may_be_streams : few_streams, vector_bytes)) {
            return false;
        }
        return lines || suits_lanes(problem);
    }
    double cost(const Problem& problem) const override {
        const std::int64_t vector_bytes = problem.kernels().weave_bytes;
        if (vector_bytes < kLine) return cost_by_lanes(problem) * costs_of(problem.kernels()).weave;
        const double rounds = std::countr_zero(static_cast<unsigned>(streams));
        double cycles = waste_of(vector_bytes) * (1.5 + rounds) / kLine;
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
        const bool is_long = deals ? alignment == kLine && row >= 2 * kLeastStreamedRun
                                   : reaches_line && row >= kLeastStreamedRun / 2;
        // Whole vectors in order are shifted onto the lines in registers, wherever they begin. (Zen 4, two threads, 54 and 164 MB,
        // arrays that begin 16 bytes behind a line, 8 and 16 streams of elements of 4 bytes: 0.6 to 0.7 of the time that it takes
        // by way of a stage.)
        const bool follow = whole && (!deals || (a.extent == vector_steps && pitch == kLine)) &&
                            (b.extent == 1 || b.dst_stride == a.extent * streams * itemsize);
        const bool direct = context.beyond_cache && vector_bytes == kLine && same_phase &&
                            ((whole && alignment == kLine) || is_long || follow);
        if (!direct) return size_streams(problem, vector_steps);
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

private:
    // Does kernels/weave_lanes.hpp know these streams, and no other strategy move them as fast?
    bool suits_lanes(const Problem& problem) const {
        const std::int64_t lane = problem.kernels().weave_bytes;
        const std::int64_t record = streams * itemsize;
        if (itemsize == lane || (record <= lane / 2 && !power_of_two(streams))) return false;
        if (record < lane && power_of_two(streams)) return true;
        // Longer ones are left to tiles where those are as fast: of vectors of a line, and of what is dealt out to many streams.
        const bool wide_tiles = problem.kernels().vector_bytes == kLine;
        if (record > lane && (wide_tiles || (deals && (record > kLine || streams == kMostStreams)))) return false;
        return problem.context.near || read_run() >= kLongRun;
    }
    // Bytes of the source that a row of the destination reads in one piece, or all rows.
    std::int64_t read_run() const {
        std::int64_t run = a.extent * itemsize;
        if (deals || pitch == run) run *= streams;
        return b.src_stride == run ? run * b.extent : run;
    }
    double waste_of(std::int64_t vector_bytes) const {
        const auto bytes = static_cast<double>(a.extent * itemsize);
        const auto vector = static_cast<double>(vector_bytes);
        return std::ceil(bytes / vector) * vector / bytes;
    }
    // As kernels/weave_lanes.hpp moves records, whose kinds differ in how many lanes are read and written for so many permutes.
    // (Emerald Rapids, AVX2, one thread, in the first-level cache, without the time of a copy: four streams of 4 bytes 0.03 cycles
    // a byte, eight 0.055, three 0.06, twelve of a byte 0.085, five of 4 bytes 0.115; 7 to 9 cycles a row besides.)
    double cost_by_lanes(const Problem& problem) const {
        constexpr double kLonger = 1.5;  // than a lane, or no power of two
        constexpr double kLastLane = 1.5;  // of records of several lanes: as much as three quarters of two
        const std::int64_t lane = problem.kernels().weave_bytes;
        const double group_cycles = deals ? 6 : 7;  // of a lane of every record, with two of each stream
        const auto of_lane = static_cast<double>(lane / itemsize);
        const auto record = static_cast<double>(streams * itemsize);
        const bool any = !power_of_two(streams);
        const double groups = std::ceil(record / static_cast<double>(lane));
        const double moved = any ? groups * of_lane : static_cast<double>(streams);
        const double rounds = std::log2(std::min(moved, of_lane));
        double waste = waste_of(lane);
        if (any && groups > 1 && problem.kernels().vector_bytes > lane) {
            const std::int64_t bytes = a.extent * itemsize;
            const auto lanes = static_cast<double>((bytes % (2 * lane) + lane - 1) / lane);
            waste += lanes * (kLastLane - 1) * static_cast<double>(lane) / static_cast<double>(bytes);
        }
        const double moves = moved / static_cast<double>(streams) * (1.5 + rounds) / kLine;
        const double besides = any && groups > 1 ? groups * group_cycles / (2 * of_lane * record) : 0;
        const double row_cycles = any ? 14 : 8;
        return waste * (moves * (any || groups > 1 ? kLonger : 1) + besides) +
               row_cycles / (static_cast<double>(a.extent) * record);
    }
};

}  // namespace

std::unique_ptr<Strategy> match_interleave(const Problem& problem) { return matched<Interleave>(problem); }

}  // namespace dnnmove
