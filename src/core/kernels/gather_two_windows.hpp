// Gathers 64-byte vectors from pairs of 64-byte windows with vpermi2b (AVX-512 VBMI).
//
// A table lives in memory that the stores could alias as far as the compiler knows: whatever a loop needs
// of it is copied to locals first.
#pragma once

#include <immintrin.h>

#include "kernels/by_number.hpp"
#include "kernels/gather_blocks.hpp"
#include "kernels/simd_avx512.hpp"

namespace dnnmove {
namespace {

inline __m512i window(const std::byte* p) { return _mm512_loadu_si512(p); }
inline __m512i index_of(const GatherBlock& block, const GatherStep& step) {
    return _mm512_load_si512(block.indices[step.index].byte);
}

// The steps of one vector, in registers as far as they fit.
template <int steps>
struct Picks {
    __m512i index[steps];
    std::int64_t first;
    std::int64_t second[steps];

    void load(const GatherBlock& block, const GatherStep* step) {
        first = step->first;
#pragma GCC unroll 8
        for (int s = 0; s < steps; ++s) {
            index[s] = _mm512_load_si512(block.indices[step[s].index].byte);
            second[s] = step[s].second;
        }
    }
    __m512i from(const std::byte* src) const {
        __m512i vector = window(src + first);
#pragma GCC unroll 8
        for (int s = 0; s < steps; ++s) vector = _mm512_permutex2var_epi8(vector, index[s], window(src + second[s]));
        return vector;
    }
};

// Asks for the lines in which a block's vectors begin. (Inlined: see prefetch_run() in kernels/rows.hpp.)
template <int vectors>
[[gnu::always_inline]] inline void claim_vectors(const std::byte* to, const std::int64_t (&dst)[vectors]) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) __builtin_prefetch(to + dst[v]);
}

// The tables of a few whole vectors of as many steps each, all in registers.
template <int vectors, int steps>
struct OwnWindows {
    Picks<steps> picks[vectors];
    std::int64_t dst[vectors];

    explicit OwnWindows(const GatherBlock& block) {
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) {
            picks[v].load(block, block.steps + v * steps);
            dst[v] = block.vectors[v].dst;
        }
    }
    template <bool nontemporal>
    void make(const std::byte* from, std::byte* to, bool claim) const {
        if (claim) claim_vectors(to, dst);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) put_vector<Simd512, nontemporal>(to + dst[v], picks[v].from(from));
    }
};

// The same where all vectors share their windows: each is loaded once.
template <int vectors, int windows>
struct SharedWindows {
    static constexpr int kSteps = windows > 1 ? windows - 1 : 1;
    __m512i index[vectors][kSteps];
    std::int64_t place[windows];
    std::int64_t dst[vectors];

    explicit SharedWindows(const GatherBlock& block) {
        place[0] = block.steps[0].first;
#pragma GCC unroll 8
        for (int w = 1; w < windows; ++w) place[w] = block.steps[w - 1].second;
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) {
#pragma GCC unroll 8
            for (int s = 0; s < kSteps; ++s) index[v][s] = index_of(block, block.steps[v * kSteps + s]);
            dst[v] = block.vectors[v].dst;
        }
    }
    template <bool nontemporal>
    void make(const std::byte* from, std::byte* to, bool claim) const {
        if (claim) claim_vectors(to, dst);
        __m512i x[windows];
#pragma GCC unroll 8
        for (int w = 0; w < windows; ++w) x[w] = window(from + place[w]);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) {
            __m512i vector = x[0];
            if constexpr (windows == 1) vector = _mm512_permutexvar_epi8(index[v][0], vector);
#pragma GCC unroll 8
            for (int w = 1; w < windows; ++w) vector = _mm512_permutex2var_epi8(vector, index[v][w - 1], x[w]);
            put_vector<Simd512, nontemporal>(to + dst[v], vector);
        }
    }
};

