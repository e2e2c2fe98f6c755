// Makes the kernel table of one vector type.
#pragma once

#include <utility>

#include "kernels/elements.hpp"
#include "kernels/entry.hpp"
#include "kernels/exchange_short.hpp"
#include "kernels/fill.hpp"
#include "kernels/gather_one_window.hpp"
#include "kernels/lines.hpp"
#include "kernels/record_vectors.hpp"
#include "kernels/repeat.hpp"
#include "kernels/rows.hpp"
#include "kernels/strips.hpp"
#include "kernels/transpose.hpp"
#include "kernels/transpose_batch.hpp"
#include "kernels/transpose_cells.hpp"
#include "kernels/transpose_rows.hpp"
#include "kernels/turn.hpp"
#include "kernels/weave_lanes.hpp"

namespace dnnmove {
namespace {

// `Lanes`: the vectors of kernels that work within lanes of 16 bytes, of which they have one or two.
template <class Simd, class Lanes>
constexpr Kernels make_table(Isa isa) {
    Kernels table{};
    table.isa = isa;
    table.vector_bytes = Simd::kBytes;
    table.copy_rows = entry<copy_rows<Simd>>;
    table.copy_strips = entry<copy_strips<Simd>>;
    table.copy_runs = entry<copy_runs>;
    table.are_indices[index_width(4)] = entry<are_indices<std::int32_t>>;
    table.are_indices[index_width(8)] = entry<are_indices<std::int64_t>>;
    table.find_places[index_width(4)] = entry<find_places<std::int32_t>>;
    table.find_places[index_width(8)] = entry<find_places<std::int64_t>>;
    table.turn_runs = entry<turn_runs<Simd>>;
    table.fill = entry<fill<Simd>>;
    table.repeat = entry<repeat<Simd>>;
    const auto by_width = [&]<int... log2>(std::integer_sequence<int, log2...>) {
        ((table.copy_elements[log2] = entry<copy_elements<1 << log2>>), ...);
        ((table.transpose[log2] = entry<transpose<Simd, 1 << log2>>), ...);
        ((table.transpose_lines[log2] = entry<transpose_lines<Simd, 1 << log2>>), ...);
    };
    by_width(std::make_integer_sequence<int, 5>());
    const auto by_short_width = [&]<int... log2>(std::integer_sequence<int, log2...>) {
        ((table.transpose_batch[log2] = entry<transpose_batch<Lanes, 1 << log2>>), ...);
    };
    by_short_width(std::make_integer_sequence<int, 4>());
    table.transpose_cells = entry<transpose_cells<Simd>>;
    table.transpose_rows = entry<transpose_rows<Simd>>;
    table.gather = entry<gather_one_window>;
    table.gather_runs = entry<gather_runs_one_window>;
    table.gather_bytes = 16;
    table.gather_windows = 1;
    table.weave = entry<weave_lanes<Lanes>>;
    table.exchange = entry<exchange_short<Lanes>>;
    table.exchange_bytes = kShortExchange;
    if constexpr (Simd::kBytes == kLine) {
        table.split_records = entry<split_records<Simd>>;
        table.join_records = entry<join_records<Simd>>;
    }
    table.join_vectors = entry<join_vectors<LaneVectors<Lanes>>>;
    table.record_bytes = Lanes::kBytes;
    table.piece_bytes = LaneVectors<Lanes>::kWindow;
    table.stream = entry<stream<Simd>>;
    table.fence = fence<Simd>;
    return table;
}

}  // namespace
}  // namespace dnnmove
