// What the strategies have in common that interleave streams of elements into a run of the destination, or deinterleave them.
#include "plan/stream_strategy.hpp"

namespace dnnmove {

bool StreamStrategy::take_streams(const Problem& problem, bool (*may_be_streams)(std::int64_t), std::int64_t least_bytes) {
    const std::vector<Loop>& loops = problem.loops;
    if (problem.innermost != Problem::Innermost::elements || loops.size() < 2) return false;
    const std::size_t last = loops.size() - 1;
    const Loop& inner = loops[last];
    const Loop& before = loops[last - 1];
    if (may_be_streams(inner.extent) && continues(before, inner.extent * itemsize) && before.src_stride == itemsize &&
        before.extent * itemsize >= least_bytes) {
        streams = inner.extent;
        a = {before.extent, before.extent, itemsize, streams * itemsize, true};
        pitch = inner.src_stride;
        taken = {last - 1, last};
    } else {
        const auto found = std::find_if(loops.begin(), loops.end() - 1, [&](const Loop& loop) {
            return !loop.table && loop.src_stride == itemsize && may_be_streams(loop.extent) &&
                   inner.src_stride == loop.extent * itemsize;
        });
        if (found == loops.end() - 1 || inner.extent * itemsize < least_bytes) return false;
        deals = true;
        streams = found->extent;
        a = {inner.extent, inner.extent, inner.src_stride, itemsize, true};
        pitch = found->dst_stride;
        taken = {static_cast<std::size_t>(found - loops.begin()), last};
    }
    for (std::size_t position = loops.size(); position-- > 0;) {
        if (takes(position)) continue;
        take_second_loop(problem, position, deals ? 0 : a.extent * a.dst_stride);
        break;
    }
    return true;
}

}  // namespace dnnmove
