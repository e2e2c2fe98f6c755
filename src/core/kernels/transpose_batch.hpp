// Transposes a batch of matrices so small that a call for each would cost more than its tiles.
//
// Where matrices are many and small, each tile (kernels/batch_tiles.hpp) goes over all of them (BatchByTiles); else one matrix is
// transposed after the other (BatchCover).
#pragma once

#include <algorithm>

#include "kernels/batch_tiles.hpp"

namespace dnnmove {
namespace {

// Matrices of as many rows and columns as such tiles have, or of more: one tile after the other, of which the last repeats some rows or
// columns; each at the same place of many matrices, so that where it reads and writes is found once.
template <class Simd, int width, int rows, bool claims>
class BatchByTiles {
public:
    static constexpr int kLane = 16 / width;
    static constexpr bool kTall = Simd::kBytes == 32 && rows == kLane;
    static constexpr int kVector = Simd::kBytes / width;

    BatchByTiles(const std::int64_t* src_rows, const std::int64_t* dst_rows, const KernelLoop& batch, std::int64_t ahead)
        : src_rows_(src_rows), dst_rows_(dst_rows), batch_(batch), ahead_(ahead) {}

    // (Not inlined: beside it GCC keeps less of what goes by matrices in registers.)
    [[gnu::noinline]] void run(const std::byte* src, std::byte* dst, std::int64_t columns, std::int64_t rows_in) {
        const std::int64_t group = std::max<std::int64_t>(kManyMatrices, kGroupBytes / (rows_in * columns * width));
        for (std::int64_t k = 0; k < batch_.extent; k += group) {
            count_ = std::min(group, batch_.extent - k);
            run_group(src + k * batch_.src_stride, dst + k * batch_.dst_stride, columns, rows_in);
        }
    }

private:
    // Of the matrices that tiles go over before the next ones do: what comes from afar is read little by little. (Zen 4, AVX2, 27
    // permutations of 0.1 to 10 MB: 1.02 times as fast as of 16 KB, 2 and 1 KB 0.99.)
    static constexpr std::int64_t kGroupBytes = 4096;

    void run_group(const std::byte* src, std::byte* dst, std::int64_t columns, std::int64_t rows_in) const {
        std::int64_t i = 0;
        for (; columns >= kVector && columns - i > (kVector == kLane ? 0 : kLane); i += kVector) {
            i = std::min<std::int64_t>(i, columns - kVector);
            down<TallTile<Simd, width, false>, FlatTile<Simd, width, rows>>(src, dst, rows_in, i);
        }
        for (; i < columns; i += kLane) {
            i = std::min<std::int64_t>(i, columns - kLane);
            down<TallTile<Simd, width, true>, FlatTile<Simd128, width, rows>>(src, dst, rows_in, i);
        }
    }

    // All rows of the columns of a tile, from i on.
    template <class Tall, class Flat>
    void down(const std::byte* src, std::byte* dst, std::int64_t rows_in, std::int64_t i) const {
        std::int64_t j = 0;
        if constexpr (kTall) {
            for (; rows_in >= kVector && rows_in - j > rows; j += kVector) {
                j = std::min(j, rows_in - kVector);
                each<Tall>(src, dst, j, i);
            }
        }
        for (; j < rows_in; j += rows) {
            j = std::min(j, rows_in - rows);
            each<Flat>(src, dst, j, i);
        }
    }

    template <class Tile>
    [[gnu::noinline]] void each(const std::byte* src, std::byte* dst, std::int64_t j, std::int64_t i) const {
        std::int64_t from[Tile::kRows], to[Tile::kColumns];
#pragma GCC unroll 32
        for (int r = 0; r < Tile::kRows; ++r) from[r] = src_rows_[j + r];
#pragma GCC unroll 32
        for (int column = 0; column < Tile::kColumns; ++column) to[column] = dst_rows_[i + column];
        src += i * width;
        dst += j * width;
        const std::int64_t count = count_, src_step = batch_.src_stride, dst_step = batch_.dst_stride, ahead = ahead_;
        constexpr int kClaimed = std::max<int>(1, kLine / (Tile::kRows * width));  // columns that may share a line
        for (std::int64_t k = 0; k < count; ++k, src += src_step, dst += dst_step) {
            if (ahead != 0) {
#pragma GCC unroll 32
                for (int r = 0; r < Tile::kRows; ++r) __builtin_prefetch(src + from[r] + ahead);
            }
            if (claims) {
#pragma GCC unroll 32
                for (int column = 0; column < Tile::kColumns; column += kClaimed) __builtin_prefetch(dst + to[column]);
            }
            Tile::run(src, from, dst, to);
        }
    }

    const std::int64_t* src_rows_;
    const std::int64_t* dst_rows_;
    const KernelLoop& batch_;
    std::int64_t ahead_;
    std::int64_t count_ = 0;  // of matrices in a group
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
                        std::int64_t columns, std::int64_t rows_in, const KernelLoop& batch, bool by_tiles,
                        std::int64_t ahead) noexcept {
    if constexpr (Simd::kBytes < kLine) {
        if (by_tiles) {
            return BatchByTiles<Simd, width, rows, claims>(src_rows, dst_rows, batch, ahead).run(src, dst, columns, rows_in);
        }
    }
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
                             std::int64_t columns, std::int64_t rows_in, const KernelLoop& batch, bool by_tiles,
                             std::int64_t ahead) noexcept {
    constexpr int kRows = 16 / width;
    if constexpr (width <= 2) {
        if (rows_in <= kRows / 4) {
            return transpose_matrices<Simd, width, kRows / 4, claims>(src, src_rows, dst, dst_rows, columns, rows_in, batch,
                                                                      by_tiles, ahead);
        }
    }
    if constexpr (width <= 4) {
        if (rows_in <= kRows / 2) {
            return transpose_matrices<Simd, width, kRows / 2, claims>(src, src_rows, dst, dst_rows, columns, rows_in, batch,
                                                                      by_tiles, ahead);
        }
    }
    transpose_matrices<Simd, width, kRows, claims>(src, src_rows, dst, dst_rows, columns, rows_in, batch, by_tiles, ahead);
}

template <class Simd, int width>
void transpose_batch(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                     std::int64_t columns, std::int64_t rows_in, const KernelLoop& batch, KernelStores stores,
                     std::int64_t ahead) noexcept {
    if (stores.claim) {
        transpose_batch_by_rows<Simd, width, true>(src, src_rows, dst, dst_rows, columns, rows_in, batch, stores.by_tiles,
                                                   ahead);
    } else {
        transpose_batch_by_rows<Simd, width, false>(src, src_rows, dst, dst_rows, columns, rows_in, batch, stores.by_tiles,
                                                    ahead);
    }
}

}  // namespace
}  // namespace dnnmove
