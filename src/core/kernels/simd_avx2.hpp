// 32-byte vectors by AVX2.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/simd_portable.hpp"

namespace dnnmove {
namespace {

struct Simd256 {
    using Vector = __m256i;
    static constexpr int kBytes = 32;

    static Vector load(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
    static Vector load_partial(const std::byte* p, std::int64_t bytes) {
        if (bytes <= 16) return _mm256_zextsi128_si256(lane_partial(p, bytes));
        return _mm256_inserti128_si256(_mm256_castsi128_si256(lane(p)), lane_partial(p + 16, bytes - 16), 1);
    }
    static void store(std::byte* p, Vector v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
    static void store_partial(std::byte* p, Vector v, std::int64_t bytes) {
        alignas(32) std::byte whole[32];
        store(whole, v);
        move_short(whole, p, bytes);
    }
    static void stream(std::byte* p, Vector v) { _mm256_stream_si256(reinterpret_cast<__m256i*>(p), v); }
    static void fence() { _mm_sfence(); }

    // The bytes of each word of `bytes` (2, 4, 8 or 16) bytes turned round.
    static Vector swap_words(Vector v, std::int64_t bytes) {
        const auto last = static_cast<char>(bytes - 1);
        const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(_mm_xor_si128(places, _mm_set1_epi8(last))));
    }

    // 16 bytes, or `bytes` of them and zeros, and the vector with them as its lane `at`.
    using Lane = __m128i;
    static Lane lane(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
    static Lane lane_partial(const std::byte* p, std::int64_t bytes) {
        return reinterpret_cast<Lane>(Simd128::load_partial(p, bytes));
    }
    static Vector with_lane(Vector v, Lane lane, int at) {
        return at == 0 ? _mm256_zextsi128_si256(lane) : _mm256_inserti128_si256(v, lane, 1);
    }

    // Lane `at` of a vector.
    static Lane lane_of(Vector v, int at) { return at == 0 ? _mm256_castsi256_si128(v) : _mm256_extracti128_si256(v, 1); }
    template <int>
    static void store_lanes(std::byte* p, Vector v, int at) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), lane_of(v, at));
    }

    // Byte k of every lane becomes byte index[k] of the lane, or zero where the index is 0x80.
    static Vector shuffle_lanes(Vector v, Vector index) { return _mm256_shuffle_epi8(v, index); }
    // Stores the lanes' `kept` bytes that `index` picks, one lane after the other; what lies behind
    // them, up to a vector from `p`, is overwritten.
    static void store_squeezed(std::byte* p, Vector v, Vector index, std::int64_t kept) {
        v = shuffle_lanes(v, index);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(v));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p + kept), _mm256_extracti128_si256(v, 1));
    }

    // The element of `bytes` (a power of two, at most 32) bytes, repeated.
    static Vector splat(const std::byte* p, std::int64_t bytes) {
        switch (bytes) {
            case 1: return _mm256_set1_epi8(*reinterpret_cast<const char*>(p));
            case 2: return _mm256_broadcastw_epi16(_mm_loadu_si16(p));
            case 4: return _mm256_broadcastd_epi32(_mm_loadu_si32(p));
            case 8: return _mm256_broadcastq_epi64(_mm_loadu_si64(p));
            case 16: return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
            default: return load(p);
        }
    }

    // Interleaves the low (high) elements of `width` bytes of every 16-byte lane.
    template <int width>
    static Vector unpack_low(Vector a, Vector b) {
        if constexpr (width == 1) return _mm256_unpacklo_epi8(a, b);
        if constexpr (width == 2) return _mm256_unpacklo_epi16(a, b);
        if constexpr (width == 4) return _mm256_unpacklo_epi32(a, b);
        return _mm256_unpacklo_epi64(a, b);
    }
    template <int width>
    static Vector unpack_high(Vector a, Vector b) {
        if constexpr (width == 1) return _mm256_unpackhi_epi8(a, b);
        if constexpr (width == 2) return _mm256_unpackhi_epi16(a, b);
        if constexpr (width == 4) return _mm256_unpackhi_epi32(a, b);
        return _mm256_unpackhi_epi64(a, b);
    }
    // The low half of every lane of `a` with the high one of `b`'s, and the other way round.
    static Vector low_high(Vector a, Vector b) { return _mm256_blend_epi32(a, b, 0xcc); }
    static Vector high_low(Vector a, Vector b) { return _mm256_alignr_epi8(b, a, 8); }
    // Lane l of x[q] becomes lane q of x[l].
    static void transpose_lanes(Vector (&x)[2]) {
        const Vector low = _mm256_permute2x128_si256(x[0], x[1], 0x20);
        x[1] = _mm256_permute2x128_si256(x[0], x[1], 0x31);
        x[0] = low;
    }
};

}  // namespace
}  // namespace dnnmove
