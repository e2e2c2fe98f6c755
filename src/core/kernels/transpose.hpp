// Transposes in registers: square tiles of one vector by one vector, for any vector and element width.
//
// A tile has N = vector / width rows and columns. With n = 16 / width elements per 16-byte lane:
//   1. every group of n rows is transposed inside its lanes, by log2(n) rounds of
//      x'[2i] = low(x[i], x[i + n/2]),  x'[2i + 1] = high(x[i], x[i + n/2]);
//      then lane l of x[k] holds column l*n + k of the group's rows;
//   2. for every k, the lanes of the groups' k-th vectors are transposed: vector l then holds column
//      l*n + k of all rows, one row of the destination.
//
//     rows      a0 a1 | a2 a3          a0 b0 | a2 b2          a0 b0 c0 d0
//     (N = 4,   b0 b1 | b2 b3   (1)    a1 b1 | a3 b3   (2)    a2 b2 c2 d2
//      n = 2,   c0 c1 | c2 c3   -->    c0 d0 | c2 d2   -->    a1 b1 c1 d1
//      2 lanes) d0 d1 | d2 d3          c1 d1 | c3 d3          a3 b3 c3 d3
#pragma once

#include "kernels/contract.hpp"
#include "kernels/rows.hpp"

namespace dnnmove {
namespace {

template <class Simd, int width>
struct Tile {
    using Vector = typename Simd::Vector;
    static constexpr int kSide = Simd::kBytes / width;
    static constexpr int kPerLane = 16 / width;
    static constexpr int kLanes = Simd::kBytes / 16;

    // Step 1.
    [[gnu::always_inline]] static inline void transpose_inside_lanes(Vector (&x)[kPerLane]) {
#pragma GCC unroll 4
        for (int stage = 1; stage < kPerLane; stage *= 2) {
            Vector z[kPerLane];
#pragma GCC unroll 8
            for (int r = 0; r < kPerLane / 2; ++r) {
                z[2 * r] = Simd::template unpack_low<width>(x[r], x[r + kPerLane / 2]);
                z[2 * r + 1] = Simd::template unpack_high<width>(x[r], x[r + kPerLane / 2]);
            }
#pragma GCC unroll 16
            for (int r = 0; r < kPerLane; ++r) x[r] = z[r];
        }
    }

    // Stores `columns` columns of `rows` source rows; a whole tile where both are kSide.
    template <bool whole_rows, bool whole_columns, bool nontemporal, bool prefetch>
    static inline void run(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                           const std::int64_t* dst_rows, std::int64_t columns, std::int64_t rows, RowsAhead ahead) {
        Vector y[kPerLane][kLanes];
#pragma GCC unroll 4
        for (int group = 0; group < kLanes; ++group) {
            Vector x[kPerLane];
#pragma GCC unroll 16
            for (int r = 0; r < kPerLane; ++r) {
                const int row = group * kPerLane + r;
                if (whole_rows || row < rows) {
                    const std::byte* from = src + src_rows[row];
                    // Into the second-level cache: many rows at once would take all of the first level's requests.
                    if (prefetch) __builtin_prefetch(ahead.src + ahead.rows[row], 0, 2);
                    x[r] = whole_columns ? Simd::load(from) : Simd::load_partial(from, columns * width);
                } else {
                    x[r] = Vector{};
                }
            }
            transpose_inside_lanes(x);
#pragma GCC unroll 16
            for (int k = 0; k < kPerLane; ++k) y[k][group] = x[k];
        }
#pragma GCC unroll 16
        for (int k = 0; k < kPerLane; ++k) {
            Simd::transpose_lanes(y[k]);
#pragma GCC unroll 4
            for (int lane = 0; lane < kLanes; ++lane) {
                const int column = lane * kPerLane + k;
                if (!whole_columns && column >= columns) continue;
                std::byte* to = dst + dst_rows[column];
                if (!whole_rows) {
                    Simd::store_partial(to, y[k][lane], rows * width);
                } else if (nontemporal) {
                    Simd::stream(to, y[k][lane]);
                } else {
                    Simd::store(to, y[k][lane]);
                }
            }
        }
    }

