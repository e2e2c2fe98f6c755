// Makes the kernel table of one vector type.
#pragma once

#include "kernels/by_reference.hpp"
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
    table.copy_rows = by_reference<copy_rows<Simd>>;
    table.copy_strips = by_reference<copy_strips<Simd>>;
    table.copy_runs = by_reference<copy_runs<Simd>>;
    table.are_indices = are_indices<Simd>;
    table.find_places = find_places<Simd>;
    table.copy_elements[0] = copy_elements<1>;
    table.copy_elements[1] = copy_elements<2>;
    table.copy_elements[2] = copy_elements<4>;
    table.copy_elements[3] = copy_elements<8>;
    table.copy_elements[4] = copy_elements<16>;
    table.turn_runs = by_reference<turn_runs<Simd>>;
    table.fill = by_reference<fill<Simd>>;
    table.repeat = repeat<Simd>;
    table.transpose[0] = transpose<Simd, 1>;
    table.transpose[1] = transpose<Simd, 2>;
    table.transpose[2] = transpose<Simd, 4>;
    table.transpose[3] = transpose<Simd, 8>;
    table.transpose[4] = transpose<Simd, 16>;
    table.transpose_lines[0] = transpose_lines<Simd, 1>;
    table.transpose_lines[1] = transpose_lines<Simd, 2>;
    table.transpose_lines[2] = transpose_lines<Simd, 4>;
    table.transpose_lines[3] = transpose_lines<Simd, 8>;
    table.transpose_lines[4] = transpose_lines<Simd, 16>;
    table.transpose_rows = transpose_rows<Simd>;
    if constexpr (Simd::kBytes == kLine) {
        table.split_records = split_records<Simd>;
        table.join_records = join_records<Simd>;
    }
    table.stream = stream<Simd>;
    table.fence = fence<Simd>;
    return table;
}

}  // namespace
}  // namespace dnnmove