// Blocks of a few vectors.
template <class Tables>
struct FewVectors {
    template <bool nontemporal>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t ahead, bool claim) {
        if (count <= 0) return;
        const Tables tables(block);
        const std::int32_t* const lines = block.lines;
        const std::int32_t line_count = ahead != 0 ? block.line_count : 0;
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int32_t k = 0; k < line_count; ++k) __builtin_prefetch(from + ahead + lines[k]);
            tables.template make<nontemporal>(from, to, claim);
            from += src_step;
            to += dst_step;
        }
    }
    // Rows that stay in the caches: the tables are loaded once for all of them.
    static void rows(const GatherBlock& block, const std::byte* src, std::byte* dst, KernelLoop a, KernelLoop b, bool claim) {
        const Tables tables(block);
        const std::int64_t steps = block.loop_steps;
        const std::int64_t last = a.extent - steps;
        for (std::int64_t j = 0; j < b.extent; ++j) {
            const std::byte* from = src + b.src_at(j);
            std::byte* to = dst + j * b.dst_stride;
            for (std::int64_t at = 0;; at = at + steps < last ? at + steps : last) {
                tables.template make<false>(from + at * a.src_stride, to + at * a.dst_stride, claim);
                if (at == last) break;
            }
        }
    }
};

// Vectors are done one by one, each over a chunk of blocks: tables are loaded once per chunk, and source and
// destination are read and written in runs. What is streamed, only where it makes runs in the destination or
// where loading the tables would take longer than memory; elsewhere block by block.
template <bool nontemporal>
inline std::int64_t chunk_of(const GatherBlock& block, std::int64_t count, std::int64_t dst_step) {
    const bool runs = dst_step <= 2 * kLine;
    if (count < 4 || dst_step > 2048 || (nontemporal && !runs && !block.many_steps)) return 1;
    const std::int64_t run = (nontemporal ? 8192 : 4096) / dst_step;
    return run > 16 ? run : dst_step > 1024 ? 8 : 16;
}

// What a chunk of one vector prefetches: its share of the block's lines.
[[gnu::always_inline]] inline void prefetch_share(const GatherBlock& block, std::int32_t vector, std::int32_t vectors,
                                                  const std::byte* from, std::int64_t count, std::int64_t src_step) {
    const std::int32_t end = (vector + vectors) * block.line_count / block.count;
    for (std::int32_t k = vector * block.line_count / block.count; k < end; ++k) {
        for (std::int64_t i = 0; i < count; ++i) __builtin_prefetch(from + block.lines[k] + i * src_step);
    }
}

// Blocks of any number of whole vectors.
struct ManyVectors {
    static constexpr bool kDownRows = true;
    template <bool nontemporal>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t ahead, bool claim) {
        const std::int64_t chunk = chunk_of<nontemporal>(block, count, dst_step);
        if (chunk == 1 && !block.zeroes) {
            const auto run = [&]<int steps>() {
                rows<nontemporal, steps>(block, from, to, count, src_step, dst_step, ahead, claim);
            };
            if (!with_number_to<4>(block.even_steps, run)) run.template operator()<0>();
            return;
        }
        for (std::int64_t done = 0; done < count; done += chunk) {
            const std::int64_t now = count - done < chunk ? count - done : chunk;
            const GatherStep* step = block.steps;
            for (std::int32_t v = 0; v < block.count; ++v) {
                const GatherVector vector = block.vectors[v];
                if (ahead != 0) prefetch_share(block, v, 1, from + ahead, now, src_step);
                many<nontemporal>(block, vector, step, from, to + vector.dst, now, src_step, dst_step, claim);
                step += vector.steps;
            }
            from += now * src_step;
            to += now * dst_step;
        }
    }

