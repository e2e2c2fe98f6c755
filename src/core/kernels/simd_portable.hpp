// 16-byte vectors by the compiler's vector extensions, for every machine; with SSE4.1 on x86-64, NEON on aarch64.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSSE3__)
#include <tmmintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "kernels/rows.hpp"

namespace dnnmove {
namespace {

static_assert(std::endian::native == std::endian::little, "parts of vectors are put together from words");

struct Simd128 {
    using Vector [[gnu::vector_size(16)]] = std::uint8_t;
    using Words16 [[gnu::vector_size(16)]] = std::uint16_t;
    using Words32 [[gnu::vector_size(16)]] = std::uint32_t;
    using Words64 [[gnu::vector_size(16)]] = std::uint64_t;
    static constexpr int kBytes = 16;

    static Vector load(const std::byte* p) {
        Vector v;
        std::memcpy(&v, p, sizeof v);
        return v;
    }
    // `bytes` of a vector, and zeros.
    static Vector load_partial(const std::byte* p, std::int64_t bytes) {
        if (bytes >= 16) return load(p);
        if (bytes >= 8) {
            const std::uint64_t high = bytes == 8 ? 0 : read<std::uint64_t>(p + bytes - 8) >> (8 * (16 - bytes));
            return reinterpret_cast<Vector>(Words64{read<std::uint64_t>(p), high});
        }
        std::uint64_t low = 0;
        if (bytes >= 4) {
            low = read<std::uint32_t>(p) | read<std::uint32_t>(p + bytes - 4) << (8 * (bytes - 4));
        } else {
            for (std::int64_t k = 0; k < bytes; ++k) low |= read<std::uint8_t>(p + k) << (8 * k);
        }
        return reinterpret_cast<Vector>(Words64{low, 0});
    }
    static void store(std::byte* p, Vector v) { std::memcpy(p, &v, sizeof v); }
    static void store_partial(std::byte* p, Vector v, std::int64_t bytes) {
        alignas(16) std::byte whole[16];
        store(whole, v);
        move_short(whole, p, bytes);
    }
    static void stream(std::byte* p, Vector v) {
#if defined(__SSE2__)
        _mm_stream_si128(reinterpret_cast<__m128i*>(p), reinterpret_cast<__m128i>(v));
#else
        store(p, v);  // no non-temporal store without intrinsics
#endif
    }
    static void fence() {
#if defined(__SSE2__)
        _mm_sfence();
#endif
    }

    // The bytes of each word of `bytes` (2, 4, 8 or 16) bytes turned round.
    static Vector swap_words(Vector v, std::int64_t bytes) {
        auto halves = reinterpret_cast<Words16>(v);
        halves = halves << 8 | halves >> 8;
        if (bytes == 2) return reinterpret_cast<Vector>(halves);
        auto words = reinterpret_cast<Words32>(halves);
        words = words << 16 | words >> 16;
        if (bytes == 4) return reinterpret_cast<Vector>(words);
        auto doubles = reinterpret_cast<Words64>(words);
        doubles = doubles << 32 | doubles >> 32;
        return reinterpret_cast<Vector>(bytes == 8 ? doubles : __builtin_shufflevector(doubles, doubles, 1, 0));
    }

    // 16 bytes, or `bytes` of them and zeros, and the vector with them as its one lane.
    using Lane = Vector;
    static Lane lane(const std::byte* p) { return load(p); }
    static Lane lane_partial(const std::byte* p, std::int64_t bytes) { return load_partial(p, bytes); }
    static Vector with_lane(Vector, Lane lane, int) { return lane; }
    static Lane lane_of(Vector v, int) { return v; }
    template <int>
    static void store_lanes(std::byte* p, Vector v, int) {
        store(p, v);
    }

    // Byte k becomes byte index[k], or zero where the index is 0x80 or more.
    static Vector shuffle_lanes(Vector v, Vector index) {
#if defined(__SSSE3__)
        return reinterpret_cast<Vector>(_mm_shuffle_epi8(reinterpret_cast<__m128i>(v), reinterpret_cast<__m128i>(index)));
#elif defined(__aarch64__)
        return vqtbl1q_u8(v, index);
#else
        Vector picked;
        for (int k = 0; k < kBytes; ++k) picked[k] = index[k] < kBytes ? v[index[k]] : 0;
        return picked;
#endif
    }
    // Stores the bytes that `index` picks; what lies behind them, up to a vector from `p`, is overwritten.
    static void store_squeezed(std::byte* p, Vector v, Vector index, std::int64_t) { store(p, shuffle_lanes(v, index)); }

    // The element of `bytes` (a power of two, at most 16) bytes, repeated.
    static Vector splat(const std::byte* p, std::int64_t bytes) {
        std::uint64_t word = 0;
        switch (bytes) {
            case 1: word = static_cast<std::uint64_t>(*p) * 0x0101010101010101u; break;
            case 2: word = read<std::uint16_t>(p) * 0x0001000100010001u; break;
            case 4: word = read<std::uint32_t>(p) * 0x0000000100000001u; break;
            case 8: word = read<std::uint64_t>(p); break;
            default: return load(p);
        }
        return reinterpret_cast<Vector>(Words64{word, word});
    }
    template <class Word>
    static std::uint64_t read(const std::byte* p) {
        Word word;
        std::memcpy(&word, p, sizeof word);
        return word;
    }

    template <int width, bool high>
    static Vector unpack(Vector a, Vector b) {
        if constexpr (width == 1) {
            constexpr int h = high ? 8 : 0;
            return __builtin_shufflevector(a, b, h, 16 + h, h + 1, 17 + h, h + 2, 18 + h, h + 3, 19 + h, h + 4, 20 + h, h + 5,
                                           21 + h, h + 6, 22 + h, h + 7, 23 + h);
        } else if constexpr (width == 2) {
            constexpr int h = high ? 4 : 0;
            return reinterpret_cast<Vector>(__builtin_shufflevector(reinterpret_cast<Words16>(a), reinterpret_cast<Words16>(b),
                                                                    h, 8 + h, h + 1, 9 + h, h + 2, 10 + h, h + 3, 11 + h));
        } else if constexpr (width == 4) {
            constexpr int h = high ? 2 : 0;
            return reinterpret_cast<Vector>(
                __builtin_shufflevector(reinterpret_cast<Words32>(a), reinterpret_cast<Words32>(b), h, 4 + h, h + 1, 5 + h));
        } else {
            constexpr int h = high ? 1 : 0;
            return reinterpret_cast<Vector>(
                __builtin_shufflevector(reinterpret_cast<Words64>(a), reinterpret_cast<Words64>(b), h, 2 + h));
        }
    }
    // Interleaves the low (high) elements of `width` bytes.
    template <int width>
    static Vector unpack_low(Vector a, Vector b) {
        return unpack<width, false>(a, b);
    }
    template <int width>
    static Vector unpack_high(Vector a, Vector b) {
        return unpack<width, true>(a, b);
    }
    // The low half of `a` with the high one of `b`, and the other way round.
    static Vector low_high(Vector a, Vector b) { return halves<0, 3>(a, b); }
    static Vector high_low(Vector a, Vector b) { return halves<1, 2>(a, b); }
    template <int first, int second>
    static Vector halves(Vector a, Vector b) {
        return reinterpret_cast<Vector>(
            __builtin_shufflevector(reinterpret_cast<Words64>(a), reinterpret_cast<Words64>(b), first, second));
    }
    static void transpose_lanes(Vector (&)[1]) {}
};

}  // namespace
}  // namespace dnnmove