    // The same for at most kPerLane columns: lane l of the k-th vector is loaded from row l*n + k, so that
    // step 1 alone leaves a column of all the rows in every vector.
    template <bool whole_rows, bool whole_columns, bool nontemporal, bool prefetch>
    static inline void run_narrow(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                  const std::int64_t* dst_rows, std::int64_t columns, std::int64_t rows, RowsAhead ahead) {
        Vector x[kPerLane];
#pragma GCC unroll 16
        for (int k = 0; k < kPerLane; ++k) {
            x[k] = Vector{};
#pragma GCC unroll 4
            for (int lane = 0; lane < kLanes; ++lane) {
                const int row = lane * kPerLane + k;
                if (!whole_rows && row >= rows) continue;
                const std::byte* from = src + src_rows[row];
                if (prefetch) __builtin_prefetch(ahead.src + ahead.rows[row], 0, 2);
                x[k] = Simd::with_lane(x[k], whole_columns ? Simd::lane(from) : Simd::lane_partial(from, columns * width), lane);
            }
        }
        transpose_inside_lanes(x);
#pragma GCC unroll 16
        for (int column = 0; column < kPerLane; ++column) {
            if (!whole_columns && column >= columns) break;
            std::byte* to = dst + dst_rows[column];
            if (!whole_rows) {
                Simd::store_partial(to, x[column], rows * width);
            } else if (nontemporal) {
                Simd::stream(to, x[column]);
            } else {
                Simd::store(to, x[column]);
            }
        }
    }

    // Columns that are few: kPerLane at a time.
    template <bool nontemporal, bool prefetch>
    static inline void cover_narrow(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                    const std::int64_t* dst_rows, std::int64_t columns, std::int64_t rows_in,
                                    RowsAhead ahead) {
        for (std::int64_t j = 0; j < rows_in; j += kSide) {
            std::int64_t rows = rows_in - j < kSide ? rows_in - j : kSide;
            if (rows < kSide && rows_in >= kSide && !nontemporal) {
                j = rows_in - kSide;
                rows = kSide;
            }
            for (std::int64_t i = 0; i < columns; i += kPerLane) {
                const std::int64_t now = columns - i < kPerLane ? columns - i : kPerLane;
                const std::byte* from = src + i * width;
                std::byte* to = dst + j * width;
                const RowsAhead next{ahead.src + i * width, ahead.rows + j};
                const bool whole = now == kPerLane;
                if (rows == kSide && whole) {
                    run_narrow<true, true, nontemporal, prefetch>(from, src_rows + j, to, dst_rows + i, now, rows, next);
                } else if (rows == kSide) {
                    run_narrow<true, false, nontemporal, prefetch>(from, src_rows + j, to, dst_rows + i, now, rows, next);
                } else {
                    run_narrow<false, false, false, prefetch>(from, src_rows + j, to, dst_rows + i, now, rows, next);
                }
            }
        }
    }

