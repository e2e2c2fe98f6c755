// Blocks of the source that a staged walk reads.
#include "plan/source_blocks.hpp"

#include <algorithm>
#include <utility>

#include "plan/problem.hpp"

namespace dnnmove {
namespace {

// A row's part of a block, in bytes; a block and the next lie in the second-level cache. (Qwen2-VL's patches, 58 MB, 168
// rows of a block, Zen 5: 224 to 672 bytes of each row are 1.2 to 1.5 times as fast as without blocks, 1344 bytes 1.1 to
// 1.3, 2688 bytes, 451 KB a block, 0.8 to 1.)
constexpr std::int64_t kRun = 512;
constexpr std::int64_t kLeastRun = 128;
constexpr std::int64_t kMostBytes = 96 * 1024;
// Fewer rows are found by the hardware.
constexpr std::int64_t kLeastRows = 24;
constexpr std::int64_t kMostRows = 1024;

}  // namespace

std::shared_ptr<const SourceBlocks> find_source_blocks(const Problem& problem, const std::vector<std::size_t>& taken) {
    const std::vector<Loop>& loops = problem.loops;
    if (!problem.context.beyond_cache) return nullptr;
    for (const Loop& loop : loops) {
        if (loop.table || loop.src_stride < 0) return nullptr;
    }
    // The loops that go along a row of the source, each around those before it: the last one makes the blocks.
    std::size_t along = loops.size();
    std::int64_t read = problem.itemsize;
    for (std::size_t k = problem.source_loop(read); k < loops.size(); k = problem.source_loop(read)) {
        if (k > along && along != loops.size()) break;
        along = k;
        read *= loops[k].extent;
    }
    if (along == loops.size() || std::find(taken.begin(), taken.end(), along) != taken.end()) return nullptr;
    const std::int64_t step = loops[along].src_stride;
    std::vector<std::size_t> across;
    std::int64_t rows = 1;
    for (std::size_t k = along + 1; k < loops.size(); ++k) {
        if (loops[k].src_stride < read && loops[k].src_stride >= problem.itemsize) continue;  // along the row, too
        if (loops[k].src_stride == 0) continue;
        across.push_back(k);
        rows *= loops[k].extent;
        if (rows > kMostRows) return nullptr;
    }
    const std::int64_t most = std::min(kRun, kMostBytes / rows - kLine);
    SourceBlocks blocks{along, std::min(loops[along].extent, std::max<std::int64_t>(1, most / step)), {}, 0};
    blocks.run = blocks.steps * step;
    if (rows < kLeastRows || blocks.run < kLeastRun || blocks.run > most) return nullptr;
    blocks.rows = row_offsets(across, loops, &Loop::src_stride);
    std::sort(blocks.rows.begin(), blocks.rows.end());
    return std::make_shared<const SourceBlocks>(std::move(blocks));
}

void stream_asking(const Kernels& kernels, const std::byte* stage, std::byte* dst, std::int64_t bytes, LinesAhead& ahead,
                   std::int64_t lines) noexcept {
    constexpr std::int64_t kPiece = 4 * kLine;
    for (std::int64_t k = 0; k < bytes; k += kPiece) {
        const std::int64_t now = lines * kPiece / std::max(kPiece, bytes - k);
        ahead.ask(now);
        lines -= now;
        kernels.stream(stage + k, dst + k, std::min(kPiece, bytes - k));
    }
}

}  // namespace dnnmove
