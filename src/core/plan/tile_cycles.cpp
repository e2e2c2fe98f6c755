// Counts the tiles, narrow tiles and short ones by which kernels/transpose.hpp covers what it transposes.
#include "plan/tile_cycles.hpp"

#include "plan/costs.hpp"
#include "plan/problem.hpp"

namespace dnnmove {
namespace {

// Cycles of the tiles that cover the rows below whole ones (kernels/transpose.hpp), a tile's columns of them.
double rest_of_rows(std::int64_t rows, std::int64_t itemsize, const Kernels& kernels, double inside_lanes) {
    const std::int64_t side = kernels.vector_bytes / itemsize;
    const std::int64_t per_lane = 16 / itemsize;
    // Fewer than a lane has go by way of a stage, which takes most where a register has few lanes.
    if (rows < per_lane) {
        return (static_cast<double>(per_lane) * (1.0 + inside_lanes) + 5.5 * static_cast<double>(side)) *
               (side == per_lane             ? 3.0
                : kernels.vector_bytes == 32 ? 1.8
                                             : 1.2);
    }
    double cycles = 0;
    for (std::int64_t left = rows % side; left > 0;) {
        std::int64_t tile = per_lane;
        while (tile < left && 2 * tile <= rows && tile < side) tile *= 2;
        cycles += static_cast<double>(tile) * (1.0 + inside_lanes) +
                  (kernels.vector_bytes == 64 ? 2.5 : 4.0) * static_cast<double>(side);
        left -= tile;
    }
    return cycles;
}

}  // namespace

double tile_cycles(std::int64_t columns, std::int64_t rows, std::int64_t itemsize, const Kernels& kernels) {
    const std::int64_t side = kernels.vector_bytes / itemsize;
    double per_vector = 2.5;  // cycles: load, lane stage, store
    double inside_lanes = 0;
    for (std::int64_t width = itemsize; width < 16; width *= 2) inside_lanes += 0.7;
    if (itemsize <= 2) per_vector += 1.5;  // a tile exceeds the registers
    // Few columns that are left take narrow tiles, a lane of every row each.
    const std::int64_t per_lane = 16 / itemsize;
    const std::int64_t left = columns % side;
    const bool masks = kernels.vector_bytes == 64;
    const bool by_lanes = side > per_lane && (left <= side / 2 || (!masks && columns < side));
    const std::int64_t narrow = by_lanes ? (left + per_lane - 1) / per_lane : 0;
    const std::int64_t whole = columns / side + (left != 0 && narrow == 0 ? 1 : 0);
    // Lanes that end inside a register take several loads where there are no masked ones.
    const double load_lane = left < per_lane && !masks ? 3.0 : 1.0;
    const double per_row_of_tiles = static_cast<double>(whole * side) * (per_vector + inside_lanes) +
                                    static_cast<double>(narrow) * (load_lane * static_cast<double>(side) +
                                                                   static_cast<double>(per_lane) * (1.5 + inside_lanes));
    const double whole_tile = static_cast<double>(side) * (per_vector + inside_lanes);
    return per_row_of_tiles *
           (static_cast<double>(rows / side) + rest_of_rows(rows, itemsize, kernels, inside_lanes) / whole_tile) /
           static_cast<double>(columns * rows * itemsize) * costs_of(kernels).transpose[log2_of(itemsize)];
}

}  // namespace dnnmove
