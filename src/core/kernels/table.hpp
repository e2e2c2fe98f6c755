// Makes the kernel table of one vector type.
#pragma once

#include "kernels/entry.hpp"
#include "kernels/elements.hpp"
#include "kernels/fill.hpp"
#include "kernels/lines.hpp"
#include "kernels/repeat.hpp"
#include "kernels/rows.hpp"
#include "kernels/strips.hpp"
#include "kernels/transpose.hpp"
#include "kernels/transpose_rows.hpp"
#include "kernels/turn.hpp"

namespace dnnmove {
namespace {

template <class Simd>
constexpr Kernels make_table(Isa isa) {
    Kernels table{};
    table.isa = isa;
    table.vector_bytes = Simd::kBytes;
    table.copy_rows = entry<copy_rows<Simd>>;
    table.copy_strips = entry<copy_strips<Simd>>;
    table.copy_runs = entry<copy_runs<Simd>>;
    table.are_indices = entry<are_indices<Simd>>;
    table.find_places = entry<find_places<Simd>>;
    table.copy_elements[0] = entry<copy_elements<1>>;
    table.copy_elements[1] = entry<copy_elements<2>>;
    table.copy_elements[2] = entry<copy_elements<4>>;
    table.copy_elements[3] = entry<copy_elements<8>>;
    table.copy_elements[4] = entry<copy_elements<16>>;
    table.turn_runs = entry<turn_runs<Simd>>;
    table.fill = entry<fill<Simd>>;
    table.repeat = entry<repeat<Simd>>;
    table.transpose[0] = entry<transpose<Simd, 1>>;
    table.transpose[1] = entry<transpose<Simd, 2>>;
    table.transpose[2] = entry<transpose<Simd, 4>>;
    table.transpose[3] = entry<transpose<Simd, 8>>;
    table.transpose[4] = entry<transpose<Simd, 16>>;
    table.transpose_lines[0] = entry<transpose_lines<Simd, 1>>;
    table.transpose_lines[1] = entry<transpose_lines<Simd, 2>>;
    table.transpose_lines[2] = entry<transpose_lines<Simd, 4>>;
    table.transpose_lines[3] = entry<transpose_lines<Simd, 8>>;
    table.transpose_lines[4] = entry<transpose_lines<Simd, 16>>;
    table.transpose_rows = entry<transpose_rows<Simd>>;
    if constexpr (Simd::kBytes == kLine) {
        table.split_records = entry<split_records<Simd>>;
        table.join_records = entry<join_records<Simd>>;
    }
    table.stream = entry<stream<Simd>>;
    table.fence = fence<Simd>;
    return table;
}

}  // namespace
}  // namespace dnnmove
