// Sixteen numbers at a time as floats, for AVX2 with F16C.
#pragma once

#include <immintrin.h>

#include "kernels/contract.hpp"

namespace dnnmove {
namespace {

struct Numbers256 {
    struct Group {
        __m256 low;
        __m256 high;
    };

    template <Number from>
    static Group load(const std::byte* p) {
        constexpr int kHalf = 8 * static_cast<int>(bytes_of(from));
        return {load_half<from>(p), load_half<from>(p + kHalf)};
    }
    // See Numbers128::load_to_odd.
    static Group load_to_odd(const std::byte* p) { return {load_half_to_odd(p), load_half_to_odd(p + 32)}; }
    static Group scale_shift(Group x, const float* scale, const float* shift) {
        return {_mm256_add_ps(_mm256_mul_ps(x.low, _mm256_loadu_ps(scale)), _mm256_loadu_ps(shift)),
                _mm256_add_ps(_mm256_mul_ps(x.high, _mm256_loadu_ps(scale + 8)), _mm256_loadu_ps(shift + 8))};
    }

    template <Number to, bool nontemporal>
    static void store(std::byte* p, Group x) {
        if constexpr (to == Number::u8 || to == Number::s8) {
            __m256i low = to_byte<to>(x.low);
            low = _mm256_packs_epi32(low, to_byte<to>(x.high));  // of each lane: four of `low`, four of `high`
            low = to == Number::u8 ? _mm256_packus_epi16(low, low) : _mm256_packs_epi16(low, low);
            const __m256i v = _mm256_permutevar8x32_epi32(low, _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5));
            put<nontemporal>(p, _mm256_castsi256_si128(v));
        } else if constexpr (to == Number::f16) {
            put<nontemporal>(p, _mm256_cvtps_ph(x.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
            put<nontemporal>(p + 16, _mm256_cvtps_ph(x.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
        } else if constexpr (to == Number::bf16) {
            const __m256i packed = _mm256_packus_epi32(to_bf16(x.low), to_bf16(x.high));
            const __m256i v = _mm256_permute4x64_epi64(packed, 0xD8);
            put<nontemporal>(p, _mm256_castsi256_si128(v));
            put<nontemporal>(p + 16, _mm256_extracti128_si256(v, 1));
        } else {
            put<nontemporal>(p, to == Number::f32 ? _mm256_castps_si256(x.low) : to_s32(x.low));
            put<nontemporal>(p + 32, to == Number::f32 ? _mm256_castps_si256(x.high) : to_s32(x.high));
        }
    }

private:
    static __m128i bytes16(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
    static __m128i bytes8(const std::byte* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }
    static __m256i bytes32(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }

    template <Number from>
    static __m256 load_half(const std::byte* p) {
        if constexpr (from == Number::u8) return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes8(p)));
        if constexpr (from == Number::s8) return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes8(p)));
        if constexpr (from == Number::s32) return _mm256_cvtepi32_ps(bytes32(p));
        if constexpr (from == Number::f32) return _mm256_castsi256_ps(bytes32(p));
        if constexpr (from == Number::f16) return _mm256_cvtph_ps(bytes16(p));
        if constexpr (from == Number::bf16) {
            return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bytes16(p)), 16));
        }
    }
    static __m256 load_half_to_odd(const std::byte* p) {
        const __m256i x = bytes32(p);
        const __m256i zero = _mm256_setzero_si256();
        const __m256i small = _mm256_cmpeq_epi32(_mm256_srai_epi32(_mm256_abs_epi32(x), 16), zero);
        const __m256i exact = _mm256_cmpeq_epi32(_mm256_and_si256(x, _mm256_set1_epi32(0x7F)), zero);
        const __m256i odd = _mm256_or_si256(_mm256_andnot_si256(_mm256_set1_epi32(0x7F), x), _mm256_set1_epi32(0x80));
        return _mm256_cvtepi32_ps(_mm256_blendv_epi8(odd, x, _mm256_or_si256(small, exact)));
    }

    template <bool nontemporal>
    static void put(std::byte* p, __m128i v) {
        auto* const to = reinterpret_cast<__m128i*>(p);
        nontemporal ? _mm_stream_si128(to, v) : _mm_storeu_si128(to, v);
    }
    template <bool nontemporal>
    static void put(std::byte* p, __m256i v) {
        auto* const to = reinterpret_cast<__m256i*>(p);
        nontemporal ? _mm256_stream_si256(to, v) : _mm256_storeu_si256(to, v);
    }

    // max(x, y) is y where x is no number.
    template <Number to>
    static __m256i to_byte(__m256 x) {
        if constexpr (to == Number::u8) {
            return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(x, _mm256_setzero_ps()), _mm256_set1_ps(255)));
        } else {
            const __m256 inside = _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(-128)), _mm256_set1_ps(127));
            return _mm256_cvtps_epi32(_mm256_and_ps(inside, _mm256_cmp_ps(x, x, _CMP_ORD_Q)));
        }
    }
    // What does not fit becomes 0x80000000.
    static __m256i to_s32(__m256 x) {
        const __m256i v = _mm256_cvtps_epi32(_mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q)));
        const __m256 over = _mm256_cmp_ps(x, _mm256_set1_ps(2147483648.0f), _CMP_GE_OQ);
        return _mm256_xor_si256(v, _mm256_castps_si256(over));
    }
    // In the low half of every word.
    static __m256i to_bf16(__m256 x) {
        const __m256i bits = _mm256_castps_si256(x);
        const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
        const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);
        const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
        const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
        return _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
    }
};

}  // namespace
}  // namespace dnnmove
