// Transposes elements of any size up to 16 bytes that lie in cells, for vectors whose bytes can be picked out
// of two others (vpermi2b, AVX-512 VBMI).
//
// An element of `width` bytes in its cell of `cell` bytes becomes one of W bytes, a power of two, as its row
// is loaded; then it is in an ordinary tile of tile.hpp; and the W - width bytes between the elements
// are squeezed out as a column is stored. With width 3, cell 5, W 4:
//
//     rows   a0a0a0.... b0b0b0.... ..      a0a0a0-- b0b0b0-- ..      a0a0a0-- a1a1a1-- ..      a0a0a0 a1a1a1 ..
//            a1a1a1.... b1b1b1.... ..  ->  a1a1a1-- b1b1b1-- ..  ->  b0b0b0-- b1b1b1-- ..  ->  b0b0b0 b1b1b1 ..
//
// The elements go straight to cached rows; streamed ones leave a stage by whole lines.
// (Every second element of 1, 2, 4 or 8 bytes: its cell is twice as large, and nothing is left to squeeze.)
// The elements of a tile's row lie in one or two vectors of the source, its windows, or in more where cells
// are much larger.
#pragma once

#include <algorithm>

#include "kernels/by_number.hpp"
#include "kernels/contract.hpp"
#include "kernels/simd_avx512.hpp"
#include "kernels/transpose_cells.hpp"

namespace dnnmove {
namespace {

template <int W>
class PackedTile {
    using Panel = Tile<Simd512, W>;
    static constexpr int kSide = Panel::kSide;
    static constexpr int kPerLane = Panel::kPerLane;
    static constexpr std::int64_t kLeastWindows = W == 1 ? 2 : 1;  // bytes that lie in one need no tile of cells
    // Bytes of a staged row: the last store may pass its end by a line. An odd number of lines spreads the sets.
    static constexpr std::int64_t kPitch = kMaxCellPanelBytes + 3 * kLine;

public:
    static constexpr int kColumns = kSide;

    explicit PackedTile(Cells cells)
        : cells_(cells),
          windows_(std::max(kLeastWindows, ((kSide - 1) * cells.cell + cells.width + kLine - 1) / kLine)),
          pack_(Simd512::load(reinterpret_cast<const std::byte*>(cells.permutes[kPack].byte))),
          squeeze_(Simd512::load(reinterpret_cast<const std::byte*>(cells.permutes[kSqueeze].byte))) {
        // Where the elements begin, or go on, that windows w and w + 1 hold.
        for (std::int64_t w = 2; w < windows_; w += 2) {
            const std::int64_t column = w * kLine / cells.cell;
            const std::int64_t byte = std::min<std::int64_t>(w * kLine - column * cells.cell, W);
            later_[w / 2] = ~Simd512::mask(column * W + byte);
        }
    }

    // As transpose_cells in the contract; of the source's rows `row` bytes are readable.
    void transpose(const std::byte* src, const std::int64_t* src_rows, std::int64_t row, std::byte* dst,
                   const std::int64_t* dst_rows, std::int64_t rows_out, std::int64_t rows_in, std::int64_t owned, bool first,
                   KernelStores stores, RowsAhead ahead) const {
        alignas(64) std::byte stage[kSide * kPitch];
        std::int64_t stage_rows[kSide];
        for (int k = 0; k < kSide; ++k) stage_rows[k] = k * kPitch;
        if (!stores.prefetch) ahead = {src, src_rows};  // what is read now
        for (std::int64_t i = 0; i < rows_out; i += kSide) {
            const std::int64_t at = i * cells_.cell;
            const std::int64_t columns = std::min<std::int64_t>(kSide, rows_out - i);
            const std::int64_t readable = row - at;
            const RowsAhead next{ahead.src + at, ahead.rows};
            for (std::int64_t k = 0; stores.claim && k < columns; ++k) {
                prefetch_run(dst + dst_rows[i + k], owned * cells_.width);
            }
            if (!stores.nontemporal) {
                cover<false>(src + at, src_rows, dst, dst_rows + i, columns, rows_in, readable, next);
            } else {
                cover<true>(src + at, src_rows, stage, stage_rows, columns, rows_in, readable, next);
                stream_panel<Simd512>(stage, kPitch, dst, dst_rows + i, columns, rows_in * cells_.width, owned * cells_.width,
                                      first, true);
            }
        }
    }

private:
    // At most kSide columns, of which `readable` bytes of a row are readable. staged: what follows a column may be overwritten.
    template <bool staged>
    void cover(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
               std::int64_t columns, std::int64_t rows_in, std::int64_t readable, RowsAhead ahead) const {
        for (std::int64_t j = 0; j < rows_in; j += kSide) {
            const std::int64_t rows = std::min<std::int64_t>(kSide, rows_in - j);
            const std::int64_t* from = src_rows + j;
            std::byte* to = dst + j * cells_.width;
            const RowsAhead next{ahead.src, ahead.rows + j};
            const bool whole = rows == kSide && columns == kSide && windows_ <= 2;
            if (!whole) {
                tile<0, true, staged>(src, from, to, dst_rows, columns, rows, readable, next);
            } else if (readable < windows_ * kLine) {
                whole_tile<true, staged>(src, from, to, dst_rows, readable, next);
            } else {
                whole_tile<false, staged>(src, from, to, dst_rows, readable, next);
            }
        }
    }

