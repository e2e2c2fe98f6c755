// Gathers groups of 2^n vectors that share their many windows: few windows per vector, then a network of
// byte permutes (vpermi2b, AVX-512 VBMI).
//
// n bits of a byte's place in a vector change roles with the vector's number. Round r does that for bit r:
//     x'[s] = bytes where the bit is clear of x[s], of x[s | 1 << r]     (bit r of s clear)
//     x'[s | 1 << r] = bytes where it is set of x[s], of x[s | 1 << r]
//
//   x[0]  a0 a1 a2 a3  ->  a0 b0 a2 b2  ->  a0 b0 c0 d0       Four vectors of which each has to hold one
//   x[1]  b0 b1 b2 b3      a1 b1 a3 b3      a1 b1 c1 d1       element of each of four runs a, b, c, d of the
//   x[2]  c0 c1 c2 c3      c0 d0 c2 d2      a2 b2 c2 d2       source: without the network, four windows each.
//   x[3]  d0 d1 d2 d3      c1 d1 c3 d3      a3 b3 c3 d3
#pragma once

#include <immintrin.h>

#include <type_traits>

#include "kernels/gather_two_windows.hpp"

namespace dnnmove {
namespace {

// The one step of a vector that comes out of one window.
struct OnePick {
    __m512i index;
    std::int64_t first;

    void load(const GatherBlock& block, const GatherStep* step) {
        index = index_of(block, *step);
        first = step->first;
    }
    __m512i from(const std::byte* src) const { return _mm512_permutexvar_epi8(index, window(src + first)); }
};

// `steps` 0: one, of one window.
template <int rounds, int steps>
struct Network {
    static constexpr bool kDownRows = true;
    static constexpr int kGroup = 1 << rounds;
    static constexpr int kSteps = steps == 0 ? 1 : steps;
    using Pick = std::conditional_t<steps == 0, OnePick, Picks<kSteps>>;

    template <bool nontemporal>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t ahead, bool claim) {
        const std::int64_t chunk = block.count == kGroup && ahead == 0 ? count : chunk_of<nontemporal>(block, count, dst_step);
        for (std::int64_t done = 0; done < count; done += chunk) {
            const std::int64_t now = count - done < chunk ? count - done : chunk;
            for (std::int32_t v = 0; v < block.count; v += kGroup) {
                if (ahead != 0) prefetch_share(block, v, kGroup, from + ahead, now, src_step);
                group<nontemporal>(block, v, from, to, now, src_step, dst_step, claim);
            }
            from += now * src_step;
            to += now * dst_step;
        }
    }

private:
    template <bool nontemporal>
    static void group(const GatherBlock& block, std::int32_t v, const std::byte* from, std::byte* to, std::int64_t count,
                      std::int64_t src_step, std::int64_t dst_step, bool claim) {
        __m512i low[rounds];
        __m512i high[rounds];
#pragma GCC unroll 3
        for (int r = 0; r < rounds; ++r) {
            low[r] = _mm512_load_si512(block.indices[2 * r].byte);
            high[r] = _mm512_load_si512(block.indices[2 * r + 1].byte);
        }
        Pick picks[kGroup];
        std::int64_t dst[kGroup];
        std::uint64_t keep = ~0ull;
#pragma GCC unroll 8
        for (int s = 0; s < kGroup; ++s) {
            picks[s].load(block, block.steps + (v + s) * kSteps);
            dst[s] = block.vectors[v + s].dst;
            keep &= block.vectors[v + s].keep;
        }
        for (std::int64_t i = 0; i < count; ++i) {
            if (claim) claim_vectors(to, dst);
            __m512i x[kGroup];
#pragma GCC unroll 8
            for (int s = 0; s < kGroup; ++s) x[s] = picks[s].from(from);
#pragma GCC unroll 3
            for (int r = 0; r < rounds; ++r) {
#pragma GCC unroll 8
                for (int s = 0; s < kGroup; ++s) {
                    if ((s >> r & 1) != 0) continue;
                    const __m512i a = x[s];
                    const __m512i b = x[s | 1 << r];
                    x[s] = _mm512_permutex2var_epi8(a, low[r], b);
                    x[s | 1 << r] = _mm512_permutex2var_epi8(a, high[r], b);
                }
            }
            if (keep != ~0ull) {
#pragma GCC unroll 8
                for (int s = 0; s < kGroup; ++s) x[s] = _mm512_maskz_mov_epi8(block.vectors[v + s].keep, x[s]);
            }
#pragma GCC unroll 8
            for (int s = 0; s < kGroup; ++s) put_vector<Simd512, nontemporal>(to + dst[s], x[s]);
            from += src_step;
            to += dst_step;
        }
    }
};

}  // namespace
}  // namespace dnnmove
