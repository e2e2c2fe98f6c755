// Sixteen numbers at a time as floats, for AVX-512.
#pragma once

#include <immintrin.h>

#include "kernels/contract.hpp"

namespace dnnmove {
namespace {

struct Numbers512 {
    using Group = __m512;

    template <Number from>
    static Group load(const std::byte* p) {
        if constexpr (from == Number::u8) return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes16(p)));
        if constexpr (from == Number::s8) return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes16(p)));
        if constexpr (from == Number::s32) return _mm512_cvtepi32_ps(_mm512_loadu_si512(p));
        if constexpr (from == Number::f32) return _mm512_loadu_ps(p);
        if constexpr (from == Number::f16) return _mm512_cvtph_ps(bytes32(p));
        if constexpr (from == Number::bf16) {
            return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bytes32(p)), 16));
        }
    }
    // See Numbers128::load_to_odd.
    static Group load_to_odd(const std::byte* p) {
        const __m512i x = _mm512_loadu_si512(p);
        const __m512i large = _mm512_srai_epi32(_mm512_abs_epi32(x), 16);  // that of the least number is negative
        const __mmask16 inexact = _mm512_mask_test_epi32_mask(_mm512_test_epi32_mask(large, large), x, _mm512_set1_epi32(0x7F));
        const __m512i odd = _mm512_or_si512(_mm512_andnot_si512(_mm512_set1_epi32(0x7F), x), _mm512_set1_epi32(0x80));
        return _mm512_cvtepi32_ps(_mm512_mask_mov_epi32(x, inexact, odd));
    }
    static Group scale_shift(Group x, const float* scale, const float* shift) {
        return _mm512_add_ps(_mm512_mul_ps(x, _mm512_loadu_ps(scale)), _mm512_loadu_ps(shift));
    }

    template <Number to, bool nontemporal>
    static void store(std::byte* p, Group x) {
        if constexpr (to == Number::u8 || to == Number::s8) {
            const __m128i v = to == Number::u8 ? to_u8(x) : to_s8(x);
            nontemporal ? _mm_stream_si128(reinterpret_cast<__m128i*>(p), v)
                        : _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
        } else if constexpr (to == Number::f16 || to == Number::bf16) {
            const __m256i v = to == Number::f16 ? _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
                                                : to_bf16(x);
            nontemporal ? _mm256_stream_si256(reinterpret_cast<__m256i*>(p), v)
                        : _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
        } else {
            const __m512i v = to == Number::f32 ? _mm512_castps_si512(x) : to_s32(x);
            nontemporal ? _mm512_stream_si512(reinterpret_cast<__m512i*>(p), v) : _mm512_storeu_si512(p, v);
        }
    }

private:
    static __m128i bytes16(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
    static __m256i bytes32(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }

    // max(x, y) is y where x is no number.
    static __m128i to_u8(Group x) {
        const Group inside = _mm512_min_ps(_mm512_max_ps(x, _mm512_setzero_ps()), _mm512_set1_ps(255));
        return _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(inside));
    }
    static __m128i to_s8(Group x) {
        const Group inside = _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(-128)), _mm512_set1_ps(127));
        return _mm512_cvtepi32_epi8(_mm512_maskz_cvtps_epi32(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), inside));
    }
    // What does not fit becomes 0x80000000.
    static __m512i to_s32(Group x) {
        const __m512i v = _mm512_maskz_cvtps_epi32(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), x);
        const __mmask16 over = _mm512_cmp_ps_mask(x, _mm512_set1_ps(2147483648.0f), _CMP_GE_OQ);
        return _mm512_mask_mov_epi32(v, over, _mm512_set1_epi32(0x7FFFFFFF));
    }
    // Not the instruction of AVX512_BF16, which takes denormal numbers for 0.
    static __m256i to_bf16(Group x) {
        const __m512i bits = _mm512_castps_si512(x);
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
        __m512i v = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), odd);
        v = _mm512_mask_or_epi32(v, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), bits, _mm512_set1_epi32(0x400000));
        return _mm512_cvtepi32_epi16(_mm512_srli_epi32(v, 16));
    }
};

}  // namespace
}  // namespace dnnmove
