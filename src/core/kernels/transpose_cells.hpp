// Transposes elements of any size up to 16 bytes that lie in cells: a fixed, small distance apart.
//
// The element of `width` bytes in its cell of `cell` bytes becomes one of W bytes, a power of two, by one
// byte permute per vector; then it is a narrow tile of tile.hpp; then the W - width bytes between
// the elements are squeezed out of every row by another permute. With width 3, cell 3, W 4:
//
//     rows   a0a0a0 b0b0b0 ..       a0a0a0.. b0b0b0..        a0a0a0.. a1a1a1..       a0a0a0 a1a1a1 ..
//            a1a1a1 b1b1b1 ..  -->  a1a1a1.. b1b1b1..  -->   b0b0b0.. b1b1b1..  -->  b0b0b0 b1b1b1 ..
//
// Elements in cells of 9 and more bytes have a lane each, and need none of that.
#pragma once

#include <algorithm>

#include "kernels/contract.hpp"
#include "kernels/transpose.hpp"

namespace dnnmove {
namespace {

template <class Simd, int W>
class CellTile {
    using Panel = Tile<Simd, W>;
    using Vector = typename Simd::Vector;
    static constexpr int kColumns = Panel::kPerLane;
    static constexpr int kLanes = Panel::kLanes;
    static constexpr int kSide = Panel::kSide;
    // Columns at a time: about a line's worth, so that no line of the source is needed again after a tile.
    static constexpr int kStep = (W == 2 ? 2 : 4) * kColumns;
    // Bytes of a staged row: the last tile and its last store may pass its end by a line each.
    static constexpr std::int64_t kPitch = kMaxCellPanelBytes + 3 * kLine;

public:
    explicit CellTile(Cells cells)
        : cells_(cells), widen_(load(cells.permutes[kWidenLanes])), squeeze_(load(cells.permutes[kSqueezeLanes])) {}

    void transpose(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                   std::int64_t rows_out, std::int64_t rows_in, std::int64_t owned, bool first, KernelStores stores,
                   RowsAhead ahead) const {
        alignas(64) std::byte stage[2][kStep * kPitch];
        const std::int64_t end = rows_in * cells_.width;
        const std::int64_t limit = owned * cells_.width;
        std::int64_t waiting = 0;  // rows in the other buffer
        std::int64_t asked = -1;   // the line of the source rows that was last prefetched
        for (std::int64_t i = 0, now = 0;; i += kStep, now = 1 - now) {
            const std::int64_t left = rows_out - i;
            if (left > 0) {
                const std::int64_t at = i * cells_.cell;
                for (std::int64_t row = i; stores.claim && row < rows_out && row < i + kStep; ++row) {
                    prefetch_run(dst + dst_rows[row], limit);  // written after the next columns are staged
                }
                if (stores.prefetch && at / kLine != asked) {
                    asked = at / kLine;
                    for (std::int64_t j = 0; j < rows_in; ++j) __builtin_prefetch(ahead.src + ahead.rows[j] + at, 0, 2);
                }
                if constexpr (kColumns == 1) {
                    stage_elements(src + at, src_rows, stage[now], left, rows_in);
                } else {
                    for (std::int64_t j = 0; j < rows_in; j += kSide) {
                        const std::int64_t rows = rows_in - j < kSide ? rows_in - j : kSide;
                        stage_tiles(src + at, src_rows + j, stage[now] + j * cells_.width, left, rows);
                    }
                }
            }
            if (stores.nontemporal) {
                stream_panel<Simd>(stage[1 - now], kPitch, dst, dst_rows + i - kStep, waiting, end, limit, first, true);
            } else {
                for (std::int64_t row = 0; row < waiting; ++row) {
                    move_row<Simd>(stage[1 - now] + row * kPitch, dst + dst_rows[i - kStep + row], limit, 0);
                }
            }
            if (left <= 0) return;
            waiting = left < kStep ? left : kStep;
        }
    }

private:
    static Vector load(const GatherIndex& index) { return Simd::load(reinterpret_cast<const std::byte*>(index.byte)); }

