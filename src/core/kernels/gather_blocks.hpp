// Walks the blocks of a gather: lines up non-temporal stores, prefetches, and ends rows by overlap.
#pragma once

#include <cstdlib>

#include "kernels/entry.hpp"
#include "kernels/contract.hpp"
#include "kernels/rows.hpp"
#include "kernels/simd_portable.hpp"

namespace dnnmove {
namespace {

// Inlined, as all that only prefetches: see prefetch_run() in kernels/rows.hpp.
[[gnu::always_inline]] inline void prefetch_lines(const GatherBlock& block, const std::byte* from) {
    for (std::int32_t k = 0; k < block.line_count; ++k) __builtin_prefetch(from + block.lines[k]);
}

// The first step at which a row's destination starts a line, or `limit` where none below it does.
inline std::int64_t first_line_step(const std::byte* to, std::int64_t dst_stride, std::int64_t limit) {
    std::int64_t step = 0;
    while (step < limit && to_line(to + step * dst_stride) != 0) ++step;
    return step;
}

// What walks blocks calls: a gather of blocks of some shape, whose tables stay in registers meanwhile.
struct BlockMover {
    using Blocks = void (*)(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                            std::int64_t src_step, std::int64_t dst_step, std::int64_t ahead, bool claim);
    using Rows = void (*)(const GatherBlock& block, const std::byte* src, std::byte* dst, const KernelLoop& a,
                          const KernelLoop& b, bool claim) noexcept;
    Blocks store;    // moves `count` blocks by ordinary stores
    Blocks stream;   // the same past the caches
    Rows rows;       // all rows by ordinary stores, or null
    bool down_rows;  // goes down the rows where they are of few blocks
};

template <class Shape>
constexpr BlockMover mover_of() {
    BlockMover mover{Shape::template blocks<false>, Shape::template blocks<true>, nullptr, false};
    if constexpr (requires(KernelLoop loop) { Shape::rows(GatherBlock{}, nullptr, nullptr, loop, loop, false); }) {
        mover.rows = entry<Shape::rows>;
    } else {
        mover.down_rows = Shape::kDownRows;
    }
    return mover;
}
template <class Shape>
inline constexpr BlockMover block_mover = mover_of<Shape>();

// Bytes [begin, end) of at most four blocks, of whole vectors of 16 bytes each, so that a line begins with one of them; beside
// lines that are streamed. Nothing of any line is stored twice, which would cost as much as many lines.
inline void stream_block_part(const BlockMover& mover, const GatherBlock& block, const std::byte* from, std::byte* to,
                              std::int64_t begin, std::int64_t end, std::int64_t src_step, std::int64_t dst_step) {
    alignas(64) std::byte part[4 * kMaxStreamedBlock];
    mover.store(block, from, part, (end + dst_step - 1) / dst_step, src_step, dst_step, 0, false);
    stream_row<Simd128>(part + begin, to + begin, end - begin, 0);
}

inline void walk_blocks(const BlockMover& mover, const GatherBlock& block, const std::byte* src, std::byte* dst,
                        const KernelLoop& along, const KernelLoop& across, KernelStores stores) {
    const bool cached = !stores.nontemporal && !stores.prefetch;
    if (cached && mover.rows != nullptr) return mover.rows(block, src, dst, along, across, stores.claim);
    const KernelLoop a = by_words<KernelLoop>(along);  // values, as entry.hpp says
    const KernelLoop b = across;
    const std::int64_t steps = block.loop_steps;
    // Rows of few blocks, of which there are more.
    const bool more_rows = a.extent < 4 * steps && a.extent < b.extent * steps;
    if (cached && mover.down_rows && more_rows && b.src_rows == nullptr) {
        const std::int64_t last = a.extent - steps;
        for (std::int64_t at = 0;; at = at + steps < last ? at + steps : last) {
            mover.store(block, src + at * a.src_stride, dst + at * a.dst_stride, b.extent, b.src_stride, b.dst_stride, 0,
                        stores.claim);
            if (at == last) return;
        }
    }
    const std::int64_t src_step = steps * a.src_stride;
    const std::int64_t dst_step = steps * a.dst_stride;
    // Prefetches run some blocks ahead of the row, and from its end on into the row that follows.
    const std::int64_t widest = dst_step > std::abs(src_step) ? dst_step : std::abs(src_step);
    const std::int64_t blocks_ahead = (kPrefetchBytes + widest - 1) / widest;
    const bool joined = block.count * static_cast<std::int64_t>(block.vector_bytes) == dst_step &&
                        dst_step <= kMaxStreamedBlock;
    for (std::int64_t j = 0; j < b.extent; ++j) {
        const std::byte* from = src + b.src_at(j);
        std::byte* to = dst + j * b.dst_stride;
        std::int64_t at = 0;
        bool lines = stores.nontemporal;
        if (lines && to_line(to) != 0) {
            at = first_line_step(to, a.dst_stride, kLine);
            lines = at < kLine && at + steps <= a.extent;
            if (!lines) at = 0;
            if (at != 0 && joined) {
                stream_block_part(mover, block, from, to, 0, at * a.dst_stride, src_step, dst_step);
            } else if (at != 0) {
                mover.store(block, from, to, 1, 0, 0, 0, false);
            }
        }
        const std::int64_t count = (a.extent - at) / steps;
        const std::int64_t near = !stores.prefetch ? count : count > blocks_ahead ? count - blocks_ahead : 0;
        const std::int64_t ahead = stores.prefetch ? blocks_ahead * src_step : 0;
        // Where rows are shorter than the distance, as many rows further on as make it up.
        const std::int64_t rows = count > blocks_ahead ? 1 : (blocks_ahead + count - 1) / (count > 0 ? count : 1);
        const std::int64_t over = !stores.prefetch ? 0
                                                   : b.src_ahead(j + rows) - b.src_at(j) +
                                                         (count > blocks_ahead ? ahead - count * src_step : 0);
        const std::byte* first = from + at * a.src_stride;
        std::byte* target = to + at * a.dst_stride;
        const std::byte* rest = first + near * src_step;
        const auto blocks = lines ? mover.stream : mover.store;
        blocks(block, first, target, near, src_step, dst_step, ahead, !lines && stores.claim);
        blocks(block, rest, target + near * dst_step, count - near, src_step, dst_step, over, !lines && stores.claim);
        if (at + count * steps < a.extent) {
            const std::int64_t last = a.extent - steps;
            const std::byte* again = from + last * a.src_stride;
            if (lines && joined) {
                stream_block_part(mover, block, again, to + last * a.dst_stride, (at + count * steps - last) * a.dst_stride,
                                  dst_step, src_step, dst_step);
            } else {
                mover.store(block, again, to + last * a.dst_stride, 1, 0, 0, 0, false);
            }
        }
    }
}

}  // namespace
}  // namespace dnnmove
