// What the strategies have in common that interleave streams of elements into a run of the destination, or deinterleave them.
#include "plan/stream_strategy.hpp"

#include <numeric>

#include "plan/lines.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMostStreams = 16;
// More of them, but for powers of two, are dealt out from a loop, whose steps prefetchers follow: from the last stream on to the first
// one of the next step of b. (Zen 5, AVX2, two threads that share no cache, 2 to 4 rows of 5 and 6 streams of 44 KB: where another
// thread writes that one at the same time the call takes 1.5 to 2.7 times as long; 3 streams 0.8 to 0.93 of that in bands.)
constexpr std::int64_t kUnfollowedStreams = 4;
constexpr std::int64_t kMostStaged = 16 * 1024;  // bytes of all pieces; the last ones may be twice as long as the others

}  // namespace

bool StreamStrategy::take_streams(const Problem& problem, bool (*may_be_streams)(std::int64_t), std::int64_t least_bytes) {
    const std::vector<Loop>& loops = problem.loops;
    if (problem.innermost != Problem::Innermost::elements || loops.size() < 2) return false;
    const std::size_t last = loops.size() - 1;
    const Loop& inner = loops[last];
    const Loop& before = loops[last - 1];
    const auto found = std::find_if(loops.begin(), loops.end() - 1, [&](const Loop& loop) {
        return !loop.table && loop.src_stride == itemsize && may_be_streams(loop.extent) &&
               inner.src_stride == loop.extent * itemsize;
    });
    const bool may_deal = found != loops.end() - 1 && inner.extent * itemsize >= least_bytes;
    const bool may_interleave = may_be_streams(inner.extent) && continues(before, inner.extent * itemsize) &&
                                before.src_stride == itemsize && before.extent * itemsize >= least_bytes;
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

StoreMode StreamStrategy::size_streams(const Problem& problem, std::int64_t step) {
    const bool past = problem.context.beyond_cache;
    unit_step = streams * itemsize;
    const std::int64_t row = a.extent * unit_step;
    by_pieces = past && !stages() && a.extent * itemsize >= kLeastStreamedRun && streams <= kMostStreams;
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

void StreamStrategy::run(const Call& call) const noexcept {
    if (by_pieces) return run_pieces(call);
    move(call, call.src(), call.dst, a.steps(call.unit.a_tile), pitch, call.stores());
}

// Of every stream the whole lines between the one in which the piece begins and the one in which it ends, which belongs to the
// next piece: what that line has of this one is dealt out twice.
void StreamStrategy::run_pieces(const Call& call) const noexcept {
    alignas(64) std::byte stage[kMostStaged + 4 * kMostStreams * kLine];
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

}  // namespace dnnmove
