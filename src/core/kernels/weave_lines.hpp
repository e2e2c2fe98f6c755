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

// The separate streams, of which one side is only read.
template <int streams>
struct Separate {
    std::byte* at[streams];

    explicit Separate(std::byte* const* separate) {
#pragma GCC unroll 16
        for (int s = 0; s < streams; ++s) at[s] = separate[s];
    }
};

// `bytes` of every stream, a multiple of 64, `further` bytes on.
template <int streams, bool deal, bool nontemporal>
inline void weave_row(std::byte* together, const Separate<streams>& separate, std::int64_t further, std::int64_t bytes,
                      const WeaveIndex& index, std::int64_t ahead, bool claim) {
    for (std::int64_t k = 0; k < bytes; k += kLine) {
        std::int64_t place = further + k;
        asm("" : "+r"(place));  // no instruction: GCC keeps it, rather than how far each stream is from the others
        const auto at = [&](int s, bool records) {
            return records ? together + streams * k + kLine * s : separate.at[s] + place;
        };
        __m512i x[streams];
#pragma GCC unroll 16
        for (int s = 0; s < streams; ++s) {
            const std::byte* const from = at(s, deal);
            if (ahead != 0) __builtin_prefetch(from + ahead);
            x[s] = window(from);
        }
        // Of a stream the line that its vector goes on into, all of them at once. (Zen 5, one thread, 8 streams of 150 KB: 1.2 times
        // as fast as each when it is stored to.)
        if (deal && claim) {
#pragma GCC unroll 16
            for (int s = 0; s < streams; ++s) __builtin_prefetch(at(s, !deal) + kLine - 1);
        }
        weave_vectors<streams, deal>(x, index);
#pragma GCC unroll 16
        for (int s = 0; s < streams; ++s) {
            std::byte* const to = at(s, !deal);
            if (!deal && claim) __builtin_prefetch(to);
            put_vector<Simd512, nontemporal>(to, x[s]);
        }
    }
}

// Whole rows without gaps, each of whole vectors in order, to a place inside a line: see ShiftedLines.
template <int streams, bool deal>
inline void weave_shifted(std::byte* together, const Separate<streams>& separate, std::int64_t bytes, const KernelLoop& b,
                          const WeaveIndex& permutes, std::int64_t ahead) {
    const WeaveIndex index = permutes;  // values: the stores could alias them
    const KernelLoop rows = b;
    ShiftedLines lines(deal ? separate.at[0] : together);
    for (std::int64_t j = 0; j < rows.extent; ++j) {
        const std::int64_t row = rows.src_at(j);
        for (std::int64_t k = 0; k < bytes; k += kLine) {
            __m512i x[streams];
#pragma GCC unroll 16
            for (int s = 0; s < streams; ++s) {
                const std::byte* const from = deal ? together + row + streams * k + kLine * s : separate.at[s] + row + k;
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

// Bytes [begin, end) of the records that one vector of every stream makes, `further` bytes on, beside lines that are streamed.
template <int streams>
inline void stream_woven_part(std::byte* together, const Separate<streams>& separate, std::int64_t further, std::int64_t begin,
                              std::int64_t end, const WeaveIndex& index) {
    alignas(64) std::byte part[streams * kLine];
    weave_row<streams, false, false>(part, separate, further, kLine, index, 0, false);
    stream_row<Simd128>(part + begin, together + begin, end - begin, 0);
}

// Do streams that follow each other begin with lines?
template <int streams>
bool lines_apart(const Separate<streams>& separate) {
    std::int64_t phases = 0;
    for (int s = 1; s < streams; ++s) phases |= to_line(separate.at[s]) ^ to_line(separate.at[0]);
    return phases == 0;
}

template <int streams, bool deal>
void weave_rows(const Weave& weave, std::byte* together, std::byte* const* places, std::int64_t bytes, KernelLoop b,
                KernelStores stores) {
    const Separate<streams> separate(places);
    const WeaveIndex index{_mm512_load_si512(weave.permutes[0].byte), _mm512_load_si512(weave.permutes[1].byte)};
    const int width = weave.width;
    const std::int64_t dst_scale = deal ? 1 : streams;
    const bool along = bytes * streams >= 2 * kPrefetchBytes || b.extent == 1;
    const std::int64_t rows_ahead = (kPrefetchBytes + bytes * streams - 1) / (bytes * streams);
    // Short rows without gaps are found by the hardware.
    bool follow = bytes % kLine == 0 && (b.extent == 1 || b.dst_stride == streams * bytes);
    for (int s = 1; deal && s < streams; ++s) follow = follow && separate.at[s] == separate.at[s - 1] + kLine && bytes == kLine;
    std::byte* const dst = deal ? separate.at[0] : together;
    if (stores.nontemporal && follow && to_line(dst) != 0) {
        return weave_shifted<streams, deal>(together, separate, bytes, b, index,
                                            stores.prefetch && along ? kPrefetchBytes / 2 : 0);
    }
    const bool one_phase = !deal || lines_apart(separate);
    for (std::int64_t j = 0; j < b.extent; ++j) {
        const std::int64_t src_row = b.src_at(j);
        const std::int64_t dst_row = j * b.dst_stride;
        std::byte* const records = together + (deal ? src_row : dst_row);
        const std::int64_t row = deal ? dst_row : src_row;
        const std::int64_t ahead = !stores.prefetch ? 0
                                   : along          ? (deal ? kPrefetchBytes : kPrefetchBytes / 2)
                                                    : b.src_ahead(j + rows_ahead) - src_row;
        const auto move = [&]<bool nontemporal>(std::int64_t at, std::int64_t count, std::int64_t prefetch, bool claim) {
            weave_row<streams, deal, nontemporal>(records + at * streams, separate, row + at, count, index, prefetch, claim);
        };
        std::int64_t at = 0;  // bytes of every stream done
        bool lines = stores.nontemporal && one_phase;
        if (lines && to_line(dst + dst_row) != 0) {
            at = first_line_step(dst + dst_row, width * dst_scale, kLine) * width;
            lines = at < kLine * width && at + kLine <= bytes;
            if (!lines) at = 0;
            if (lines && !deal) {
                stream_woven_part<streams>(records, separate, row, 0, at * streams, index);
            } else {
                for (std::int64_t done = 0; done < at; done += kLine) {
                    move.template operator()<false>(done + kLine <= bytes ? done : bytes - kLine, kLine, 0, false);
                }
            }
        }
        const std::int64_t whole = (bytes - at) / kLine * kLine;
        if (lines) {
            move.template operator()<true>(at, whole, ahead, false);
        } else {
            move.template operator()<false>(at, whole, ahead, stores.claim);
        }
        if (at + whole < bytes) {
            const std::int64_t last = bytes - kLine;
            if (lines && !deal) {
                stream_woven_part<streams>(records + last * streams, separate, row + last, (at + whole - last) * streams,
                                           streams * kLine, index);
            } else {
                move.template operator()<false>(last, kLine, 0, false);
            }
        }
    }
}

void weave_lines(const Weave& weave, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t bytes, KernelLoop b,
                 KernelStores stores) noexcept {
    with_number<2, 4, 8, 16>(weave.streams, [&]<int count>() {
        if (weave.deals) {
            weave_rows<count, true>(weave, const_cast<std::byte*>(srcs[0]), dsts, bytes, b, stores);
        } else {
            weave_rows<count, false>(weave, dsts[0], const_cast<std::byte* const*>(srcs), bytes, b, stores);
        }
    });
}

}  // namespace
}  // namespace dnnmove
