// 64-byte vectors by AVX-512 (F, BW, DQ, VL).
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace dnnmove {
namespace {

struct Simd512 {
    using Vector = __m512i;
    static constexpr int kBytes = 64;

    static __mmask64 mask(std::int64_t bytes) { return bytes >= 64 ? ~0ull : (1ull << bytes) - 1; }
    static Vector load(const std::byte* p) { return _mm512_loadu_si512(p); }
    static Vector load_partial(const std::byte* p, std::int64_t bytes) { return _mm512_maskz_loadu_epi8(mask(bytes), p); }
    static void store(std::byte* p, Vector v) { _mm512_storeu_si512(p, v); }
    static void store_partial(std::byte* p, Vector v, std::int64_t bytes) { _mm512_mask_storeu_epi8(p, mask(bytes), v); }
    // Bytes [begin, end) of a vector, where they come from memory; the others stay `v`'s, or as they are.
    static __mmask64 between(std::int64_t begin, std::int64_t end) { return mask(end) & (~0ull << begin); }
    static Vector merge(Vector v, const std::byte* p, std::int64_t begin, std::int64_t end) {
        return _mm512_mask_loadu_epi8(v, between(begin, end), p);
    }
    static void store_between(std::byte* p, Vector v, std::int64_t begin, std::int64_t end) {
        _mm512_mask_storeu_epi8(p, between(begin, end), v);
    }
    static void stream(std::byte* p, Vector v) { _mm512_stream_si512(reinterpret_cast<__m512i*>(p), v); }
    static void fence() { _mm_sfence(); }

    // The bytes of each word of `bytes` (2, 4, 8 or 16) bytes turned round.
    static Vector swap_words(Vector v, std::int64_t bytes) {
        const auto last = static_cast<char>(bytes - 1);
        const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(_mm_xor_si128(places, _mm_set1_epi8(last))));
    }

    // 16 bytes, or `bytes` of them and zeros, and the vector with them as its lane `at`.
    using Lane = __m128i;
    static Lane lane(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
    static Lane lane_partial(const std::byte* p, std::int64_t bytes) {
        return _mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << bytes) - 1), p);
    }
    static Vector with_lane(Vector v, Lane lane, int at) {
        switch (at) {
            case 0: return _mm512_zextsi128_si512(lane);
            case 1: return _mm512_inserti32x4(v, lane, 1);
            case 2: return _mm512_inserti32x4(v, lane, 2);
            default: return _mm512_inserti32x4(v, lane, 3);
        }
    }

    // Lane (two lanes: half) `at` of a vector.
    template <int lanes>
    static void store_lanes(std::byte* p, Vector v, int at) {
        if constexpr (lanes == 2) {
            const __m256i half = at == 0 ? _mm512_castsi512_si256(v) : _mm512_extracti64x4_epi64(v, 1);
            return _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), half);
        }
        switch (at) {
            case 0: return _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_castsi512_si128(v));
            case 1: return _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_extracti32x4_epi32(v, 1));
            case 2: return _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_extracti32x4_epi32(v, 2));
            default: return _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_extracti32x4_epi32(v, 3));
        }
    }
    // The lanes of a and b in turn: a0 b0 a1 b1, and a2 b2 a3 b3.
    static void pair_lanes(Vector& a, Vector& b) {
        const Vector low = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), b);
        b = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), b);
        a = low;
    }

    // Byte k of every lane becomes byte index[k] of the lane, or zero where the index is 0x80.
    static Vector shuffle_lanes(Vector v, Vector index) { return _mm512_shuffle_epi8(v, index); }
#if defined(__AVX512VBMI__)
    // Byte k becomes byte index[k] of the whole vector.
    static Vector permute_bytes(Vector v, Vector index) { return _mm512_permutexvar_epi8(index, v); }
#endif
    // Stores the lanes' `kept` bytes that `index` picks, one lane after the other; what lies behind them, up to
    // a vector from `p`, is overwritten.
    static void store_squeezed(std::byte* p, Vector v, Vector index, std::int64_t kept) {
        v = shuffle_lanes(v, index);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_castsi512_si128(v));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p + kept), _mm512_extracti32x4_epi32(v, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 2 * kept), _mm512_extracti32x4_epi32(v, 2));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 3 * kept), _mm512_extracti32x4_epi32(v, 3));
    }

    // The element of `bytes` (a power of two, at most 64) bytes, repeated.
    static Vector splat(const std::byte* p, std::int64_t bytes) {
        switch (bytes) {
            case 1: return _mm512_set1_epi8(*reinterpret_cast<const char*>(p));
            case 2: return _mm512_broadcastw_epi16(_mm_loadu_si16(p));
            case 4: return _mm512_broadcastd_epi32(_mm_loadu_si32(p));
            case 8: return _mm512_broadcastq_epi64(_mm_loadu_si64(p));
            case 16: return _mm512_broadcast_i64x2(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
            case 32: return _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
            default: return load(p);
        }
    }

    // Interleaves the low (high) elements of `width` bytes of every 16-byte lane.
    template <int width>
    static Vector unpack_low(Vector a, Vector b) {
        if constexpr (width == 1) return _mm512_unpacklo_epi8(a, b);
        if constexpr (width == 2) return _mm512_unpacklo_epi16(a, b);
        if constexpr (width == 4) return _mm512_unpacklo_epi32(a, b);
        return _mm512_unpacklo_epi64(a, b);
    }
    template <int width>
    static Vector unpack_high(Vector a, Vector b) {
        if constexpr (width == 1) return _mm512_unpackhi_epi8(a, b);
        if constexpr (width == 2) return _mm512_unpackhi_epi16(a, b);
        if constexpr (width == 4) return _mm512_unpackhi_epi32(a, b);
        return _mm512_unpackhi_epi64(a, b);
    }
    // Lane l of x[q] becomes lane q of x[l].
    static void transpose_lanes(Vector (&x)[4]) {
        const Vector a = _mm512_shuffle_i64x2(x[0], x[1], 0x44);
        const Vector b = _mm512_shuffle_i64x2(x[0], x[1], 0xee);
        const Vector c = _mm512_shuffle_i64x2(x[2], x[3], 0x44);
        const Vector d = _mm512_shuffle_i64x2(x[2], x[3], 0xee);
        x[0] = _mm512_shuffle_i64x2(a, c, 0x88);
        x[1] = _mm512_shuffle_i64x2(a, c, 0xdd);
        x[2] = _mm512_shuffle_i64x2(b, d, 0x88);
        x[3] = _mm512_shuffle_i64x2(b, d, 0xdd);
    }
};

}  // namespace
}  // namespace dnnmove
