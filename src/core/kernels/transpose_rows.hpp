// Transposes elements that are whole rows of bytes, of any size: rows of a panel collect in a stage, and every line
// of the destination is stored once.
//
// Of one row of the destination, pieces of it come from a few rows of the source, which the kernel walks along:
//
//     src_rows[0]  a0 a1 a2 ..
//     src_rows[1]  b0 b1 b2 ..   -->   stage  a0 b0 c0   -->   dst_rows[0] + ..  a0 b0 c0
//     src_rows[2]  c0 c1 c2 ..         stage  a1 b1 c1   -->   dst_rows[1] + ..  a1 b1 c1
//
// A line in which one panel ends and the next begins belongs to the first: it reads what it needs of the next one's rows.
#pragma once

#include <type_traits>

#include "kernels/contract.hpp"
#include "kernels/transpose.hpp"

namespace dnnmove {
namespace {

// `group` rows of the destination, one panel wide: their pieces lie one after the other in each row of the source.
template <int group, class Move>
[[gnu::always_inline]] inline void collect(const std::byte* src, const std::int64_t* src_rows, std::byte* const* to,
                                           std::int64_t rows, std::int64_t bytes, RowsAhead ahead, bool prefetch,
                                           const Move& move_one) {
    for (std::int64_t j = 0; j < rows; ++j) {
        if (prefetch) prefetch_run(ahead.src + ahead.rows[j], group * bytes);
        const std::byte* from = src + src_rows[j];
        for (int k = 0; k < group; ++k) move_one(from + k * bytes, to[k] + j * bytes);
    }
}

template <class Simd, class Move>
struct RowPanel {
    std::int64_t bytes;
    KernelStores stores;
    Move move_one;

    // Rows [i, rows_out), as many groups as there are; returns the first row that is left.
    template <int group>
    std::int64_t cover(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                       std::int64_t i, std::int64_t rows_out, std::int64_t rows_in, std::int64_t owned, bool first,
                       RowsAhead ahead) const {
        alignas(64) std::byte stage[group][(group == 1 ? kMaxRowPanelBytes : kMaxShortRows * kLine) + kLine];
        std::byte* to[group];
        for (; i + group <= rows_out; i += group) {
            const std::int64_t at = i * bytes;
            for (int k = 0; k < group; ++k) {
                std::byte* row = dst + dst_rows[i + k];
                // The lines of the stage are those of the destination.
                to[k] = stores.nontemporal ? stage[k] + ((kLine - to_line(row)) & (kLine - 1)) : row;
            }
            const std::int64_t rows = stores.nontemporal ? rows_in : owned;
            collect<group>(src + at, src_rows, to, rows, bytes, {ahead.src + at, ahead.rows}, stores.prefetch, move_one);
            if (!stores.nontemporal) continue;
            for (int k = 0; k < group; ++k) {
                stream_panel<Simd>(to[k], 0, dst, dst_rows + i + k, 1, rows_in * bytes, owned * bytes, first, true);
            }
        }
        return i;
    }
};

template <class Simd>
void transpose_rows(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                    std::int64_t rows_out, std::int64_t rows_in, std::int64_t owned, bool first, std::int64_t bytes,
                    KernelStores stores, RowsAhead ahead) noexcept {
    // Short rows in groups: about two lines of every source row at a time.
    const auto by = [&]<int group>(const auto& move_one) {
        const RowPanel<Simd, std::decay_t<decltype(move_one)>> panel{bytes, stores, move_one};
        const std::int64_t left = panel.template cover<group>(src, src_rows, dst, dst_rows, 0, rows_out, rows_in, owned, first,
                                                              ahead);
        if constexpr (group > 1)
            panel.template cover<1>(src, src_rows, dst, dst_rows, left, rows_out, rows_in, owned, first, ahead);
    };
    const std::int64_t last = bytes - kLine;
    if (bytes == 32) return by.template operator()<4>([](const std::byte* from, std::byte* to) { move<32>(from, to); });
    if (bytes == kLine)
        return by.template operator()<2>([](const std::byte* from, std::byte* to) { move_line<Simd>(from, to); });
    if (bytes < 32)
        return by.template operator()<4>([=](const std::byte* from, std::byte* to) { move_overlapping<16>(from, to, bytes); });
    if (bytes < kLine)
        return by.template operator()<2>([=](const std::byte* from, std::byte* to) { move_overlapping<32>(from, to, bytes); });
    if (bytes <= 2 * kLine) {
        return by.template operator()<1>([=](const std::byte* from, std::byte* to) {
            move_line<Simd>(from, to);
            move_line<Simd>(from + last, to + last);
        });
    }
    by.template operator()<1>([=](const std::byte* from, std::byte* to) {
        for (std::int64_t k = 0; k < last; k += kLine) move_line<Simd>(from + k, to + k);
        move_line<Simd>(from + last, to + last);
    });
}

}  // namespace
}  // namespace dnnmove
