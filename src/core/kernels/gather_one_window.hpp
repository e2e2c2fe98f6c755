// Gathers 16-byte vectors from 16-byte windows, by permutes of bytes (all but AVX-512 VBMI). No lines of the destination are
// asked for: four vectors share one. (Emerald Rapids, 0.6 to 14 MB: 0.96 to 1.0 times as fast if they are.)
#pragma once

#include <algorithm>

#include "kernels/by_number.hpp"
#include "kernels/entry.hpp"
#include "kernels/gather_blocks.hpp"

namespace dnnmove {
namespace {

// So many blocks are moved together, each vector of all of them: few enough for the first-level cache.
inline std::int64_t blocks_together(const GatherBlock& block) { return block.count == 1 ? 64 : 16; }

inline Simd128::Vector index_of(const GatherIndex& index) {
    return Simd128::load(reinterpret_cast<const std::byte*>(index.byte));
}
inline Simd128::Vector pick(const std::byte* window, const GatherIndex& index) {
    return Simd128::shuffle_lanes(Simd128::load(window), index_of(index));
}

// One vector of a block, of all blocks: its permutes stay in registers. `each_block` calls what it is given with the offsets of
// every block's source and destination.
template <int steps, class EachBlock>
inline void pick_vectors(const GatherBlock& block, const GatherVector& vector, const GatherStep* step, const std::byte* from,
                         std::byte* to, const EachBlock& each_block) {
    Simd128::Vector index[steps];
    const std::byte* window[steps];
    for (int s = 0; s < steps; ++s) {
        index[s] = index_of(block.indices[step[s].index]);
        window[s] = from + step[s].first;
    }
    to += vector.dst;
    each_block([&](std::int64_t src, std::int64_t dst) {
        const auto of_window = [&](int s) { return Simd128::shuffle_lanes(Simd128::load(window[s] + src), index[s]); };
        Simd128::Vector picked = of_window(0);
#pragma GCC unroll 8
        for (int s = 1; s < steps; ++s) picked |= of_window(s);
        Simd128::store(to + dst, picked);
    });
}

template <class EachBlock>
inline void vector_by_vector(const GatherBlock& block, const std::byte* from, std::byte* to, const EachBlock& each_block) {
    const GatherStep* step = block.steps;
    for (std::int32_t v = 0; v < block.count; ++v) {
        const GatherVector& vector = block.vectors[v];
        const bool few = with_number_to<8>(
            vector.steps, [&]<int steps>() { pick_vectors<steps>(block, vector, step, from, to, each_block); });
        if (!few) {
            each_block([&](std::int64_t src, std::int64_t dst) {
                Simd128::Vector picked = {};
                for (std::int32_t s = 0; s < vector.steps; ++s) {
                    picked |= pick(from + src + step[s].first, block.indices[step[s].index]);
                }
                Simd128::store(to + dst + vector.dst, picked);
            });
        }
        step += vector.steps;
    }
}

// Whole vectors by ordinary stores: vector by vector, each over some blocks.
struct VectorByVector {
    static constexpr bool kDownRows = false;
    template <bool>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t ahead, bool) {
        const std::int64_t chunk = blocks_together(block);
        // Blocks that come to other lines than the one before.
        const std::int64_t pace = src_step < 0 ? -src_step : src_step;
        const std::int64_t apart = pace >= kLine ? 1 : pace * chunk <= kLine ? chunk : kLine / pace;
        for (std::int64_t done = 0; done < count; done += chunk) {
            const std::int64_t now = count - done < chunk ? count - done : chunk;
            if (ahead != 0) {
                for (std::int64_t i = 0; i < now; i += apart) prefetch_lines(block, from + i * src_step + ahead);
            }
            vector_by_vector(block, from, to, [&](const auto& move) {
                for (std::int64_t i = 0; i < now; ++i) move(i * src_step, i * dst_step);
            });
            from += now * src_step;
            to += now * dst_step;
        }
    }
};

// The same, past the caches: blocks collect in a stage, which leaves it in order. Their bytes are whole vectors, from a line
// on, so that every line fills before the next begins.
struct StagedVectors {
    static constexpr bool kDownRows = false;
    static constexpr std::int64_t kStageBytes = 2 * kMaxStreamedBlock;
    template <bool nontemporal>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t ahead, bool) {
        if constexpr (!nontemporal) {
            VectorByVector::blocks<false>(block, from, to, count, src_step, dst_step, ahead, false);
        } else {
            alignas(64) std::byte stage[kStageBytes];
            const std::int64_t most = kStageBytes / dst_step;
            for (std::int64_t done = 0; done < count; done += most) {
                const std::int64_t now = count - done < most ? count - done : most;
                VectorByVector::blocks<false>(block, from + done * src_step, stage, now, src_step, dst_step, ahead, false);
                std::byte* const target = to + done * dst_step;
                for (std::int64_t k = 0; k < now * dst_step; k += 16) Simd128::stream(target + k, Simd128::load(stage + k));
            }
        }
    }
};

