// Interleave: 2 to 16 streams of elements interleaved into a run of the destination, or deinterleaved.
#include <numeric>

#include "plan/strategies.hpp"
#include "plan/costs.hpp"
#include "plan/lines.hpp"
#include "plan/row_strategy.hpp"
#include "plan/weave_table.hpp"

namespace dnnmove {
namespace {

constexpr double kStagedParts = 0.04;  // cycles a byte
constexpr double kStagedWoven = 0.05;  // cycles a byte; more than kStagedByte, since others read on meanwhile
// Shorter runs of the source, from far apart, are better read by strategies that ask for them, and that read more of a line at
// once. (Emerald Rapids, AVX2, two threads, 6 to 80 MB, 5 to 9 streams of 60 to 160 bytes at a time: 0.55 to 1.2 of their speed.)
constexpr std::int64_t kLongRun = 512;  // bytes

// More streams than these, but for powers of two, are dealt out from a loop, whose steps prefetchers follow: from the last stream on to
// the first one of the next step of b. (Zen 5, AVX2, two threads that share no cache, 2 to 4 rows of 5 and 6 streams of 44 KB: where
// another thread writes that one at the same time the call takes 1.5 to 2.7 times as long; 3 streams 0.8 to 0.93 of that in bands.)
constexpr std::int64_t kUnfollowedStreams = 4;
// Of more streams than a set of the first-level cache has lines, and which lie whole pages apart, each loses its line before that is
// full. (Zen 5, AVX-512 VBMI, two threads, 15 and 14 streams of 1 MB: 0.66 and 0.77 of the speed of a transpose, 13 streams 1.15.)
constexpr std::int64_t kSetLines = 12;
constexpr double kOneSet = 1.5;
constexpr std::int64_t kMostStaged = 16 * 1024;  // bytes of all pieces; the last ones may be twice as long as the others

// a walks the streams, b is the loop around them.
struct Interleave final : RowStrategy {
    using RowStrategy::RowStrategy;

    bool match(const Problem& problem) {
        if (!WeaveTable::may_be(itemsize, 2) || !take_streams(problem)) return false;
        table = WeaveTable(itemsize, streams, deals, a.extent * itemsize, problem.kernels());
        return table.by_lines() || suits_lanes(problem);
    }
    double cost(const Problem& problem) const override {
        const double cycles = table.cost(a.extent, problem.kernels());
        // Past the caches what is woven by lanes goes by way of a stage; what is dealt out does whoever moves it.
        if (!table.by_lines() && problem.context.beyond_cache) return cycles + (deals ? 0 : kStagedWoven);
        if (!table.by_lines()) return cycles * (deals && pitch % kPage == 0 && streams > kSetLines ? kOneSet : 1);
        // Short rows that end inside a vector cannot be streamed line by line, but by way of a stage.
        const bool parts = a.extent * a.dst_stride < 2048 && a.extent * itemsize % kLine != 0;
        return cycles + (parts && !(deals && stages()) ? kStagedParts : 0);
    }
    StoreMode size(const Problem& problem) override {
        table.make_permutes();
        const PlanContext& context = problem.context;
        const std::int64_t vector_steps = table.vector_bytes() / itemsize;
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
        const bool direct = context.beyond_cache && table.by_lines() && same_phase &&
                            ((whole && alignment == kLine) || is_long || follow);
        if (!direct) return size_streams(problem, vector_steps);
        unit_step = streams * itemsize;
        size_inside_out(unit_step, kUnitBytes, vector_steps);
        return StoreMode::nontemporal;
    }
    void run(const Call& call) const noexcept override {
        if (by_pieces) return run_pieces(call);
        move(call, call.src(), call.dst, a.steps(call.unit.a_tile), pitch, call.stores());
    }
    StrategyWords describe() const override {
        return {deals ? "deinterleave" : "interleave", "elements", "rows",
                std::to_string(streams) + " streams" + (by_pieces ? ", each staged" : "")};
    }
    std::size_t memory() const override { return Strategy::memory() + table.memory(); }