    // rows_out x rows_in elements by tiles; a remainder repeats part of the tile before it where
    // there is one, which costs less than a partial tile.
    template <bool nontemporal, bool prefetch>
    static inline void cover(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                             const std::int64_t* dst_rows, std::int64_t rows_out, std::int64_t rows_in,
                             RowsAhead ahead) {
        for (std::int64_t i = 0; i < rows_out; i += kSide) {
            std::int64_t columns = rows_out - i < kSide ? rows_out - i : kSide;
            if (columns <= kLanes / 2 * kPerLane) {
                cover_narrow<nontemporal, prefetch>(src + i * width, src_rows, dst, dst_rows + i, columns, rows_in,
                                                    {ahead.src + i * width, ahead.rows});
                continue;
            }
            if (columns < kSide && rows_out >= kSide && !nontemporal) {
                i = rows_out - kSide;
                columns = kSide;
            }
            const std::byte* from = src + i * width;
            for (std::int64_t j = 0; j < rows_in; j += kSide) {
                std::int64_t rows = rows_in - j < kSide ? rows_in - j : kSide;
                if (rows < kSide && rows_in >= kSide && !nontemporal) {
                    j = rows_in - kSide;
                    rows = kSide;
                }
                std::byte* to = dst + j * width;
                const RowsAhead next{ahead.src + i * width, ahead.rows + j};
                if (rows == kSide && columns == kSide) {
                    run<true, true, nontemporal, prefetch>(from, src_rows + j, to, dst_rows + i, columns, rows, next);
                } else if (rows == kSide) {
                    run<true, false, nontemporal, prefetch>(from, src_rows + j, to, dst_rows + i, columns, rows, next);
                } else {
                    run<false, false, false, prefetch>(from, src_rows + j, to, dst_rows + i, columns, rows, next);
                }
            }
        }
    }
};

template <class Simd, int width>
void transpose(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
               std::int64_t rows_out, std::int64_t rows_in, KernelStores stores, RowsAhead ahead) noexcept {
    if (stores.nontemporal) {
        Tile<Simd, width>::template cover<true, true>(src, src_rows, dst, dst_rows, rows_out, rows_in, ahead);
    } else if (stores.prefetch) {
        Tile<Simd, width>::template cover<false, true>(src, src_rows, dst, dst_rows, rows_out, rows_in, ahead);
    } else {
        Tile<Simd, width>::template cover<false, false>(src, src_rows, dst, dst_rows, rows_out, rows_in, ahead);
    }
}

// Writes the lines of one panel's rows out of a staging buffer: see transpose_lines in the contract.
template <class Simd>
inline void stream_panel(const std::byte* stage, std::int64_t pitch, std::byte* dst, const std::int64_t* dst_rows,
                         std::int64_t rows, std::int64_t end, std::int64_t limit, bool first, bool nontemporal) {
    for (std::int64_t row = 0; row < rows; ++row) {
        std::byte* to = dst + dst_rows[row];
        const std::byte* from = stage + row * pitch;
        std::int64_t k = to_line(to);
        if (k > end) k = end;
        if (first) move_short(from, to, k);
        if (nontemporal) {
            for (; k < limit && k + kLine <= end; k += kLine) stream_line<Simd>(from + k, to + k);
        } else {
            for (; k < limit && k + kLine <= end; k += kLine) move_line<Simd>(from + k, to + k);
        }
        if (k < limit) move_short(from + k, to + k, end - k);
    }
}

// Transposes panels of a tile's columns into a staging buffer and writes whole lines of every row out of it.
template <class Simd, int width>
void transpose_lines(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                     std::int64_t rows_out, std::int64_t rows_in, std::int64_t owned, bool first,
                     KernelStores stores, RowsAhead ahead) noexcept {
    using Panel = Tile<Simd, width>;
    constexpr std::int64_t kPitch = kMaxPanelBytes + kLine;  // bytes; not a power of two: spreads the cache sets
    alignas(64) std::byte stage[Panel::kSide * kPitch];
    std::int64_t stage_rows[Panel::kSide];
    for (int i = 0; i < Panel::kSide; ++i) stage_rows[i] = i * kPitch;
    for (std::int64_t i = 0; i < rows_out; i += Panel::kSide) {
        const std::int64_t rows = rows_out - i < Panel::kSide ? rows_out - i : Panel::kSide;
        Panel::template cover<false, true>(src + i * width, src_rows, stage, stage_rows, rows, rows_in,
                                           {ahead.src + i * width, ahead.rows});
        stream_panel<Simd>(stage, kPitch, dst, dst_rows + i, rows, rows_in * width, owned * width, first, stores.nontemporal);
    }
}

}  // namespace
}  // namespace dnnmove
