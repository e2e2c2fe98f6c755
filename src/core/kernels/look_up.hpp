// Bytes to numbers of one or two bytes by a table of all 256, which the vectors of VBMI hold whole.
#pragma once

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/contract.hpp"
#include "kernels/rows.hpp"
#include "kernels/simd_avx512.hpp"

namespace dnnmove {
namespace {

using Convert = void (*)(const std::byte* src, std::byte* dst, std::int64_t count, const ScaleShift* with,
                         bool nontemporal) noexcept;

// One byte of the number that each byte stands for.
struct BytePlane {
    __m512i quarters[4];

    __m512i at(__m512i x, __mmask64 upper) const {
        return _mm512_mask_blend_epi8(upper, _mm512_permutex2var_epi8(quarters[0], x, quarters[1]),
                                      _mm512_permutex2var_epi8(quarters[2], x, quarters[3]));
    }
};

alignas(64) inline constexpr auto kEveryByte = [] {
    std::array<std::byte, 256> bytes{};
    for (std::size_t x = 0; x < bytes.size(); ++x) bytes[x] = static_cast<std::byte>(x);
    return bytes;
}();

// Byte `plane` of each of 256 numbers.
template <std::int64_t bytes>
inline BytePlane plane_of(const std::byte* numbers, int plane) {
    BytePlane result;
    for (int quarter = 0; quarter < 4; ++quarter) {
        const std::byte* const first = numbers + 64 * bytes * quarter;
        if constexpr (bytes == 1) {
            result.quarters[quarter] = _mm512_load_si512(first);
        } else {
            const __m512i every = _mm512_load_si512(kEveryByte.data());
            const __m512i places = _mm512_add_epi8(_mm512_add_epi8(every, every), _mm512_set1_epi8(static_cast<char>(plane)));
            result.quarters[quarter] = _mm512_permutex2var_epi8(_mm512_load_si512(first), places,
                                                                _mm512_load_si512(first + 64));
        }
    }
    return result;
}

inline constexpr std::int64_t kLookedUp = 64;  // numbers at a time

template <std::int64_t bytes, bool nontemporal>
inline void look_up_groups(const BytePlane* planes, const std::byte* src, std::byte* dst, std::int64_t groups) {
    // So that the halves of all 128-bit lanes, put one after the other, are in order.
    const __m512i lanes = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    for (std::int64_t i = 0; i < groups; ++i) {
        __m512i x = _mm512_loadu_si512(src + i * kLookedUp);
        if constexpr (bytes == 2) x = _mm512_permutexvar_epi64(lanes, x);
        const __mmask64 upper = _mm512_movepi8_mask(x);
        const __m512i low = planes[0].at(x, upper);
        std::byte* const to = dst + i * kLookedUp * bytes;
        if constexpr (bytes == 1) {
            put_vector<Simd512, nontemporal>(to, low);
        } else {
            const __m512i high = planes[1].at(x, upper);
            put_vector<Simd512, nontemporal>(to, _mm512_unpacklo_epi8(low, high));
            put_vector<Simd512, nontemporal>(to + 64, _mm512_unpackhi_epi8(low, high));
        }
    }
}

// So many numbers are converted in less time than the table is made in.
inline constexpr std::int64_t kFewToLookUp = 1024;

// Converts as `convert` does, whose results the table holds; where each number has a scale of its own there is none.
template <std::int64_t bytes>
void look_up(Convert convert, const std::byte* src, std::byte* dst, std::int64_t count, const ScaleShift* with,
             bool nontemporal) noexcept {
    if (count < kFewToLookUp || (with != nullptr && with->step != 0)) return convert(src, dst, count, with, nontemporal);
    alignas(64) std::byte numbers[256 * bytes];
    convert(kEveryByte.data(), numbers, 256, with, false);
    BytePlane planes[bytes];
    for (int plane = 0; plane < bytes; ++plane) planes[plane] = plane_of<bytes>(numbers, plane);
    const auto address = reinterpret_cast<std::uintptr_t>(dst);
    nontemporal = nontemporal && address % bytes == 0;
    const std::int64_t head = nontemporal ? static_cast<std::int64_t>(-address & 63) / bytes : 0;
    if (head != 0) convert(src, dst, head, with, false);
    const std::int64_t groups = (count - head) / kLookedUp;
    const std::int64_t end = head + groups * kLookedUp;
    if (nontemporal) {
        look_up_groups<bytes, true>(planes, src + head, dst + head * bytes, groups);
    } else {
        look_up_groups<bytes, false>(planes, src, dst, groups);
    }
    if (end < count) convert(src + end, dst + end * bytes, count - end, with, false);
}

}  // namespace
}  // namespace dnnmove
