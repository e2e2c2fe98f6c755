// Transposes in registers: square tiles of one vector by one vector, for any vector and element width.
//
// A tile has N = vector / width rows and columns. With n = 16 / width elements per 16-byte lane:
//   1. every group of n rows is interleaved inside its lanes (interleave_lanes), which transposes them:
//      then lane l of x[k] holds column l*n + k of the group's rows;
//   2. for every k, the lanes of the groups' k-th vectors are transposed: vector l then holds column
//      l*n + k of all rows, one row of the destination.
//
//     rows      a0 a1 | a2 a3          a0 b0 | a2 b2          a0 b0 c0 d0
//     (N = 4,   b0 b1 | b2 b3   (1)    a1 b1 | a3 b3   (2)    a2 b2 c2 d2
//      n = 2,   c0 c1 | c2 c3   -->    c0 d0 | c2 d2   -->    a1 b1 c1 d1
//      2 lanes) d0 d1 | d2 d3          c1 d1 | c3 d3          a3 b3 c3 d3
//
// Fewer columns than a tile has are loaded lane by lane (run_narrow), fewer rows stored lane by lane
// (run_short), or in parts of lanes (run_part): whole vectors of them as far as there is `room`, up to where the
// destination's rows end that follow each other without gaps. What is too much belongs to rows that are stored later.
#pragma once

#include "kernels/contract.hpp"
#include "kernels/rows.hpp"

