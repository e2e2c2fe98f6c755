// Short records joined and split by permutes of the bytes of two whole vectors (vpermi2b, AVX-512 VBMI).
#pragma once

#include <immintrin.h>

#include "kernels/record_vectors.hpp"
#include "kernels/simd_avx512.hpp"

namespace dnnmove {
namespace {

// The first `bytes` (16, 32 or 64) of a vector.
template <int bytes>
inline __m512i load_first(const std::byte* p) {
    if constexpr (bytes == 16) return _mm512_zextsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    if constexpr (bytes == 32) return _mm512_zextsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    return _mm512_loadu_si512(p);
}

template <int bytes>
inline void store_first(std::byte* p, __m512i v) {
    if constexpr (bytes == 16) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_castsi512_si128(v));
    } else if constexpr (bytes == 32) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_castsi512_si256(v));
    } else {
        _mm512_storeu_si512(p, v);
    }
}

// What of a vector of `left` bytes, or more, or none, is readable.
inline __m512i load_readable(const std::byte* p, std::int64_t left) {
    return left <= 0 ? _mm512_setzero_si512() : Simd512::load_partial(p, left);
}

// Two pieces in a step.
struct WholeVectors {
    static constexpr std::int32_t kPerStep = 2;
    static constexpr std::int32_t kMostSteps = 7;  // of each a mask is in a register

    template <int vectors, int steps, int bytes>
    [[gnu::noinline]] static void join_by(const VectorBlocks& all) {
        __m512i index[vectors][steps];
        __mmask64 picked[vectors][steps];
        WindowCursor from[vectors][2 * steps];
        std::byte* to[vectors];
        const RecordPiece* piece = all.pieces;
        const std::int64_t move = all.block.records * all.block.pitch;
#pragma GCC unroll 5
        for (int v = 0; v < vectors; ++v) {
            const std::int32_t own = all.vectors[v].pieces;
#pragma GCC unroll 16
            for (int k = 0; k < 2 * steps; ++k) {
                const RecordPiece& one = piece[k < own ? k : 0];
                from[v][k] = {all, one};
                const __m512i places = k < own ? _mm512_load_si512(one.index)
                                               : _mm512_set1_epi8(static_cast<char>(RecordPiece::kNone));
                const __mmask64 picks = ~_mm512_movepi8_mask(places);
                if (k % 2 == 0) {
                    index[v][k / 2] = places;
                    picked[v][k / 2] = picks;
                } else {
                    index[v][k / 2] = _mm512_mask_blend_epi8(picks, index[v][k / 2],
                                                             _mm512_or_si512(places, _mm512_set1_epi8(64)));
                    picked[v][k / 2] |= picks;
                }
            }
            piece += own;
            to[v] = all.dst + all.first * move + all.vectors[v].offset;
        }
        const bool claim = all.claim;
        for (std::int64_t left = all.last - all.first; left > 0; --left) {
#pragma GCC unroll 5
            for (int v = 0; v < vectors; ++v) {
                __m512i vector = _mm512_setzero_si512();
#pragma GCC unroll 16
                for (int k = 0; k < steps; ++k) {
                    WindowCursor& a = from[v][2 * k];
                    WindowCursor& b = from[v][2 * k + 1];
                    const __m512i two = _mm512_maskz_permutex2var_epi8(picked[v][k], load_first<bytes>(a.at), index[v][k],
                                                                       load_first<bytes>(b.at));
                    vector = _mm512_or_si512(vector, two);
                    a.at += a.move;
                    b.at += b.move;
                }
                if (claim) __builtin_prefetch(to[v]);
                _mm512_storeu_si512(to[v], vector);
                to[v] += move;
            }
        }
    }

    static void join(std::int32_t vectors, std::int32_t steps, const VectorBlocks& all) {
        with_number<16, 32, 64>(all.block.piece_bytes, [&]<int bytes>() {
            with_vectors<RecordVectors::kMaxPieces / 2, kMostSteps>(
                vectors, steps, [&]<int count, int each>() { join_by<count, each, bytes>(all); });
        });
    }