    bool deals = false;  // deinterleaves
    bool by_pieces = false;  // past the caches, a piece of each stream at a time, by way of a stage of their own
    std::int64_t streams = 0;
    std::int64_t pitch = 0;  // bytes from stream to stream, on the side where they are separate
    WeaveTable table;

private:
    // Takes the loops of the streams and the one around them; false where there are none.
    bool take_streams(const Problem& problem);
    // May units collect in the stage? What is interleaved makes one piece of the destination; what is dealt out does where all
    // streams of a step of b, and its steps, follow each other without gaps, and a unit holds a whole one.
    bool stages() const {
        const std::int64_t row = streams * a.extent * itemsize;
        return !deals || (pitch == a.extent * itemsize && b.extent > 1 && b.dst_stride == row && row <= kMaxUnitBytes / 2);
    }
    // The tiles, a multiple of `step` elements of a stream long.
    StoreMode size_streams(const Problem& problem, std::int64_t step);
    // `count` elements of every stream of a unit, from `src` to `dst`; on the side where the streams are separate they lie
    // `apart` bytes from each other.
    void move(const Call& call, const std::byte* src, std::byte* dst, std::int64_t count, std::int64_t apart,
              KernelStores stores) const noexcept {
        const std::byte* from[kMostWoven];
        std::byte* to[kMostWoven];
        for (std::int64_t k = 0; k < streams; ++k) {
            from[k] = src + (deals ? 0 : k * apart);
            to[k] = dst + (deals ? k * apart : 0);
        }
        table.run(call.kernels, from, to, count * itemsize, b_of(call), stores);
    }
    void run_pieces(const Call& call) const noexcept;
    // Does kernels/weave_lanes.hpp know these streams, and does the source come in runs that are long enough?
    bool suits_lanes(const Problem& problem) const {
        const std::int64_t record = streams * itemsize;
        if (itemsize == kWeaveLane) return false;
        if (record < kWeaveLane && power_of_two(streams)) return true;
        return problem.context.near || read_run() >= kLongRun;
    }
    // Bytes of the source that a row of the destination reads in one piece, or all rows.
    std::int64_t read_run() const {
        std::int64_t run = a.extent * itemsize;
        if (deals || pitch == run) run *= streams;
        return b.src_stride == run ? run * b.extent : run;
    }
};

bool Interleave::take_streams(const Problem& problem) {
    const std::vector<Loop>& loops = problem.loops;
    if (problem.innermost != Problem::Innermost::elements || loops.size() < 2) return false;
    const std::size_t last = loops.size() - 1;
    const Loop& inner = loops[last];
    const Loop& before = loops[last - 1];
    const auto found = std::find_if(loops.begin(), loops.end() - 1, [&](const Loop& loop) {
        return !loop.table && loop.src_stride == itemsize && WeaveTable::may_be(itemsize, loop.extent) &&
               inner.src_stride == loop.extent * itemsize;
    });
    const bool may_deal = found != loops.end() - 1 && inner.extent * itemsize >= kWeaveLane;
    const bool may_interleave = WeaveTable::may_be(itemsize, inner.extent) && continues(before, inner.extent * itemsize) &&
                                before.src_stride == itemsize && before.extent * itemsize >= kWeaveLane;
    if (!may_deal && !may_interleave) return false;
    // The same run can be seen as inner.extent streams that are interleaved or as found->extent that are dealt out. Fewer
    // and longer ones are faster.
    deals = may_deal && (!may_interleave || found->extent < inner.extent);
    if (deals) {
        streams = found->extent;
        a = {inner.extent, inner.extent, inner.src_stride, itemsize, true};
        pitch = found->dst_stride;
        taken = {static_cast<std::size_t>(found - loops.begin()), last};
    } else {
        streams = inner.extent;
        a = {before.extent, before.extent, itemsize, streams * itemsize, true};
        pitch = inner.src_stride;
        taken = {last - 1, last};
    }
    for (std::size_t position = loops.size(); position-- > 0;) {
        if (takes(position)) continue;
        take_second_loop(problem, position, deals ? 0 : a.extent * a.dst_stride);
        break;
    }
    return true;
}

StoreMode Interleave::size_streams(const Problem& problem, std::int64_t step) {
    const bool past = problem.context.beyond_cache;
    unit_step = streams * itemsize;
    const std::int64_t row = a.extent * unit_step;
    by_pieces = past && !stages() && a.extent * itemsize >= kLeastStreamedRun && streams <= kMostWoven;
    if (by_pieces) {
        // Pieces of whole lines: of streams that begin with one they all do.
        size_inside_out(unit_step, kMostStaged / 2, std::lcm(step, kLine / line_part(itemsize)));
        b.tile = 1;
        if (a.tile * unit_step <= kMostStaged / 2) return StoreMode::nontemporal;
        by_pieces = false;
    }
    const bool stage = problem.context.far_beyond_cache && stages();
    const std::int64_t unit = deals ? std::max(problem.context.unit_bytes, row) : problem.context.unit_bytes;
    size_inside_out(unit_step, stage ? unit : kUnitBytes, step, stage);
    if (stage && fits_stage(kMaxUnitBytes / 2)) return StoreMode::staged;
    bands_of_a = deals && streams > kUnfollowedStreams && !power_of_two(streams);
    return StoreMode::cached;
}

// Of every stream the whole lines between the one in which the piece begins and the one in which it ends, which belongs to the
// next piece: what that line has of this one is dealt out twice.
void Interleave::run_pieces(const Call& call) const noexcept {
    alignas(64) std::byte stage[kMostStaged + 4 * kMostWoven * kLine];
    const std::int64_t tile = call.unit.a_tile;
    const std::int64_t again = tile == 0 ? 0 : (kLine + itemsize - 1) / itemsize;  // elements
    const std::int64_t count = again + a.steps(tile);
    const std::int64_t before = again * itemsize;
    // A stream's bytes begin at the same place of a line in the stage as in the destination.
    const std::int64_t phase = into_line(call.dst - before);
    const std::int64_t apart = (count * itemsize + kLine - 1) / kLine * kLine + kLine + pitch % kLine;
    move(call, call.src() - again * a.src_stride, stage + phase, count, apart, {false, call.stores().prefetch});
    for (std::int64_t k = 0; k < streams; ++k) {
        std::byte* const dst = call.dst + k * pitch;
        std::byte* const last = dst + a.steps(tile) * itemsize;
        std::byte* const begin = tile == 0 ? dst : dst - into_line(dst);
        std::byte* const end = tile + 1 == a.tiles() ? last : last - into_line(last);
        call.kernels.stream(stage + phase + k * apart + (begin - dst) + before, begin, end - begin);
    }
}

}  // namespace

std::unique_ptr<Strategy> match_interleave(const Problem& problem) { return matched<Interleave>(problem); }

}  // namespace dnnmove
