// Interleaves 2, 4, 8 or 16 streams into one, or deals one out to as many, by a network of byte permutes
// (vpermi2b, AVX-512 VBMI).
//
// Interleaving S vectors takes log2(S) rounds of
//   x'[2i] = low(x[i], x[i + S/2]),  x'[2i + 1] = high(x[i], x[i + S/2])
// where low (high) interleaves the elements of the lower (upper) halves of two whole vectors:
//   a0 a1 a2 a3            a0 c0 a1 c1          a0 b0 c0 d0
//   b0 b1 b2 b3   (a, c)   a2 c2 a3 c3  (x', )  a1 b1 c1 d1
//   c0 c1 c2 c3   (b, d)   b0 d0 b1 d1          a2 b2 c2 d2
//   d0 d1 d2 d3            b2 d2 b3 d3          a3 b3 c3 d3
// Dealing out runs the rounds backwards, with the elements of even and of odd place.
#pragma once

#include <immintrin.h>

#include "kernels/by_number.hpp"
#include "kernels/gather_blocks.hpp"
#include "kernels/gather_two_windows.hpp"
#include "kernels/shifted_lines.hpp"
#include "kernels/simd_avx512.hpp"

namespace dnnmove {
namespace {

// The two permutes of a round.
struct WeaveIndex {
    __m512i first;
    __m512i second;
};

template <int streams, bool deal>
inline void weave_vectors(__m512i (&x)[streams], const WeaveIndex& index) {
#pragma GCC unroll 4
    for (int round = 1; round < streams; round *= 2) {
        __m512i y[streams];
#pragma GCC unroll 8
        for (int i = 0; i < streams / 2; ++i) {
            if constexpr (deal) {
                y[i] = _mm512_permutex2var_epi8(x[2 * i], index.first, x[2 * i + 1]);
                y[i + streams / 2] = _mm512_permutex2var_epi8(x[2 * i], index.second, x[2 * i + 1]);
            } else {
                y[2 * i] = _mm512_permutex2var_epi8(x[i], index.first, x[i + streams / 2]);
                y[2 * i + 1] = _mm512_permutex2var_epi8(x[i], index.second, x[i + streams / 2]);
            }
        }
#pragma GCC unroll 16
        for (int i = 0; i < streams; ++i) x[i] = y[i];
    }
}

// `bytes` of every stream, a multiple of 64; the streams lie `pitch` apart.
template <int streams, bool deal, bool nontemporal>
inline void weave_row(const std::byte* src, std::byte* dst, std::int64_t bytes, std::int64_t pitch, const WeaveIndex& index,
                      std::int64_t ahead, bool claim) {
    for (std::int64_t k = 0; k < bytes; k += 64) {
        __m512i x[streams];
#pragma GCC unroll 16
        for (int s = 0; s < streams; ++s) {
            const std::byte* from = deal ? src + streams * k + 64 * s : src + k + s * pitch;
            if (ahead != 0) __builtin_prefetch(from + ahead);
            x[s] = window(from);
        }
        weave_vectors<streams, deal>(x, index);
#pragma GCC unroll 16
        for (int s = 0; s < streams; ++s) {
            std::byte* const to = deal ? dst + k + s * pitch : dst + streams * k + 64 * s;
            if (claim) __builtin_prefetch(to);
            put_vector<Simd512, nontemporal>(to, x[s]);
        }
    }
}

// Whole rows without gaps, each of whole vectors in order, to a place inside a line: see ShiftedLines.
template <int streams, bool deal>
inline void weave_shifted(const std::byte* src, std::byte* dst, std::int64_t bytes, std::int64_t pitch, const KernelLoop& b,
                          const WeaveIndex& permutes, std::int64_t ahead) {
    const WeaveIndex index = permutes;  // values: the stores could alias them
    const KernelLoop rows = b;
    ShiftedLines lines(dst);
    for (std::int64_t j = 0; j < rows.extent; ++j) {
        const std::byte* const row = src + rows.src_at(j);
        for (std::int64_t k = 0; k < bytes; k += kLine) {
            __m512i x[streams];
#pragma GCC unroll 16
            for (int s = 0; s < streams; ++s) {
                const std::byte* const from = deal ? row + streams * k + kLine * s : row + k + s * pitch;
                if (ahead != 0) __builtin_prefetch(from + ahead);
                x[s] = window(from);
            }
            weave_vectors<streams, deal>(x, index);
#pragma GCC unroll 16
            for (int s = 0; s < streams; ++s) lines.put(x[s]);
        }
    }
    lines.finish();
}

// Bytes [begin, end) of what one vector of every stream makes, beside lines that are streamed.
template <int streams>
inline void stream_woven_part(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end, std::int64_t pitch,
                              const WeaveIndex& index) {
    alignas(64) std::byte part[streams * kLine];
    weave_row<streams, false, false>(src, part, kLine, pitch, index, 0, false);
    stream_row<Simd128>(part + begin, dst + begin, end - begin, 0);
}

template <int streams, bool deal>
void weave_rows(const std::byte* src, std::byte* dst, int width, const GatherIndex* permutes, std::int64_t bytes,
                std::int64_t pitch, KernelLoop b, KernelStores stores) {
    const WeaveIndex index{_mm512_load_si512(permutes[0].byte), _mm512_load_si512(permutes[1].byte)};
    const std::int64_t src_scale = deal ? streams : 1;
    const std::int64_t dst_scale = deal ? 1 : streams;
    const bool along = bytes * streams >= 2 * kPrefetchBytes || b.extent == 1;
    const std::int64_t rows_ahead = (kPrefetchBytes + bytes * streams - 1) / (bytes * streams);
    // Short rows without gaps are found by the hardware.
    const bool follow = bytes % kLine == 0 && (!deal || (bytes == kLine && pitch == kLine)) &&
                        (b.extent == 1 || b.dst_stride == streams * bytes);
    if (stores.nontemporal && follow && to_line(dst) != 0) {
        return weave_shifted<streams, deal>(src, dst, bytes, pitch, b, index,
                                            stores.prefetch && along ? kPrefetchBytes / 2 : 0);
    }
    for (std::int64_t j = 0; j < b.extent; ++j) {
        const std::byte* from = src + b.src_at(j);
        std::byte* to = dst + j * b.dst_stride;
        const std::int64_t ahead = !stores.prefetch ? 0
                                   : along          ? (deal ? kPrefetchBytes : kPrefetchBytes / 2)
                                                    : b.src_ahead(j + rows_ahead) - b.src_at(j);
        std::int64_t at = 0;  // bytes of every stream done
        bool lines = stores.nontemporal && (!deal || pitch % kLine == 0);
        if (lines && to_line(to) != 0) {
            at = first_line_step(to, width * dst_scale, kLine) * width;
            lines = at < kLine * width && at + kLine <= bytes;
            if (!lines) at = 0;
            if (lines && !deal) {
                stream_woven_part<streams>(from, to, 0, at * streams, pitch, index);
            } else {
                for (std::int64_t done = 0; done < at; done += kLine) {
                    const std::int64_t now = done + kLine <= bytes ? done : bytes - kLine;
                    weave_row<streams, deal, false>(from + now * src_scale, to + now * dst_scale, kLine, pitch, index, 0,
                                                    false);
                }
            }
        }
        const std::int64_t whole = (bytes - at) / kLine * kLine;
        if (lines) {
            weave_row<streams, deal, true>(from + at * src_scale, to + at * dst_scale, whole, pitch, index, ahead, false);
        } else {
            weave_row<streams, deal, false>(from + at * src_scale, to + at * dst_scale, whole, pitch, index, ahead,
                                            stores.claim);
        }
        if (at + whole < bytes) {
            const std::int64_t last = bytes - kLine;
            if (lines && !deal) {
                stream_woven_part<streams>(from + last, to + last * streams, (at + whole - last) * streams, streams * kLine,
                                           pitch, index);
            } else {
                weave_row<streams, deal, false>(from + last * src_scale, to + last * dst_scale, kLine, pitch, index, 0, false);
            }
        }
    }
}

void weave(const std::byte* src, std::byte* dst, int width, int streams, bool deal, const GatherIndex* permutes,
           std::int64_t bytes, std::int64_t pitch, KernelLoop b, KernelStores stores) noexcept {
    with_number<2, 4, 8, 16>(streams, [&]<int count>() {
        if (deal) {
            weave_rows<count, true>(src, dst, width, permutes, bytes, pitch, b, stores);
        } else {
            weave_rows<count, false>(src, dst, width, permutes, bytes, pitch, b, stores);
        }
    });
}

}  // namespace
}  // namespace dnnmove
