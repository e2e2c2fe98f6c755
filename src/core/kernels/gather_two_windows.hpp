// Gathers 64-byte vectors from pairs of 64-byte windows with vpermi2b (AVX-512 VBMI).
//
// A table lives in memory that the stores could alias as far as the compiler knows: whatever a loop needs
// of it is copied to locals first.
#pragma once

#include <immintrin.h>

#include "kernels/gather_blocks.hpp"

namespace dnnmove {
namespace {

inline __m512i window(const std::byte* p) { return _mm512_loadu_si512(p); }
inline __m512i index_of(const GatherBlock& block, const GatherStep& step) {
    return _mm512_load_si512(block.indices[step.index].byte);
}

template <bool nontemporal>
inline void put(std::byte* to, __m512i vector) {
    if constexpr (nontemporal) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to), vector);
    } else {
        _mm512_storeu_si512(to, vector);
    }
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

// Blocks of a few whole vectors of as many steps each: all tables stay in registers.
template <int vectors, int steps>
struct FewVectors {
    template <bool nontemporal>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t ahead) {
        if (count <= 0) return;
        Picks<steps> picks[vectors];
        std::int64_t dst[vectors];
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) {
            picks[v].load(block, block.steps + v * steps);
            dst[v] = block.vectors[v].dst;
        }
        const std::int32_t* const lines = block.lines;
        const std::int32_t line_count = ahead != 0 ? block.line_count : 0;
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int32_t k = 0; k < line_count; ++k) __builtin_prefetch(from + ahead + lines[k]);
#pragma GCC unroll 8
            for (int v = 0; v < vectors; ++v) put<nontemporal>(to + dst[v], picks[v].from(from));
            from += src_step;
            to += dst_step;
        }
    }
};

// Where the destinations of a vector in successive blocks follow each other, as in blocked layouts,
// vectors are done one by one, each over a chunk of blocks: tables are loaded once per chunk, and the
// source and the destination are read and written in runs. Elsewhere block by block.
inline std::int64_t chunk_of(std::int64_t count, std::int64_t dst_step) {
    constexpr std::int64_t kChunk = 16;
    return count >= 4 && dst_step <= 2 * kLine ? kChunk : 1;
}

// What a chunk of one vector prefetches: its share of the block's lines.
inline void prefetch_share(const GatherBlock& block, std::int32_t vector, std::int32_t vectors, const std::byte* from,
                           std::int64_t count, std::int64_t src_step) {
    const std::int32_t end = (vector + vectors) * block.line_count / block.count;
    for (std::int32_t k = vector * block.line_count / block.count; k < end; ++k) {
        for (std::int64_t i = 0; i < count; ++i) __builtin_prefetch(from + block.lines[k] + i * src_step);
    }
}

// Blocks of any number of whole vectors.
struct ManyVectors {
    template <bool nontemporal>
    static void blocks(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                       std::int64_t src_step, std::int64_t dst_step, std::int64_t ahead) {
        const std::int64_t chunk = chunk_of(count, dst_step);
        if (chunk == 1 && !block.zeroes) {
            switch (block.even_steps) {
                case 1: return rows<nontemporal, 1>(block, from, to, count, src_step, dst_step, ahead);
                case 2: return rows<nontemporal, 2>(block, from, to, count, src_step, dst_step, ahead);
                case 3: return rows<nontemporal, 3>(block, from, to, count, src_step, dst_step, ahead);
                case 4: return rows<nontemporal, 4>(block, from, to, count, src_step, dst_step, ahead);
                default: return rows<nontemporal, 0>(block, from, to, count, src_step, dst_step, ahead);
            }
        }
        for (std::int64_t done = 0; done < count; done += chunk) {
            const std::int64_t now = count - done < chunk ? count - done : chunk;
            const GatherStep* step = block.steps;
            for (std::int32_t v = 0; v < block.count; ++v) {
                const GatherVector vector = block.vectors[v];
                if (ahead != 0) prefetch_share(block, v, 1, from + ahead, now, src_step);
                many<nontemporal>(block, vector, step, from, to + vector.dst, now, src_step, dst_step);
                step += vector.steps;
            }
            from += now * src_step;
            to += now * dst_step;
        }
    }

private:
    // Block by block, all vectors of as many steps (0: as many as each says).
    template <bool nontemporal, int steps>
    static void rows(const GatherBlock& block, const std::byte* from, std::byte* to, std::int64_t count,
                     std::int64_t src_step, std::int64_t dst_step, std::int64_t ahead) {
        const GatherVector* const vectors = block.vectors;
        const std::int32_t vector_count = block.count;
        for (std::int64_t i = 0; i < count; ++i) {
            if (ahead != 0) prefetch_lines(block, from + ahead);
            const GatherStep* step = block.steps;
            for (std::int32_t v = 0; v < vector_count; ++v) {
                const std::int32_t last = steps != 0 ? steps : vectors[v].steps;
                __m512i vector = window(from + step->first);
#pragma GCC unroll 4
                for (std::int32_t s = 0; s < last; ++s) {
                    vector = _mm512_permutex2var_epi8(vector, index_of(block, step[s]), window(from + step[s].second));
                }
                put<nontemporal>(to + vectors[v].dst, vector);
                step += last;
            }
            from += src_step;
            to += dst_step;
        }
    }
    template <bool nontemporal>
    static void many(const GatherBlock& block, const GatherVector& vector, const GatherStep* step, const std::byte* from,
                     std::byte* to, std::int64_t count, std::int64_t src_step, std::int64_t dst_step) {
        if (vector.keep == ~0ull) {
            switch (vector.steps) {
                case 1: return run<nontemporal, 1>(block, step, from, to, count, src_step, dst_step);
                case 2: return run<nontemporal, 2>(block, step, from, to, count, src_step, dst_step);
                case 3: return run<nontemporal, 3>(block, step, from, to, count, src_step, dst_step);
                case 4: return run<nontemporal, 4>(block, step, from, to, count, src_step, dst_step);
                case 5: return run<nontemporal, 5>(block, step, from, to, count, src_step, dst_step);
                case 6: return run<nontemporal, 6>(block, step, from, to, count, src_step, dst_step);
                case 7: return run<nontemporal, 7>(block, step, from, to, count, src_step, dst_step);
                case 8: return run<nontemporal, 8>(block, step, from, to, count, src_step, dst_step);
                default: break;
            }
        }
        for (std::int64_t i = 0; i < count; ++i) {
            __m512i gathered = window(from + step->first);
            for (std::int32_t s = 0; s < vector.steps; ++s) {
                gathered = _mm512_permutex2var_epi8(gathered, index_of(block, step[s]), window(from + step[s].second));
            }
            put<nontemporal>(to, _mm512_maskz_mov_epi8(vector.keep, gathered));
            from += src_step;
            to += dst_step;
        }
    }
    template <bool nontemporal, int steps>
    static void run(const GatherBlock& block, const GatherStep* step, const std::byte* from, std::byte* to,
                    std::int64_t count, std::int64_t src_step, std::int64_t dst_step) {
        Picks<steps> picks;
        picks.load(block, step);
        for (; count >= 2; count -= 2) {
            put<nontemporal>(to, picks.from(from));
            put<nontemporal>(to + dst_step, picks.from(from + src_step));
            from += 2 * src_step;
            to += 2 * dst_step;
        }
        if (count > 0) put<nontemporal>(to, picks.from(from));
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
