// What transposes by tiles in registers take, for each strategy that has one among its kernels.
#pragma once

#include <cstdint>

#include "kernels/contract.hpp"

namespace dnnmove {

// Cycles per byte of a transpose of `columns` against `rows` (kernels/transpose.hpp).
double tile_cycles(std::int64_t columns, std::int64_t rows, std::int64_t itemsize, const Kernels& kernels);

}  // namespace dnnmove