    static void join_readable(const RecordPiece* piece, std::int32_t pieces, const RecordVectors& block,
                              const std::byte* const* srcs, std::byte* to, std::int64_t record, std::int64_t readable) {
        __m512i vector = _mm512_setzero_si512();
        for (std::int32_t k = 0; k < pieces; ++k, ++piece) {
            const std::int64_t width = block.widths[piece->field];
            const __m512i window = load_readable(srcs[piece->field] + record * width + piece->offset,
                                                 (readable - record) * width - piece->offset);
            const __m512i places = _mm512_load_si512(piece->index);
            vector = _mm512_or_si512(vector, _mm512_maskz_permutexvar_epi8(~_mm512_movepi8_mask(places), places, window));
        }
        _mm512_storeu_si512(to, vector);
    }
};

// Every field's part of a block is stored with what follows it to `bytes` bytes, which the next block overwrites.
template <int fields, int bytes>
[[gnu::noinline]] void split_blocks(const RecordVectors& block, const std::byte* src, std::byte* const* dsts,
                                    std::int64_t blocks, std::int64_t ahead) {
    __m512i index[fields];
    std::byte* to[fields];
    std::int64_t moves[fields];
#pragma GCC unroll 16
    for (int f = 0; f < fields; ++f) {
        index[f] = _mm512_load_si512(block.pieces[f].index);
        to[f] = dsts[f];
        moves[f] = block.widths[f] * block.records;
    }
    const std::int64_t move = block.records * block.pitch;
    for (std::int64_t i = 0; i < blocks; ++i) {
        if (ahead != 0) {
            __builtin_prefetch(src + ahead);
            __builtin_prefetch(src + ahead + kLine);
        }
        const __m512i a = _mm512_loadu_si512(src);
        const __m512i b = _mm512_loadu_si512(src + kLine);
        src += move;
#pragma GCC unroll 16
        for (int f = 0; f < fields; ++f) {
            store_first<bytes>(to[f], _mm512_permutex2var_epi8(a, index[f], b));
            to[f] += moves[f];
        }
    }
}

void split_vectors(const RecordVectors& block, const std::byte* src, std::byte* const* dsts, std::int64_t records,
                   std::int64_t readable, std::int64_t room, KernelStores stores) noexcept {
    const std::int64_t move = block.records * block.pitch;
    std::int64_t blocks = readable < 2 * kLine ? 0 : (readable - 2 * kLine) / move + 1;
    for (std::int32_t f = 0; f < block.fields; ++f) {
        const std::int64_t left = records * block.widths[f] + room - block.piece_bytes;
        const std::int64_t within = left < 0 ? 0 : left / (block.records * block.widths[f]) + 1;
        blocks = within < blocks ? within : blocks;
    }
    blocks = records / block.records < blocks ? records / block.records : blocks;
    const std::int64_t ahead = stores.prefetch ? kAskingRecordChunk : 0;
    with_number<16, 32, 64>(block.piece_bytes, [&]<int bytes>() {
        with_number_to<RecordVectors::kMaxFields>(
            block.fields, [&]<int fields>() { split_blocks<fields, bytes>(block, src, dsts, blocks, ahead); });
    });
    for (std::int64_t record = blocks * block.records; record < records; record += block.records) {
        const std::int64_t at = record * block.pitch;
        const __m512i a = load_readable(src + at, readable - at);
        const __m512i b = load_readable(src + at + kLine, readable - at - kLine);
        const std::int64_t now = records - record < block.records ? records - record : block.records;
        for (std::int32_t f = 0; f < block.fields; ++f) {
            const std::int64_t width = block.widths[f];
            Simd512::store_partial(dsts[f] + record * width,
                                   _mm512_permutex2var_epi8(a, _mm512_load_si512(block.pieces[f].index), b), now * width);
        }
    }
}

}  // namespace
}  // namespace dnnmove
