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

struct ByteShuffles {
    template <bool nontemporal>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t ahead) {
        for (std::int64_t i = 0; i < count; ++i) {
            if (ahead != 0) prefetch_lines(block, from + ahead);
            const GatherStep* step = block.steps;
            for (std::int32_t v = 0; v < block.count; ++v) {
                const GatherStep* last = step + block.vectors[v].steps;
                __m128i vector = pick(from + step->first, block.indices[step->index]);
                for (++step; step != last; ++step) vector = _mm_or_si128(vector, pick(from + step->first, block.indices[step->index]));
                auto* target = reinterpret_cast<__m128i*>(to + block.vectors[v].dst);
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
    walk_blocks<ByteShuffles>(block, src, dst, a, b, stores);
}

}  // namespace
}  // namespace dnnmove