    template <bool masked, bool staged>
    void whole_tile(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                    std::int64_t readable, RowsAhead ahead) const {
        if (kLeastWindows == 1 && windows_ == 1) {
            tile<kLeastWindows, masked, staged>(src, src_rows, dst, dst_rows, kSide, kSide, readable, ahead);
        } else {
            tile<2, masked, staged>(src, src_rows, dst, dst_rows, kSide, kSide, readable, ahead);
        }
    }

    // Window w of a row; masked: as much of it as is readable.
    template <bool masked>
    static __m512i window(const std::byte* from, std::int64_t w, std::int64_t readable) {
        if (!masked) return Simd512::load(from + w * kLine);
        return Simd512::load_partial(from + w * kLine, std::max<std::int64_t>(0, readable - w * kLine));
    }

    // A row's elements out of any number of windows.
    [[gnu::noinline]] __m512i pack(const std::byte* from, std::int64_t readable) const {
        const auto two = [&](std::int64_t w) {
            return _mm512_permutex2var_epi8(window<true>(from, w, readable), pack_, window<true>(from, w + 1, readable));
        };
        __m512i vector = two(0);
        for (std::int64_t w = 2; w < windows_; w += 2) vector = _mm512_mask_mov_epi8(vector, later_[w / 2], two(w));
        return vector;
    }

    // windows: 1 or 2 of a whole tile; or 0: any number of any part of one.
    template <int windows, bool masked, bool staged>
    void tile(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
              std::int64_t columns, std::int64_t rows, std::int64_t readable, RowsAhead ahead) const {
        constexpr bool whole = windows != 0;
        const auto load = [&](int row) {
            if (!whole && row >= rows) return __m512i{};
            const std::byte* from = src + src_rows[row];
            // Into the second-level cache, as tile.hpp does.
            __builtin_prefetch(ahead.src + ahead.rows[row], 0, 2);
            if (windows == 2) __builtin_prefetch(ahead.src + ahead.rows[row] + kLine, 0, 2);
            for (std::int64_t w = 1; windows == 0 && w < windows_; ++w) {
                __builtin_prefetch(ahead.src + ahead.rows[row] + w * kLine, 0, 2);
            }
            if constexpr (windows == 0) return pack(from, readable);
            const __m512i first = window<masked>(from, 0, readable);
            if constexpr (windows == 1) return Simd512::permute_bytes(first, pack_);
            return _mm512_permutex2var_epi8(first, pack_, window<masked>(from, 1, readable));
        };
        const __mmask64 mask = Simd512::mask(rows * cells_.width);
        const auto store = [&](int column, __m512i vector) {
            if (!whole && column >= columns) return;
            std::byte* to = dst + dst_rows[column];
            if (W != 1) vector = Simd512::permute_bytes(vector, squeeze_);
            if (staged) {
                Simd512::store(to, vector);
            } else {
                _mm512_mask_storeu_epi8(to, mask, vector);
            }
        };
        through(load, store);
    }

    // A tile of rows that load(row) gives and of columns that store(column, vector) takes: both steps of tile.hpp.
    template <class Load, class Store>
    [[gnu::always_inline]] static inline void through(const Load& load, const Store& store) {
        __m512i y[kPerLane][4];
#pragma GCC unroll 4
        for (int group = 0; group < 4; ++group) {
            __m512i x[kPerLane];
#pragma GCC unroll 16
            for (int r = 0; r < kPerLane; ++r) x[r] = load(group * kPerLane + r);
            Panel::transpose_inside_lanes(x);
#pragma GCC unroll 16
            for (int k = 0; k < kPerLane; ++k) y[k][group] = x[k];
        }
#pragma GCC unroll 16
        for (int k = 0; k < kPerLane; ++k) {
            Simd512::transpose_lanes(y[k]);
#pragma GCC unroll 4
            for (int lane = 0; lane < 4; ++lane) store(lane * kPerLane + k, y[k][lane]);
        }
    }

    Cells cells_;
    std::int64_t windows_;
    __m512i pack_;  // picks the elements out of two windows
    __m512i squeeze_;
    __mmask64 later_[kSide / 8 + 2];  // bytes of a packed row that come from windows 2k, 2k + 1 or later ones
};

template <int W>
inline void pack_rows(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                      std::int64_t rows_out, std::int64_t rows_in, std::int64_t owned, bool first, Cells cells,
                      KernelStores stores, RowsAhead ahead) noexcept {
    // Columns that are left, a small part of a tile, suit narrow tiles better.
    const std::int64_t left = rows_out % PackedTile<W>::kColumns;
    const std::int64_t packed = left <= PackedTile<W>::kColumns / 2 ? rows_out - left : rows_out;
    if (packed > 0) {
        const std::int64_t row = (rows_out - 1) * cells.cell + cells.width;
        PackedTile<W>(cells).transpose(src, src_rows, row, dst, dst_rows, packed, rows_in, owned, first, stores, ahead);
    }
    if (packed < rows_out) {
        const std::int64_t at = packed * cells.cell;
        transpose_cells<Simd512>(src + at, src_rows, dst, dst_rows + packed, rows_out - packed, rows_in, owned, first, cells,
                                 stores, {ahead.src + at, ahead.rows});
    }
}

inline void transpose_packed(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                             std::int64_t rows_out, std::int64_t rows_in, std::int64_t owned, bool first, Cells cells,
                             KernelStores stores, RowsAhead ahead) noexcept {
    const auto run = [&]<int W>() {
        pack_rows<W>(src, src_rows, dst, dst_rows, rows_out, rows_in, owned, first, cells, stores, ahead);
    };
    with_number<1, 2, 4, 8, 16>(packed_element(cells.width), run);
}

}  // namespace
}  // namespace dnnmove
