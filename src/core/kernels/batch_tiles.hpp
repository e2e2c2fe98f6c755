// Tiles of small matrices, for batches of them (kernels/transpose_batch.hpp).
//
// A tile is a lane of 16 bytes of some rows, interleaved (tile.hpp): n = 16 / width columns of as many rows, or of fewer where
// the matrix has fewer, a power of two; then a lane holds pieces of several columns. The lanes of a vector are neighbours
// in the source's rows. Pieces are stored in the order of the destination, and may reach into the next: where the rows are no
// power of two, it is stored later.
//
//     rows (width 4)  a0 a1 a2 a3 | a4 a5 a6 a7      a0 b0 a1 b1 | a4 b4 a5 b5      a0 b0, a1 b1, .. a4 b4, ..
//                     b0 b1 b2 b3 | b4 b5 b6 b7  ->  a2 b2 a3 b3 | a6 b6 a7 b7  ->
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/simd_portable.hpp"
#include "kernels/tile.hpp"

namespace dnnmove {
namespace {

template <class Simd, int width, int rows, bool claims>
struct BatchTile {
    using Vector = typename Simd::Vector;
    static constexpr int kColumns = 16 / width;  // of a lane
    static constexpr int kLanes = Simd::kBytes / 16;
    static constexpr int kSide = kLanes * kColumns;
    static constexpr int kPiece = rows * width;  // bytes of a column
    static constexpr int kPieces = kColumns / rows;  // of a vector's lane
    // Of so many columns, a line's worth if they follow each other, the first asks for its line. (Emerald Rapids, two threads, 3 to
    // 14 MB: 1.04 to 1.06 times as fast; if each column does, which takes as many instructions again, 0.99 to 1.01.)
    static constexpr int kClaimed = std::max<int>(1, kLine / kPiece);

    // Up to kSide columns, or as many with `whole`; a whole vector of each row is read.
    template <bool whole>
    [[gnu::always_inline]] static inline void run(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                                  const std::int64_t* dst_rows, std::int64_t columns, std::int64_t ahead) {
        if (ahead != 0) {
#pragma GCC unroll 16
            for (int r = 0; r < rows; ++r) __builtin_prefetch(src + src_rows[r] + ahead);
        }
        Vector x[rows];
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) x[r] = Simd::load(src + src_rows[r]);
        interleave_lanes<Simd, width>(x);
#pragma GCC unroll 2
        for (int lane = 0; lane < kLanes; ++lane) {
            if (store<whole>(x, lane, dst, dst_rows + lane * kColumns, columns - lane * kColumns)) return;
        }
    }
    // The same for lanes that begin at the first column and `second` columns behind it, of which nothing else is read.
    static void run_overlapping(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                const std::int64_t* dst_rows, std::int64_t second, std::int64_t columns) {
        Vector x[rows];
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) {
            x[r] = Simd::with_lane(Vector{}, Simd::lane(src + src_rows[r]), 0);
            if constexpr (kLanes > 1) x[r] = Simd::with_lane(x[r], Simd::lane(src + src_rows[r] + second * width), 1);
        }
        interleave_lanes<Simd, width>(x);
        store<false>(x, 0, dst, dst_rows, columns);
        if constexpr (kLanes > 1) store<false>(x, 1, dst, dst_rows + second, columns - second);
    }

    // The same for fewer columns than a lane has, of which nothing else is read.
    static void run_part(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                         std::int64_t columns, std::int64_t stored) {
        Vector x[rows];
#pragma GCC unroll 16
        for (int r = 0; r < rows; ++r) x[r] = Simd::load_partial(src + src_rows[r], columns * width);
        interleave_lanes<Simd, width>(x);
        store<false>(x, 0, dst, dst_rows, stored);
    }

private:
    // The columns of a lane; says whether those were all.
    template <bool whole>
    [[gnu::always_inline]] static inline bool store(const Vector (&x)[rows], int lane, std::byte* dst,
                                                    const std::int64_t* dst_rows, std::int64_t columns) {
#pragma GCC unroll 16
        for (int column = 0; column < kColumns; ++column) {
            if (!whole && column >= columns) return true;
            if (claims && column % kClaimed == 0) __builtin_prefetch(dst + dst_rows[column]);
            const auto from = reinterpret_cast<Pieces>(Simd::lane_of(x[column / kPieces], lane));
            store_piece(from, column % kPieces, dst + dst_rows[column]);
        }
        return false;
    }

    using Word = std::conditional_t<kPiece == 4, std::uint32_t, std::uint64_t>;
    using Pieces [[gnu::vector_size(16)]] = Word;
    [[gnu::always_inline]] static inline void store_piece(Pieces from, int piece, std::byte* to) {
        if constexpr (kPiece == 16) {
            std::memcpy(to, &from, 16);
        } else {
            const Word word = from[piece];
            std::memcpy(to, &word, sizeof word);
        }
    }
};

// Tiles of one size, for a loop over the matrices of a batch, which asks for their lines. These have as many rows as a vector has
// elements, and as many columns, or a lane of them.
template <class Simd, int width, bool narrow>
struct TallTile {
    using Tile = dnnmove::Tile<Simd, width>;
    static constexpr int kRows = Tile::kSide;
    static constexpr int kColumns = narrow ? Tile::kPerLane : Tile::kSide;

    [[gnu::always_inline]] static inline void run(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                                  const std::int64_t* dst_rows) {
        constexpr Columns kWhole{kColumns, nullptr};
        if constexpr (narrow) {
            Tile::template run_narrow<true, true, false, false>(src, src_rows, dst, dst_rows, kWhole, kRows, {}, nullptr);
        } else {
            Tile::template run<true, false, false>(src, src_rows, dst, dst_rows, kWhole, {});
        }
    }
};

// And these fewer rows, of which a lane holds a piece of each column.
template <class Simd, int width, int rows>
struct FlatTile {
    using Tile = BatchTile<Simd, width, rows, false>;
    static constexpr int kRows = rows;
    static constexpr int kColumns = Tile::kSide;

    [[gnu::always_inline]] static inline void run(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                                  const std::int64_t* dst_rows) {
        Tile::template run<true>(src, src_rows, dst, dst_rows, kColumns, 0);
    }
};

}  // namespace
}  // namespace dnnmove