// Blocks that are smaller than a vector, or whose source is smaller than a window.
struct PartialShuffles {
    static constexpr bool kDownRows = false;
    template <bool nontemporal>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t, bool) {
        for (std::int64_t i = 0; i < count; ++i) {
            const GatherStep* step = block.steps;
            for (std::int32_t v = 0; v < block.count; ++v) {
                Simd128::Vector vector = {};
                for (const GatherStep* last = step + block.vectors[v].steps; step != last; ++step) {
                    alignas(16) std::byte readable[16] = {};
                    move_short<16>(from + step->first, readable, block.window_bytes);
                    vector |= pick(readable, block.indices[step->index]);
                }
                alignas(16) std::byte written[16];
                Simd128::store(written, vector);
                move_short<16>(written, to + block.vectors[v].dst, block.vector_bytes);
            }
            from += src_step;
            to += dst_step;
        }
    }
};

// Calls `move` with each step of a row at which a block begins; the last one may repeat part of the one before it.
template <class Move>
[[gnu::always_inline]] inline void each_block_of(const GatherBlock& block, std::int64_t extent, const Move& move) {
    const std::int64_t last = extent - block.loop_steps;
    for (std::int64_t at = 0;; at = std::min(at + block.loop_steps, last)) {
        move(at);
        if (at == last) return;
    }
}

// Rows of few blocks: one vector of some rows, then the next.
inline void gather_down_rows(const GatherBlock& block, const std::byte* src, std::byte* dst, const KernelLoop& along,
                             const KernelLoop& across) {
    const KernelLoop a = by_words<KernelLoop>(along);  // values, as entry.hpp says
    const KernelLoop b = by_words<KernelLoop>(across);
    const std::int64_t together = blocks_together(block);
    for (std::int64_t row = 0; row < b.extent; row += together) {
        const std::int64_t rows = std::min(b.extent - row, together);
        each_block_of(block, a.extent, [&](std::int64_t at) {
            vector_by_vector(block, src + at * a.src_stride, dst + row * b.dst_stride + at * a.dst_stride,
                             [&](const auto& move) {
                                 for (std::int64_t j = 0; j < rows; ++j) move(b.src_at(row + j), j * b.dst_stride);
                             });
        });
    }
}

void gather_one_window(const GatherBlock& block, const std::byte* src, std::byte* dst, const KernelLoop& a, const KernelLoop& b,
                       KernelStores stores) noexcept {
    const bool partial = block.vector_bytes < 16 || block.window_bytes < 16;
    if (partial) stores = {};
    const std::int64_t blocks = a.extent / block.loop_steps;
    const bool cached = !partial && !stores.nontemporal && !stores.prefetch;
    if (cached && blocks < kManyBlocks && blocks < b.extent) return gather_down_rows(block, src, dst, a, b);
    const BlockMover& mover = partial              ? block_mover<PartialShuffles>
                              : stores.nontemporal ? block_mover<StagedVectors>
                                                   : block_mover<VectorByVector>;
    walk_blocks(mover, block, src, dst, a, b, stores);
}

// Where runs have few blocks, one vector of all runs, then the next: a caller has as many as its stage holds.
void gather_runs_one_window(const GatherBlock& block, const std::byte* src, std::byte* dst, const KernelLoop& along,
                            const KernelLoop& across, const RunPlace* runs, std::int64_t count) noexcept {
    const std::int64_t blocks = along.extent / block.loop_steps;
    if ((blocks >= kManyBlocks && block.count > 1) || std::min(blocks, blocks_together(block)) >= count * across.extent) {
        for (std::int64_t k = 0; k < count; ++k) {
            gather_one_window(block, src + runs[k].src, dst + runs[k].dst, along, across, {});
        }
        return;
    }
    const KernelLoop a = by_words<KernelLoop>(along);  // values, as entry.hpp says
    const KernelLoop b = by_words<KernelLoop>(across);
    each_block_of(block, a.extent, [&](std::int64_t at) {
        vector_by_vector(block, src + at * a.src_stride, dst + at * a.dst_stride, [&](const auto& move) {
            for (std::int64_t k = 0; k < count; ++k) {
                const RunPlace run = runs[k];
                for (std::int64_t j = 0; j < b.extent; ++j) move(run.src + j * b.src_stride, run.dst + j * b.dst_stride);
            }
        });
    });
}

}  // namespace
}  // namespace dnnmove