    // Up to kStep of `left` columns. Elements that have a lane each need no permutes: each is stored with what lies behind it in the
    // source, and the next one over that.
    void stage_elements(const std::byte* src, const std::int64_t* src_rows, std::byte* stage, std::int64_t left,
                        std::int64_t rows) const {
        const std::int64_t width = cells_.width;
        const std::int64_t cell = cells_.cell;
        const auto readable = [&](std::int64_t column) { return (left - column - 1) * cell + width; };
        if (left >= kStep && readable(kStep - 1) >= 16) {
            for (std::int64_t j = 0; j < rows; ++j) {
                const std::byte* const from = src + src_rows[j];
                std::byte* const to = stage + j * width;
#pragma GCC unroll 4
                for (int i = 0; i < kStep; ++i) Simd128::store(to + i * kPitch, Simd128::load(from + i * cell));
            }
            return;
        }
        for (std::int64_t i = 0; i < kStep && i < left; ++i) {
            const std::int64_t bytes = std::min<std::int64_t>(readable(i), 16);
            for (std::int64_t j = 0; j < rows; ++j) {
                const std::byte* const from = src + src_rows[j] + i * cell;
                Simd128::store(stage + i * kPitch + j * width, Simd128::load_partial(from, bytes));
            }
        }
    }

    // Up to kStep of `left` columns of `rows` rows.
    void stage_tiles(const std::byte* src, const std::int64_t* src_rows, std::byte* stage, std::int64_t left,
                     std::int64_t rows) const {
        for (std::int64_t i = 0; i < kStep && i < left; i += kColumns) {
            const std::int64_t readable = (left - i - 1) * cells_.cell + cells_.width;
            const std::byte* from = src + i * cells_.cell;
            std::byte* to = stage + i * kPitch;
            if (rows < kSide) {
                tile<false, false>(from, src_rows, to, rows, readable < 16 ? readable : 16);
            } else if (readable < 16) {
                tile<true, false>(from, src_rows, to, rows, readable);
            } else {
                tile<true, true>(from, src_rows, to, rows, 16);
            }
        }
    }

    // kColumns columns, of which the first `readable` bytes of a row are read.
    template <bool whole_rows, bool whole_columns>
    void tile(const std::byte* src, const std::int64_t* src_rows, std::byte* stage, std::int64_t rows,
              std::int64_t readable) const {
        Vector x[kColumns];
#pragma GCC unroll 16
        for (int k = 0; k < kColumns; ++k) {
            x[k] = Vector{};
#pragma GCC unroll 4
            for (int lane = 0; lane < kLanes; ++lane) {
                const int row = lane * kColumns + k;
                if (!whole_rows && row >= rows) continue;
                const std::byte* from = src + src_rows[row];
                x[k] = Simd::with_lane(x[k], whole_columns ? Simd::lane(from) : Simd::lane_partial(from, readable), lane);
            }
            x[k] = Simd::shuffle_lanes(x[k], widen_);
        }
        Panel::transpose_inside_lanes(x);
#pragma GCC unroll 16
        for (int column = 0; column < kColumns; ++column) {
            Simd::store_squeezed(stage + column * kPitch, x[column], squeeze_, kColumns * cells_.width);
        }
    }

    Cells cells_;
    Vector widen_;
    Vector squeeze_;
};

template <class Simd>
void transpose_cells(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                     std::int64_t rows_out, std::int64_t rows_in, std::int64_t owned, bool first, Cells cells,
                     KernelStores stores, RowsAhead ahead) noexcept {
    const auto run = [&](const auto& tile) {
        tile.transpose(src, src_rows, dst, dst_rows, rows_out, rows_in, owned, first, stores, ahead);
    };
    if (cells.cell <= 2) return run(CellTile<Simd, 2>(cells));
    if (cells.cell <= 4) return run(CellTile<Simd, 4>(cells));
    if (cells.cell <= 8) return run(CellTile<Simd, 8>(cells));
    run(CellTile<Simd, 16>(cells));
}

}  // namespace
}  // namespace dnnmove
