// What kernels cost, as the planner compares them: cycles with everything in the second-level cache.
#pragma once

#include <array>

#include "kernels/contract.hpp"

namespace dnnmove {

// Of one instruction set. Each strategy has a formula for how its cost depends on the extents (plan/strategies);
// these factors make cycles of it.
struct Costs {
    double weave;                     // factor, by lanes
    double weave_lines;               // factor, where there are such kernels
    double exchange;                  // factor
    std::array<double, 5> transpose;  // factor, of elements of 1, 2, 4, 8 and 16 bytes
    std::array<double, 4> cells;      // factor, of strided elements in cells of 2, 4, 8 and 16 bytes
    double batch;                     // factor, of batches of transposes
    std::array<double, 5> table;      // cycles, of an element by a table, of as many bytes
    double run_element;               // of a power of two of bytes, up to 16

    // Of gathers, in cycles.
    struct Gathers {
        // base + step * (steps per vector), of a vector.
        struct PerVector {
            double base;
            double step;
        };
        // Through networks of 2 and 3 rounds; out of windows that all vectors share, instead of steps; with all permutes in registers;
        // of vectors with as many steps each, up to four and more of them; of others, whose loops end where no branch predictor
        // expects it.
        std::array<PerVector, 2> network;
        PerVector shared_windows;
        PerVector in_registers;
        PerVector few_steps;
        PerVector even_steps;
        PerVector mixed_steps;
        double many_steps;  // each, where a vector has more than eight: they come from more lines than the cache has ways for
        double block;  // besides its vectors
        double row_of_blocks;
        double spare_line;  // each line of which a block takes little, so that many blocks read it
        double far;  // factor, beyond the caches
    };
    Gathers gather;
};

// Of what goes into a stage and out of it, per byte.
inline constexpr double kStagedByte = 0.04;

extern const std::array<Costs, 4> all_costs;

inline const Costs& costs_of(const Kernels& kernels) { return all_costs[static_cast<std::size_t>(kernels.isa)]; }

}  // namespace dnnmove
