// Gathers 16-byte vectors from 16-byte windows with pshufb (in AVX2 and AVX-512 without VBMI).
#pragma once

#include <immintrin.h>

#include "kernels/gather_blocks.hpp"

namespace dnnmove {
namespace {

inline __m128i pick(const std::byte* window, const GatherIndex& index) {
    return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(window)),
                            _mm_load_si128(reinterpret_cast<const __m128i*>(index.byte)));
}

// One vector of a block over many blocks: its permutes stay in registers.
template <int steps>
inline void pick_vectors(const GatherBlock& block, const GatherVector& vector, const GatherStep* step, const std::byte* from,
                         std::byte* to, std::int64_t count, std::int64_t src_step, std::int64_t dst_step) {
    __m128i index[steps];
    const std::byte* window[steps];
    for (int s = 0; s < steps; ++s) {
        index[s] = _mm_load_si128(reinterpret_cast<const __m128i*>(block.indices[step[s].index].byte));
        window[s] = from + step[s].first;
    }
    to += vector.dst;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto load = [&](int s) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(window[s] + i * src_step)); };
        __m128i picked = _mm_shuffle_epi8(load(0), index[0]);
#pragma GCC unroll 8
        for (int s = 1; s < steps; ++s) picked = _mm_or_si128(picked, _mm_shuffle_epi8(load(s), index[s]));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * dst_step), picked);
    }
}

// Whole vectors by ordinary stores: vector by vector, each over as many blocks as stay in the first-level
// cache.
struct VectorByVector {
    static constexpr bool kDownRows = false;
    template <bool>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t ahead) {
        constexpr std::int64_t kChunk = 16;
        for (std::int64_t done = 0; done < count; done += kChunk) {
            const std::int64_t now = count - done < kChunk ? count - done : kChunk;
            if (ahead != 0) {
                for (std::int64_t i = 0; i < now; ++i) prefetch_lines(block, from + i * src_step + ahead);
            }
            const GatherStep* step = block.steps;
            for (std::int32_t v = 0; v < block.count; ++v) {
                const GatherVector& vector = block.vectors[v];
                switch (vector.steps) {
                    case 1: pick_vectors<1>(block, vector, step, from, to, now, src_step, dst_step); break;
                    case 2: pick_vectors<2>(block, vector, step, from, to, now, src_step, dst_step); break;
                    case 3: pick_vectors<3>(block, vector, step, from, to, now, src_step, dst_step); break;
                    case 4: pick_vectors<4>(block, vector, step, from, to, now, src_step, dst_step); break;
                    default:
                        for (std::int64_t i = 0; i < now; ++i) {
                            __m128i picked = _mm_setzero_si128();
                            for (std::int32_t s = 0; s < vector.steps; ++s) {
                                picked = _mm_or_si128(picked,
                                                      pick(from + i * src_step + step[s].first, block.indices[step[s].index]));
                            }
                            _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * dst_step + vector.dst), picked);
                        }
                }
                step += vector.steps;
            }
            from += now * src_step;
            to += now * dst_step;
        }
    }
};

struct ByteShuffles {
    static constexpr bool kDownRows = false;
    template <bool nontemporal>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t ahead) {
        // Copies, which no store can change.
        const GatherIndex* const indices = block.indices;
        const GatherVector* const vectors = block.vectors;
        const GatherStep* const steps = block.steps;
        const std::int32_t vector_count = block.count;
        for (std::int64_t i = 0; i < count; ++i) {
            if (ahead != 0) prefetch_lines(block, from + ahead);
            const GatherStep* step = steps;
            for (std::int32_t v = 0; v < vector_count; ++v) {
                const GatherStep* last = step + vectors[v].steps;
                __m128i vector = pick(from + step->first, indices[step->index]);
                for (++step; step != last; ++step)
                    vector = _mm_or_si128(vector, pick(from + step->first, indices[step->index]));
                auto* target = reinterpret_cast<__m128i*>(to + vectors[v].dst);
                if constexpr (nontemporal) {
                    _mm_stream_si128(target, vector);
                } else {
                    _mm_storeu_si128(target, vector);
                }
            }
            from += src_step;
            to += dst_step;
        }
    }
};

// Blocks that are smaller than a vector, or whose source is smaller than a window.
struct PartialShuffles {
    static constexpr bool kDownRows = false;
    template <bool nontemporal>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t) {
        for (std::int64_t i = 0; i < count; ++i) {
            const GatherStep* step = block.steps;
            for (std::int32_t v = 0; v < block.count; ++v) {
                __m128i vector = _mm_setzero_si128();
                for (const GatherStep* last = step + block.vectors[v].steps; step != last; ++step) {
                    alignas(16) std::byte readable[64] = {};
                    move_short(from + step->first, readable, block.window_bytes);
                    vector = _mm_or_si128(vector, pick(readable, block.indices[step->index]));
                }
                alignas(16) std::byte written[64];
                _mm_store_si128(reinterpret_cast<__m128i*>(written), vector);
                move_short(written, to + block.vectors[v].dst, block.vector_bytes);
            }
            from += src_step;
            to += dst_step;
        }
    }
};

void gather_one_window(const GatherBlock& block, const std::byte* src, std::byte* dst, KernelLoop a, KernelLoop b,
                       KernelStores stores) noexcept {
    if (block.vector_bytes < 16 || block.window_bytes < 16) {
        return walk_blocks<PartialShuffles>(block, src, dst, a, b, KernelStores{});
    }
    if (!stores.nontemporal) return walk_blocks<VectorByVector>(block, src, dst, a, b, stores);
    walk_blocks<ByteShuffles>(block, src, dst, a, b, stores);
}

}  // namespace
}  // namespace dnnmove
