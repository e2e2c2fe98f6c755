// The candidate that interleaves streams or deals them out.
#include <algorithm>

#include "plan/candidate.hpp"

namespace dnnmove {

// 2, 4, 8 or 16 streams interleaved into a run of the destination, or dealt out of a run of the source.
Candidate weave_candidate(const std::vector<Loop>& loops, std::int64_t itemsize, const Kernels& kernels) {
    Candidate candidate;
    if (kernels.weave == nullptr || itemsize > 16 || (itemsize & (itemsize - 1)) != 0 || loops.size() < 2) {
        return candidate;
    }
    const auto streams_of = [](const Loop& loop) { return loop.extent == 2 || loop.extent == 4 || loop.extent == 8 || loop.extent == 16; };
    const Loop& last = loops.back();
    Leaf& leaf = candidate.leaf;
    std::size_t stream_position = loops.size() - 1;
    const Loop& before = loops[loops.size() - 2];
    if (streams_of(last) && continues(before, last.extent * itemsize) && before.src_stride == itemsize &&
        before.extent * itemsize >= 64) {
        leaf.kind = KernelKind::weave;
        leaf.a = {before.extent, before.extent, itemsize, last.extent * itemsize, true};
        leaf.stream_pitch = last.src_stride;
        candidate.taken = {loops.size() - 2, loops.size() - 1};
    } else {
        const auto stream = std::find_if(loops.begin(), loops.end(), [&](const Loop& loop) {
            return !loop.table && loop.src_stride == itemsize && streams_of(loop) &&
                   last.src_stride == loop.extent * itemsize;
        });
        if (stream == loops.end() || &*stream == &last || last.extent * itemsize < 64) return candidate;
        stream_position = static_cast<std::size_t>(stream - loops.begin());
        leaf.kind = KernelKind::deal;
        leaf.a = {last.extent, last.extent, last.src_stride, itemsize, true};
        leaf.stream_pitch = stream->dst_stride;
        candidate.taken = {stream_position, loops.size() - 1};
    }
    leaf.streams = static_cast<int>(loops[stream_position].extent);
    leaf.block.indices = weave_permutes(itemsize, leaf.kind == KernelKind::deal);
    for (std::size_t position = loops.size(); position-- > 0;) {
        if (std::find(candidate.taken.begin(), candidate.taken.end(), position) != candidate.taken.end()) continue;
        const bool weaves = leaf.kind == KernelKind::weave;
        take_second_loop(candidate, loops, position, weaves ? leaf.a.extent * leaf.a.dst_stride : 0);
        break;
    }
    const double rounds = __builtin_ctz(static_cast<unsigned>(leaf.streams));
    const double waste = static_cast<double>((leaf.a.extent * itemsize + 63) / 64 * 64) /
                         static_cast<double>(leaf.a.extent * itemsize);
    candidate.cost = waste * (1.5 + rounds) / 64;
    // Short rows that end inside a vector cannot be streamed line by line.
    const bool short_rows = leaf.a.extent * leaf.a.dst_stride < 2048 && leaf.a.extent * itemsize % 64 != 0;
    if (short_rows) candidate.cost += 0.06;
    candidate.cost *= costs_of(kernels).weave;
    return candidate;
}

}  // namespace dnnmove
