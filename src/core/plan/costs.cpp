// What kernels cost, as the planner compares them: measured on Zen 5 by benchmarks/estimates; exchanges on Zen 4, and, by AVX2 and
// the portable kernels, tables and cells of 16 bytes, beside the others.
#include "plan/costs.hpp"

namespace dnnmove {

namespace {

// Of vectors of 16 bytes, each step of which picks bytes of one window.
constexpr Costs::Gathers kShortVectors{.network = {},
                                       .shared_windows = {},
                                       .in_registers = {},
                                       .few_steps = {1.1, 0.75},
                                       .even_steps = {1.1, 0.75},
                                       .mixed_steps = {1.1, 0.75},
                                       .many_steps = 3.0,
                                       .block = 0,
                                       .row_of_blocks = 40,
                                       .spare_line = 0.15,
                                       .far = 1.7};

// Of vectors of 64, each step of which picks bytes of two.
constexpr Costs::Gathers kTwoWindows{.network = {{{3.7, 1.8}, {2.8, 3.0}}},
                                     .shared_windows = {1.4, 0.45},
                                     .in_registers = {-0.6, 2.1},
                                     .few_steps = {1.2, 1.75},
                                     .even_steps = {1.2, 1.75},
                                     .mixed_steps = {4.0, 2.4},
                                     .many_steps = 3.1,
                                     .block = 1.2,
                                     .row_of_blocks = 10,
                                     .spare_line = 0.6,
                                     .far = 1.0};

}  // namespace

// By instruction set, in the order of Isa.
constinit const std::array<Costs, 4> all_costs{{
    // scalar
    {.weave = 1.0,
     .weave_lines = 1.0,
     .exchange = 1.2,
     .transpose = {0.27, 0.38, 0.56, 0.60, 0.78},
     .cells = {0.41, 0.39, 0.37, 0.75},
     .batch = 0.85,
     .table = {0.6, 0.62, 0.7, 0.95, 1.3},
     .run_element = 1.1,
     .gather = kShortVectors},
    // avx2
    {.weave = 0.65,
     .weave_lines = 1.0,
     .exchange = 1.0,
     .transpose = {0.34, 0.43, 0.62, 0.80, 0.88},
     .cells = {0.46, 0.51, 0.47, 0.75},
     .batch = 0.92,
     .table = {0.6, 0.65, 0.72, 0.87, 1.3},
     .run_element = 1.15,
     .gather = kShortVectors},
    // avx512
    {.weave = 0.65,
     .weave_lines = 1.0,
     .exchange = 1.0,
     .transpose = {0.58, 0.72, 1.00, 1.30, 1.55},
     .cells = {0.57, 0.52, 0.66, 1.08},
     .batch = 0.95,
     .table = {0.9, 0.9, 0.9, 0.9, 1.15},
     .run_element = 1.1,
     .gather = kShortVectors},
    // avx512_vbmi
    {.weave = 0.8,
     .weave_lines = 0.62,
     .exchange = 1.0,
     .transpose = {0.62, 0.66, 0.92, 1.28, 1.70},
     .cells = {0.43, 0.43, 0.44, 0.45},
     .batch = 1.0,
     .table = {0.9, 0.9, 0.9, 0.9, 1.15},
     .run_element = 1.1,
     .gather = kTwoWindows},
}};

}  // namespace dnnmove
