// Transposes a batch of matrices so small that a call for each would cost more than its tiles.
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

// A matrix of the batch, and what follows it.
struct BatchMatrix {
    std::int64_t columns;
    std::int64_t rows;
    const std::byte* end;  // of what may be read
    bool exact;  // nothing is written behind its last column
    std::int64_t ahead;  // so many bytes on its rows are asked for; 0: nothing is
};

template <class Simd, int width, int rows, bool claims>
struct BatchCover {
    using Tile = BatchTile<Simd, width, rows, claims>;
    using Narrow = BatchTile<Simd128, width, rows, claims>;  // of what is left, up to a lane

    // All rows of so many columns: `rows` at a time, the last of which may repeat some.
    template <class Tile, bool whole>
    [[gnu::always_inline]] static inline void columns(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                                      const std::int64_t* dst_rows, std::int64_t columns,
                                                      const BatchMatrix& of) {
        std::int64_t j = 0;
        do {
            j = std::max<std::int64_t>(0, std::min(j, of.rows - rows));
            Tile::template run<whole>(src, src_rows + j, dst + j * width, dst_rows, columns, of.ahead);
            j += rows;
        } while (j < of.rows);
    }

    static void matrix(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                       const BatchMatrix& of) {
        // The last column of an exact one is stored element by element, if its pieces are longer than it is.
        const std::int64_t stored = of.columns - (of.exact && of.rows < rows ? 1 : 0);
        std::int64_t i = 0;
        for (; i + Tile::kSide <= stored; i += Tile::kSide) {
            columns<Tile, true>(src + i * width, src_rows, dst, dst_rows + i, Tile::kSide, of);
        }
        const std::int64_t left = stored - i;
        const std::int64_t readable = of.end - (src + i * width);
        if (left > Narrow::kSide && readable >= Simd::kBytes) {
            columns<Tile, false>(src + i * width, src_rows, dst, dst_rows + i, left, of);
        } else if (left > 0 && left <= Narrow::kSide && readable >= 16) {
            columns<Narrow, false>(src + i * width, src_rows, dst, dst_rows + i, left, of);
        } else if (left > 0) {
            last_columns(src, src_rows, dst, dst_rows, of, i, stored);
        }
        if (stored == of.columns) return;
        for (std::int64_t j = 0; j < of.rows; ++j) {
            move<width>(src + src_rows[j] + stored * width, dst + dst_rows[stored] + j * width);
        }
    }

    // What is left from column `i` on, at the end of what may be read.
    [[gnu::noinline]] static void last_columns(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                               const std::int64_t* dst_rows, const BatchMatrix& of, std::int64_t i,
                                               std::int64_t stored) {
        // Both lanes end within the columns: the second with the last of them.
        const std::int64_t first = std::max<std::int64_t>(0, std::min(i, of.columns - Tile::kColumns));
        const std::int64_t second = of.columns - Tile::kColumns - first;
        const bool part = second < 0;  // there is not one lane of columns
        std::int64_t j = 0;
        do {
            j = std::max<std::int64_t>(0, std::min(j, of.rows - rows));
            std::byte* const to = dst + j * width;
            if (part) {
                Narrow::run_part(src, src_rows + j, to, dst_rows, of.columns, stored);
            } else {
                Tile::run_overlapping(src + first * width, src_rows + j, to, dst_rows + first, second, stored - first);
            }
            j += rows;
        } while (j < of.rows);
    }
};

template <class Simd, int width, int rows, bool claims>
void transpose_matrices(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                        std::int64_t columns, std::int64_t rows_in, const KernelLoop& batch, std::int64_t ahead) noexcept {
    // Rows that are missing of a tile are those of the last one again.
    std::int64_t padded[rows];
    if (rows_in < rows) {
        for (int r = 0; r < rows; ++r) padded[r] = src_rows[std::min<std::int64_t>(r, rows_in - 1)];
        src_rows = padded;
    }
    const std::int64_t last = batch.src_stride > 0 ? (batch.extent - 1) * batch.src_stride : 0;
    const std::byte* const end = src + last + columns * width;
    BatchMatrix matrix{columns, rows_in, end, false, ahead};
    for (std::int64_t k = 0; k < batch.extent; ++k) {
        matrix.exact = k + 1 == batch.extent;
        BatchCover<Simd, width, rows, claims>::matrix(src, src_rows, dst, dst_rows, matrix);
        src += batch.src_stride;
        dst += batch.dst_stride;
    }
}

template <class Simd, int width, bool claims>
void transpose_batch_by_rows(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                             std::int64_t columns, std::int64_t rows_in, const KernelLoop& batch, std::int64_t ahead) noexcept {
    constexpr int kRows = 16 / width;
    if constexpr (width <= 2) {
        if (rows_in <= kRows / 4) {
            return transpose_matrices<Simd, width, kRows / 4, claims>(src, src_rows, dst, dst_rows, columns, rows_in, batch,
                                                                      ahead);
        }
    }
    if constexpr (width <= 4) {
        if (rows_in <= kRows / 2) {
            return transpose_matrices<Simd, width, kRows / 2, claims>(src, src_rows, dst, dst_rows, columns, rows_in, batch,
                                                                      ahead);
        }
    }
    transpose_matrices<Simd, width, kRows, claims>(src, src_rows, dst, dst_rows, columns, rows_in, batch, ahead);
}

template <class Simd, int width>
void transpose_batch(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                     std::int64_t columns, std::int64_t rows_in, const KernelLoop& batch, KernelStores stores,
                     std::int64_t ahead) noexcept {
    if (stores.claim) {
        transpose_batch_by_rows<Simd, width, true>(src, src_rows, dst, dst_rows, columns, rows_in, batch, ahead);
    } else {
        transpose_batch_by_rows<Simd, width, false>(src, src_rows, dst, dst_rows, columns, rows_in, batch, ahead);
    }
}

}  // namespace
}  // namespace dnnmove
