// The transposes of elements in cells and of elements that are rows, alone: every size of element and cell, every rest
// of a tile, with rows behind whose last element nothing can be read.
#include <algorithm>

#include "guarded_source.hpp"
#include "kernel_checks.hpp"
#include "plan/gather_table.hpp"

namespace {

using namespace testing;
using dnnmove::Cells;

class Checker : public KernelChecks {
protected:
    void each_shape(Cells cells) {
        const std::int64_t side = 64 / dnnmove::packed_element(cells.width);
        for (const std::int64_t out : {std::int64_t{1}, side / 2, side / 2 + 1, side, side + 1, 2 * side - 1, 3 * side}) {
            for (const std::int64_t in : {side - 1, 2 * side, 300 / cells.width + 5}) {
                if (out < 1 || in < 1) continue;
                for (const bool nontemporal : {false, true}) {
                    each_phase(
                        [&](const std::byte* src, Room& room) { transpose_cells(src, room, cells, out, in, nontemporal); },
                        "transpose_cells", {cells.width, cells.cell, out, in, nontemporal});
                }
            }
        }
    }

    void transpose_rows(const std::byte* src, Room& room, std::int64_t bytes, std::int64_t out, std::int64_t in,
                        bool nontemporal) {
        constexpr std::int64_t kTile = 3;
        const std::int64_t extra = 64 / bytes + 1;
        transpose(src, room, {bytes, bytes}, out, in, kTile, [&](const Panel& panel) {
            const std::int64_t readable = nontemporal ? std::min(in - panel.begin, kTile + extra) : panel.owned;
            kernels_.transpose_rows(panel.src, panel.src_rows, panel.dst, panel.dst_rows, out, readable, panel.owned,
                                    panel.begin == 0, bytes, {nontemporal, panel.begin == 0}, {panel.src, panel.src_rows});
        });
    }

    void transpose_cells(const std::byte* src, Room& room, Cells cells, std::int64_t out, std::int64_t in, bool nontemporal) {
        const auto permutes = dnnmove::cell_permutes(cells.width, cells.cell);
        cells.permutes = permutes.data();
        const std::int64_t tile = 256 / cells.width;
        transpose(src, room, cells, out, in, tile, [&](const Panel& panel) {
            const std::int64_t readable = nontemporal ? std::min(in - panel.begin, tile + 64 / cells.width + 1) : panel.owned;
            kernels_.transpose_cells(panel.src, panel.src_rows, panel.dst, panel.dst_rows, out, readable, panel.owned,
                                     panel.begin == 0, cells, {nontemporal, panel.begin == 0}, {panel.src, panel.src_rows});
        });
    }

    // Some source rows, from `begin` on, and where their elements go.
    struct Panel {
        const std::byte* src;
        const std::int64_t* src_rows;
        std::byte* dst;
        const std::int64_t* dst_rows;
        std::int64_t begin;
        std::int64_t owned;
    };

    void transpose(const std::byte* src, Room& room, Cells cells, std::int64_t out, std::int64_t in, std::int64_t tile,
                   const std::function<void(const Panel&)>& run) {
        const std::int64_t row = (out - 1) * cells.cell + cells.width;
        GuardedSource rows(in * row);
        for (std::int64_t k = 0; k < in * row; ++k) rows.data()[k] = src[k % 65521];  // a prime: rows differ
        std::vector<std::int64_t> src_rows;
        std::vector<std::int64_t> dst_rows;
        for (std::int64_t j = 0; j < in; ++j) src_rows.push_back((in - 1 - j) * row);
        for (std::int64_t i = 0; i < out; ++i) dst_rows.push_back((out - 1 - i) * (in * cells.width + 5));
        for (std::int64_t j = 0; j < in; j += tile) {
            run({rows.data(), src_rows.data() + j, room.dst() + j * cells.width, dst_rows.data(), j, std::min(tile, in - j)});
        }
        for (std::int64_t i = 0; i < out; ++i) {
            for (std::int64_t j = 0; j < in; ++j) {
                put(room, dst_rows[static_cast<std::size_t>(i)] + j * cells.width,
                    rows.data() + src_rows[static_cast<std::size_t>(j)] + i * cells.cell, cells.width);
            }
        }
    }
};

}  // namespace

TEST_CASE_FIXTURE(Checker, "elements that are rows are transposed") {
    for (const std::int64_t bytes : {17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 129, 196, 500, 2048}) {
        for (const std::int64_t out : {1, 2, 3, 4, 5, 9}) {
            for (const std::int64_t in : {1, 4, 7}) {
                if (out * in * bytes > kRoom / 4) continue;
                for (const bool nontemporal : {false, true}) {
                    each_phase(
                        [&](const std::byte* src, Room& room) { transpose_rows(src, room, bytes, out, in, nontemporal); },
                        "transpose_rows", {bytes, out, in, nontemporal});
                }
            }
        }
    }
}

TEST_CASE_FIXTURE(Checker, "elements in cells are transposed") {
    for (std::int64_t width = 1; width <= 16; ++width) {
        for (const std::int64_t cell : {width, width + 1, 2 * width, 3 * width, std::int64_t{16}}) {
            if (cell <= 16) each_shape({width, cell});
        }
    }
}
