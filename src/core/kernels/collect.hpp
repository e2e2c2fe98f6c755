// Elements from places of their own, collected in vectors: as many stores as there are vectors, not as there are elements.
//
// (Zen 4, in the first-level cache, lists of 17 to 448 elements: against one store for each element 1.9 times as fast for 1 and 2
// bytes, 2.2 for 4, 1.7 for 8 if two runs by the same list are collected side by side, which read it once; one at a time 1.3 to 1.7;
// four at a time no faster.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/rows.hpp"

namespace dnnmove {
namespace {

template <std::size_t bytes>
using UnsignedOf = std::conditional_t<
    bytes == 1, std::uint8_t,
    std::conditional_t<bytes == 2, std::uint16_t, std::conditional_t<bytes == 4, std::uint32_t, std::uint64_t>>>;

template <std::size_t bytes>
[[gnu::always_inline]] inline UnsignedOf<bytes> element_at(const std::byte* p) {
    UnsignedOf<bytes> element;
    std::memcpy(&element, p, bytes);
    return element;
}

template <std::size_t bytes>
struct Collected {
    static constexpr int kCount = static_cast<int>(16 / bytes);  // of a vector

#if defined(__SSE4_1__)
    static constexpr int kTogether = 1;
#else
    static constexpr int kTogether = bytes == 1 ? 2 : 1;  // no single byte goes into a vector
#endif
    using Part = UnsignedOf<kTogether * bytes>;
    using Vector [[gnu::vector_size(16)]] = Part;

    // A vector for each of `runs`, of what is at(0), at(1), .. bytes behind its source.
    template <int runs, class At>
    [[gnu::always_inline]] static inline void vectors(const std::byte* const (&src)[runs], At at,
                                                      std::byte* const (&dst)[runs]) {
        Vector collected[runs];
#pragma GCC unroll 16
        for (int k = 0; k < kCount / kTogether; ++k) {
            const auto first = at(k * kTogether);
#pragma GCC unroll 2
            for (int r = 0; r < runs; ++r) {
                Part part = element_at<bytes>(src[r] + first);
                if constexpr (kTogether == 2) {
                    part = static_cast<Part>(part | element_at<bytes>(src[r] + at(k * kTogether + 1)) << 8 * bytes);
                }
                if (k == 0) {
                    collected[r] = Vector{part};
                } else {
                    collected[r][k] = part;
                }
            }
        }
#pragma GCC unroll 2
        for (int r = 0; r < runs; ++r) std::memcpy(dst[r], &collected[r], sizeof collected[r]);
    }

    // `count` elements of each; the last vector repeats some of those before it.
    template <int runs, class At>
    [[gnu::always_inline]] static inline void copy(const std::byte* const (&src)[runs], At at, std::byte* const (&dst)[runs],
                                                   std::int64_t count) {
        const auto vectors_at = [&](std::int64_t first) {
            std::byte* to[runs];
            for (int r = 0; r < runs; ++r) to[r] = dst[r] + first * static_cast<std::int64_t>(bytes);
            vectors<runs>(src, [&](int k) { return at(first + k); }, to);
        };
        std::int64_t k = 0;
        for (; k + kCount <= count; k += kCount) vectors_at(k);
        if (k < count && k != 0) return vectors_at(count - kCount);
        for (; k < count; ++k) {
            for (int r = 0; r < runs; ++r) move<bytes>(src[r] + at(k), dst[r] + k * static_cast<std::int64_t>(bytes));
        }
    }
};

}  // namespace
}  // namespace dnnmove