namespace dnnmove {
namespace {

// Columns of a tile, and where all rows that it may read of end.
struct Columns {
    std::int64_t count;
    const std::byte* end;
};

// May `bytes` bytes be read or written from `p` on, up to `end`? Nothing may where it is null.
inline bool reaches(const std::byte* end, const std::byte* p, std::int64_t bytes) { return end != nullptr && end - p >= bytes; }

// Interleaves the elements of `count` (a power of two) vectors inside their lanes of 16 bytes, by log2(count) rounds of
// x'[2i] = low(x[i], x[i + count/2]), x'[2i + 1] = high(x[i], x[i + count/2]).
template <class Simd, int width, int count>
[[gnu::always_inline]] inline void interleave_lanes(typename Simd::Vector (&x)[count]) {
#pragma GCC unroll 4
    for (int round = 1; round < count; round *= 2) {
        typename Simd::Vector y[count];
#pragma GCC unroll 8
        for (int i = 0; i < count / 2; ++i) {
            y[2 * i] = Simd::template unpack_low<width>(x[i], x[i + count / 2]);
            y[2 * i + 1] = Simd::template unpack_high<width>(x[i], x[i + count / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < count; ++i) x[i] = y[i];
    }
}

template <class Simd, int width>
struct Tile {
    using Vector = typename Simd::Vector;
    static constexpr int kSide = Simd::kBytes / width;
    static constexpr int kPerLane = 16 / width;
    static constexpr int kLanes = Simd::kBytes / 16;

    // A row (a lane of one), or as much of it as `columns` are. What other rows have behind it does no harm, and where there are
    // no masks a part takes several loads.
    template <bool whole_columns>
    static Vector load_row(const std::byte* from, Columns columns) {
        if (whole_columns || (Simd::kBytes < kLine && reaches(columns.end, from, Simd::kBytes))) return Simd::load(from);
        return Simd::load_partial(from, columns.count * width);
    }
    template <bool whole_columns>
    static typename Simd::Lane load_lane(const std::byte* from, Columns columns) {
        if (whole_columns || (Simd::kBytes < kLine && reaches(columns.end, from, 16))) return Simd::lane(from);
        return Simd::lane_partial(from, columns.count * width);
    }

    // Step 1.
    [[gnu::always_inline]] static inline void transpose_inside_lanes(Vector (&x)[kPerLane]) {
        interleave_lanes<Simd, width>(x);
    }

    // Stores `columns` columns of kSide source rows; a whole tile where they are kSide, too.
    template <bool whole_columns, bool nontemporal, bool prefetch>
    static inline void run(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                           Columns columns, RowsAhead ahead) {
        Vector y[kPerLane][kLanes];
#pragma GCC unroll 4
        for (int group = 0; group < kLanes; ++group) {
            Vector x[kPerLane];
#pragma GCC unroll 16
            for (int r = 0; r < kPerLane; ++r) {
                const int row = group * kPerLane + r;
                const std::byte* from = src + src_rows[row];
                // Into the second-level cache: many rows at once would take all of the first level's requests.
                if (prefetch) __builtin_prefetch(ahead.src + ahead.rows[row], 0, 2);
                x[r] = load_row<whole_columns>(from, columns);
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
                if (!whole_columns && column >= columns.count) continue;
                put_vector<Simd, nontemporal>(dst + dst_rows[column], y[k][lane]);
            }
        }
    }

    // The same for fewer columns, out of the way of the loop over whole tiles, which needs the registers.
    template <bool nontemporal, bool prefetch>
    [[gnu::noinline]] static void run_columns(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                              const std::int64_t* dst_rows, Columns columns, RowsAhead ahead) {
        run<false, nontemporal, prefetch>(src, src_rows, dst, dst_rows, columns, ahead);
    }

    // The same for at most kPerLane columns: lane l of the k-th vector is loaded from row l*n + k, so that
    // step 1 alone leaves a column of all the rows in every vector.
    template <bool whole_rows, bool whole_columns, bool nontemporal, bool prefetch>
    static inline void run_narrow(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                  const std::int64_t* dst_rows, Columns columns, std::int64_t rows, RowsAhead ahead,
                                  const std::byte* room) {
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
                x[k] = Simd::with_lane(x[k], load_lane<whole_columns>(from, columns), lane);
            }
        }
        transpose_inside_lanes(x);
#pragma GCC unroll 16
        for (int column = 0; column < kPerLane; ++column) {
            if (!whole_columns && column >= columns.count) break;
            std::byte* to = dst + dst_rows[column];
            if (!whole_rows && !reaches(room, to, Simd::kBytes)) {
                Simd::store_partial(to, x[column], rows * width);
            } else {
                put_vector<Simd, nontemporal>(to, x[column]);
            }
        }
    }

    // The same for `lanes` times kPerLane rows, fewer than a tile has: of step 2 only what brings the lanes of
    // one column together. Every column is stored as so many lanes of its own.
    template <int lanes, bool whole_columns, bool prefetch>
    static inline void run_short(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                 const std::int64_t* dst_rows, Columns columns, RowsAhead ahead) {
        static_assert(lanes == 1 || 2 * lanes == kLanes);
        Vector y[lanes][kPerLane];
#pragma GCC unroll 2
        for (int group = 0; group < lanes; ++group) {
#pragma GCC unroll 16
            for (int k = 0; k < kPerLane; ++k) {
                const int row = group * kPerLane + k;
                const std::byte* from = src + src_rows[row];
                if (prefetch) __builtin_prefetch(ahead.src + ahead.rows[row], 0, 2);
                y[group][k] = load_row<whole_columns>(from, columns);
            }
            transpose_inside_lanes(y[group]);
        }
        if constexpr (lanes == 2) {
#pragma GCC unroll 16
            for (int k = 0; k < kPerLane; ++k) Simd::pair_lanes(y[0][k], y[1][k]);
        }
#pragma GCC unroll 4
        for (int lane = 0; lane < kLanes; ++lane) {
#pragma GCC unroll 16
            for (int k = 0; k < kPerLane; ++k) {
                const int column = lane * kPerLane + k;
                if (!whole_columns && column >= columns.count) return;
                Simd::template store_lanes<lanes>(dst + dst_rows[column], y[lane * lanes / kLanes][k], lane % (kLanes / lanes));
            }
        }
    }

    // Fewer rows than a lane holds: lanes of these rows, and of the last of them again. What a lane has too much belongs to
    // columns that follow, which are stored later; where they end, by way of a stage.
    template <bool whole_columns, bool prefetch>
    static inline void run_part(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                const std::int64_t* dst_rows, Columns columns, std::int64_t rows, RowsAhead ahead,
                                const std::byte* room) {
        std::int64_t from[kPerLane];
        std::int64_t next[kPerLane];
        for (int k = 0; k < kPerLane; ++k) {
            const std::int64_t row = k < rows ? k : rows - 1;
            from[k] = src_rows[row];
            next[k] = ahead.rows[row];
        }
        const auto run_lanes = [&](std::byte* to, const std::int64_t* to_rows) {
            if constexpr (kLanes > 1) {
                run_short<1, whole_columns, prefetch>(src, from, to, to_rows, columns, {ahead.src, next});
            } else {
                run<whole_columns, false, prefetch>(src, from, to, to_rows, columns, {ahead.src, next});
            }
        };
        if (reaches(room, dst + dst_rows[columns.count - 1], 16)) return run_lanes(dst, dst_rows);
        alignas(64) std::byte stage[kSide * 16];
        asm("" : "=m"(stage));  // no instruction: GCC does not see that as many rows are written as are read
        std::int64_t stage_rows[kSide];
        for (int k = 0; k < kSide; ++k) stage_rows[k] = k * 16;
        run_lanes(stage, stage_rows);
        for (std::int64_t k = 0; k < columns.count; ++k) {
            std::byte* const to = dst + dst_rows[k];
            if (reaches(room, to, 16)) {
                move<16>(stage + k * 16, to);
            } else {
                move_short(stage + k * 16, to, rows * width);
            }
        }
    }

    // Rows that are left below whole tiles, so few that they cost less element by element than by one tile more.
    static constexpr std::int64_t kFewRows = width == 1 ? 2 : 1;
    template <bool prefetch>
    static inline void run_few_rows(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                    const std::int64_t* dst_rows, std::int64_t columns, std::int64_t rows, RowsAhead ahead) {
        for (std::int64_t row = 0; row < rows; ++row) {
            const std::byte* from = src + src_rows[row];
            if (prefetch) __builtin_prefetch(ahead.src + ahead.rows[row], 0, 2);
            for (std::int64_t column = 0; column < columns; ++column) {
                move<width>(from + column * width, dst + dst_rows[column] + row * width);
            }
        }
    }
};

}  // namespace
}  // namespace dnnmove
