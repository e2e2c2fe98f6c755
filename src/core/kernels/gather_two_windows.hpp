// Gathers 64-byte vectors from pairs of 64-byte windows with vpermi2b (AVX-512 VBMI).
#pragma once

#include <immintrin.h>

#include "kernels/gather_blocks.hpp"

namespace dnnmove {
namespace {

inline __m512i window(const std::byte* p) { return _mm512_loadu_si512(p); }

template <bool nontemporal>
inline void put(std::byte* to, __m512i vector) {
    if constexpr (nontemporal) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to), vector);
    } else {
        _mm512_storeu_si512(to, vector);
    }
}

// Blocks of a few whole vectors of as many steps each: all tables stay in registers.
template <int vectors, int steps>
struct FewVectors {
    template <bool nontemporal>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t ahead) {
        __m512i index[vectors][steps];
        for (int v = 0; v < vectors; ++v) {
            for (int s = 0; s < steps; ++s) index[v][s] = _mm512_load_si512(block.steps[v * steps + s].index);
        }
        for (std::int64_t i = 0; i < count; ++i) {
            if (ahead != 0) prefetch_lines(block, from + ahead);
#pragma GCC unroll 5
            for (int v = 0; v < vectors; ++v) {
                const GatherStep* step = block.steps + v * steps;
                __m512i vector = window(from + step->first);
#pragma GCC unroll 8
                for (int s = 0; s < steps; ++s) {
                    vector = _mm512_permutex2var_epi8(vector, index[v][s], window(from + step[s].second));
                }
                put<nontemporal>(to + block.vectors[v].dst, vector);
            }
            from += src_step;
            to += dst_step;
        }
    }
};

// Blocks of any number of whole vectors of as many steps each (0: as many as each says).
template <int steps>
struct WholeVectors {
    template <bool nontemporal>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t ahead) {
        for (std::int64_t i = 0; i < count; ++i) {
            if (ahead != 0) prefetch_lines(block, from + ahead);
            const GatherStep* step = block.steps;
            for (std::int32_t v = 0; v < block.count; ++v) {
                const std::int32_t last = steps != 0 ? steps : block.vectors[v].steps;
                __m512i vector = window(from + step->first);
#pragma GCC unroll 8
                for (std::int32_t s = 0; s < last; ++s) {
                    vector = _mm512_permutex2var_epi8(vector, _mm512_load_si512(step[s].index), window(from + step[s].second));
                }
                step += last;
                put<nontemporal>(to + block.vectors[v].dst, vector);
            }
            from += src_step;
            to += dst_step;
        }
    }
};

// Blocks that are smaller than a vector, or whose source is smaller than a window.
struct PartialVectors {
    template <bool nontemporal>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t) {
        const auto mask_of = [](std::int32_t bytes) { return bytes >= 64 ? ~0ull : (1ull << bytes) - 1; };
        const __mmask64 readable = mask_of(block.window_bytes);
        const __mmask64 written = mask_of(block.vector_bytes);
        for (std::int64_t i = 0; i < count; ++i) {
            const GatherStep* step = block.steps;
            for (std::int32_t v = 0; v < block.count; ++v) {
                __m512i vector = _mm512_maskz_loadu_epi8(readable, from + step->first);
                for (const GatherStep* last = step + block.vectors[v].steps; step != last; ++step) {
                    vector = _mm512_permutex2var_epi8(vector, _mm512_load_si512(step->index),
                                                      _mm512_maskz_loadu_epi8(readable, from + step->second));
                }
                _mm512_mask_storeu_epi8(to + block.vectors[v].dst, written, vector);
            }
            from += src_step;
            to += dst_step;
        }
    }
};

void gather_two_windows(const GatherBlock& block, const std::byte* src, std::byte* dst, KernelLoop a, KernelLoop b,
                        KernelStores stores) noexcept {
    if (block.vector_bytes < 64 || block.window_bytes < 64) {
        return walk_blocks<PartialVectors>(block, src, dst, a, b, KernelStores{});
    }
    bool even = true;
    for (std::int32_t v = 1; v < block.count; ++v) even = even && block.vectors[v].steps == block.vectors[0].steps;
    constexpr auto kind = [](std::int32_t vectors, std::int32_t steps) { return vectors * 64 + steps; };
    switch (even && block.vectors[0].steps < 64 ? kind(block.count, block.vectors[0].steps) : 0) {
        case kind(1, 1): return walk_blocks<FewVectors<1, 1>>(block, src, dst, a, b, stores);
        case kind(1, 2): return walk_blocks<FewVectors<1, 2>>(block, src, dst, a, b, stores);
        case kind(1, 3): return walk_blocks<FewVectors<1, 3>>(block, src, dst, a, b, stores);
        case kind(1, 4): return walk_blocks<FewVectors<1, 4>>(block, src, dst, a, b, stores);
        case kind(1, 7): return walk_blocks<FewVectors<1, 7>>(block, src, dst, a, b, stores);
        case kind(2, 1): return walk_blocks<FewVectors<2, 1>>(block, src, dst, a, b, stores);
        case kind(2, 2): return walk_blocks<FewVectors<2, 2>>(block, src, dst, a, b, stores);
        case kind(3, 1): return walk_blocks<FewVectors<3, 1>>(block, src, dst, a, b, stores);
        case kind(3, 2): return walk_blocks<FewVectors<3, 2>>(block, src, dst, a, b, stores);
        case kind(3, 3): return walk_blocks<FewVectors<3, 3>>(block, src, dst, a, b, stores);
        case kind(5, 4): return walk_blocks<FewVectors<5, 4>>(block, src, dst, a, b, stores);
        case kind(4, 3): return walk_blocks<FewVectors<4, 3>>(block, src, dst, a, b, stores);
        default: break;
    }
    switch (even ? block.vectors[0].steps : 0) {
        case 1: return walk_blocks<WholeVectors<1>>(block, src, dst, a, b, stores);
        case 2: return walk_blocks<WholeVectors<2>>(block, src, dst, a, b, stores);
        case 3: return walk_blocks<WholeVectors<3>>(block, src, dst, a, b, stores);
        case 4: return walk_blocks<WholeVectors<4>>(block, src, dst, a, b, stores);
        default: return walk_blocks<WholeVectors<0>>(block, src, dst, a, b, stores);
    }
}

}  // namespace
}  // namespace dnnmove
