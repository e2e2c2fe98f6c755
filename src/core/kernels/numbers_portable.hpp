// Sixteen numbers at a time as floats, for every machine: plain loops over integers' bits.
#pragma once

#include <bit>
#include <cstring>

#include "kernels/contract.hpp"
#include "kernels/simd_portable.hpp"

namespace dnnmove {
namespace {

struct Numbers128 {
    struct Group {
        float at[16];
    };

    template <Number from>
    static Group load(const std::byte* p) {
        if constexpr (from == Number::u8) return each<std::uint8_t>(p, [](std::uint8_t x) { return static_cast<float>(x); });
        if constexpr (from == Number::s8) return each<std::int8_t>(p, [](std::int8_t x) { return static_cast<float>(x); });
        if constexpr (from == Number::s32) return each<std::int32_t>(p, [](std::int32_t x) { return static_cast<float>(x); });
        if constexpr (from == Number::f32) return each<float>(p, [](float x) { return x; });
        if constexpr (from == Number::f16) return each<std::uint16_t>(p, from_f16);
        if constexpr (from == Number::bf16) {
            return each<std::uint16_t>(p, [](std::uint16_t x) { return std::bit_cast<float>(std::uint32_t{x} << 16); });
        }
    }
    // s32, on the way to bf16, which must not round twice: numbers that a float may not hold are rounded to odd at 24
    // bits, which no later rounding to 8 bits takes for a tie.
    static Group load_to_odd(const std::byte* p) {
        return each<std::int32_t>(p, [](std::int32_t x) {
            const std::uint32_t size = x < 0 ? 0u - static_cast<std::uint32_t>(x) : static_cast<std::uint32_t>(x);
            const bool inexact = size >= 0x10000 && (x & 0x7F) != 0;
            return static_cast<float>(inexact ? (x & ~0x7F) | 0x80 : x);
        });
    }
    static Group scale_shift(const Group& x, const float* scale, const float* shift) {
        Group y;
        for (int k = 0; k < 16; ++k) y.at[k] = x.at[k] * scale[k] + shift[k];  // -ffp-contract=off: two roundings
        return y;
    }

    template <Number to, bool nontemporal>
    static void store(std::byte* p, const Group& x) {
        if constexpr (to == Number::u8) {
            put<std::uint8_t, nontemporal>(p, x, [](float v) {
                return static_cast<std::uint8_t>(static_cast<std::int32_t>(to_whole(inside(v, 0, 255))));
            });
        }
        if constexpr (to == Number::s8) {
            put<std::int8_t, nontemporal>(p, x, [](float v) {
                return static_cast<std::int8_t>(static_cast<std::int32_t>(to_whole(inside(v, -128, 127))));
            });
        }
        if constexpr (to == Number::s32) {
            put<std::int32_t, nontemporal>(p, x, [](float v) {
                // 2147483520 is the greatest float below 2^31.
                const auto whole = static_cast<std::int32_t>(to_whole(inside(v, -2147483648.0f, 2147483520.0f)));
                return v >= 2147483648.0f ? 0x7FFFFFFF : whole;
            });
        }
        if constexpr (to == Number::f32) put<float, nontemporal>(p, x, [](float v) { return v; });
        if constexpr (to == Number::f16) put<std::uint16_t, nontemporal>(p, x, to_f16);
        if constexpr (to == Number::bf16) put<std::uint16_t, nontemporal>(p, x, to_bf16);
    }

private:
    template <class T, class Function>
    static Group each(const std::byte* p, const Function& function) {
        T from[16];
        std::memcpy(from, p, sizeof from);
        Group group;
        for (int k = 0; k < 16; ++k) group.at[k] = function(from[k]);
        return group;
    }
    template <class T, bool nontemporal, class Function>
    static void put(std::byte* p, const Group& x, const Function& function) {
        alignas(16) T to[16];
        for (int k = 0; k < 16; ++k) to[k] = function(x.at[k]);
        const auto* const from = reinterpret_cast<const std::byte*>(to);
        if constexpr (nontemporal) {
            for (std::size_t k = 0; k < 16 * sizeof(T); k += 16) Simd128::stream(p + k, Simd128::load(from + k));
        } else {
            std::memcpy(p, from, sizeof to);
        }
    }

    // 0 where it is no number.
    static float inside(float x, float low, float high) {
        const float above = x > low ? x : low;
        return x != x ? 0 : above < high ? above : high;
    }
    // To the nearest whole number, ties to even: what a float of 2^23 and more is already.
    static float to_whole(float x) {
        const float size = x < 0 ? -x : x;
        const float whole = size < 8388608.0f ? (size + 8388608.0f) - 8388608.0f : size;
        return x < 0 ? -whole : whole;
    }
    static std::uint16_t to_bf16(float x) {
        const auto bits = std::bit_cast<std::uint32_t>(x);
        const std::uint32_t rounded = bits + 0x7FFF + (bits >> 16 & 1);
        return static_cast<std::uint16_t>((x != x ? bits | 0x400000 : rounded) >> 16);
    }
    static float from_f16(std::uint16_t half) {
        constexpr std::uint32_t kInfinity = 0x7C00u << 13;
        const std::uint32_t bits = (half & 0x7FFFu) << 13;
        const std::uint32_t exponent = bits & kInfinity;
        const std::uint32_t sign = (half & 0x8000u) << 16;
        if (exponent == 0) {
            // A denormal number: as the fraction of 2^-14, which is then taken away.
            const float fraction = std::bit_cast<float>(bits + (113u << 23)) - std::bit_cast<float>(113u << 23);
            return std::bit_cast<float>(std::bit_cast<std::uint32_t>(fraction) | sign);
        }
        const std::uint32_t quiet = bits > kInfinity ? 0x400000u : 0;
        const std::uint32_t bias = exponent == kInfinity ? 224u << 23 : 112u << 23;
        return std::bit_cast<float>((bits + bias) | sign | quiet);
    }
    static std::uint16_t to_f16(float x) {
        const auto all = std::bit_cast<std::uint32_t>(x);
        const std::uint32_t sign = all & 0x80000000u;
        const std::uint32_t bits = all ^ sign;
        std::uint32_t half;
        if (bits >= 143u << 23) {  // 2^16 and more
            half = bits > 255u << 23 ? 0x7E00u | (bits >> 13 & 0x3FFu) : 0x7C00u;
        } else if (bits < 113u << 23) {
            // Below 2^-14: the sum with 0.5 has the last place of the result, and is rounded to it.
            const float sum = std::bit_cast<float>(bits) + 0.5f;
            half = std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5f);
        } else {
            half = (bits - (112u << 23) + 0xFFF + (bits >> 13 & 1)) >> 13;
        }
        return static_cast<std::uint16_t>(half | sign >> 16);
    }
};

}  // namespace
}  // namespace dnnmove