private:
    // Block by block, all vectors of as many steps (0: as many as each says).
    template <bool nontemporal, int steps>
    static void rows(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count, std::int64_t src_step,
                     std::int64_t dst_step, std::int64_t ahead, bool claim) {
        const GatherVector* const vectors = block.vectors;
        const std::int32_t vector_count = block.count;
        for (std::int64_t i = 0; i < count; ++i) {
            if (ahead != 0) prefetch_lines(block, from + ahead);
            const GatherStep* step = block.steps;
            for (std::int32_t v = 0; v < vector_count; ++v) {
                const std::int32_t last = steps != 0 ? steps : vectors[v].steps;
                if (claim) __builtin_prefetch(to + vectors[v].dst);
                __m512i vector = window(from + step->first);
#pragma GCC unroll 4
                for (std::int32_t s = 0; s < last; ++s) {
                    vector = _mm512_permutex2var_epi8(vector, index_of(block, step[s]), window(from + step[s].second));
                }
                put_vector<Simd512, nontemporal>(to + vectors[v].dst, vector);
                step += last;
            }
            from += src_step;
            to += dst_step;
        }
    }
    template <bool nontemporal>
    static void many(const GatherBlock& block, const GatherVector& vector, const GatherStep* step, const std::byte* from,
                     std::byte* to, std::int64_t count, std::int64_t src_step, std::int64_t dst_step, bool claim) {
        const auto run_few = [&]<int steps>() {
            run<nontemporal, steps>(block, step, from, to, count, src_step, dst_step, claim);
        };
        if (vector.keep == ~0ull && with_number_to<8>(vector.steps, run_few)) return;
        for (std::int64_t i = 0; i < count; ++i) {
            if (claim) __builtin_prefetch(to);
            __m512i gathered = window(from + step->first);
            for (std::int32_t s = 0; s < vector.steps; ++s) {
                gathered = _mm512_permutex2var_epi8(gathered, index_of(block, step[s]), window(from + step[s].second));
            }
            put_vector<Simd512, nontemporal>(to, _mm512_maskz_mov_epi8(vector.keep, gathered));
            from += src_step;
            to += dst_step;
        }
    }
    template <bool nontemporal, int steps>
    static void run(const GatherBlock& block, const GatherStep* step, const std::byte* from, std::byte* to, std::int64_t count,
                    std::int64_t src_step, std::int64_t dst_step, bool claim) {
        Picks<steps> picks;
        picks.load(block, step);
        for (; count >= 2; count -= 2) {
            if (claim) {
                __builtin_prefetch(to);
                __builtin_prefetch(to + dst_step);
            }
            put_vector<Simd512, nontemporal>(to, picks.from(from));
            put_vector<Simd512, nontemporal>(to + dst_step, picks.from(from + src_step));
            from += 2 * src_step;
            to += 2 * dst_step;
        }
        if (count > 0) put_vector<Simd512, nontemporal>(to, picks.from(from));
    }
};

// Blocks that are smaller than a vector, or whose source is smaller than a window.
struct PartialVectors {
    static constexpr bool kDownRows = false;
    template <bool nontemporal>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t, bool) {
        const auto mask_of = [](std::int32_t bytes) { return bytes >= 64 ? ~0ull : (1ull << bytes) - 1; };
        const __mmask64 readable = mask_of(block.window_bytes);
        const __mmask64 written = mask_of(block.vector_bytes);
        for (std::int64_t i = 0; i < count; ++i) {
            const GatherStep* step = block.steps;
            for (std::int32_t v = 0; v < block.count; ++v) {
                __m512i vector = _mm512_maskz_loadu_epi8(readable, from + step->first);
                for (const GatherStep* last = step + block.vectors[v].steps; step != last; ++step) {
                    vector = _mm512_permutex2var_epi8(vector, index_of(block, *step),
                                                      _mm512_maskz_loadu_epi8(readable, from + step->second));
                }
                vector = _mm512_maskz_mov_epi8(block.vectors[v].keep, vector);
                _mm512_mask_storeu_epi8(to + block.vectors[v].dst, written, vector);
            }
            from += src_step;
            to += dst_step;
        }
    }
};

}  // namespace
}  // namespace dnnmove
