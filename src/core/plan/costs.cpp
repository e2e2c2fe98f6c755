// What kernels cost, as the planner compares them: measured on Zen 5 by benchmarks/estimates.
#include "plan/costs.hpp"

namespace dnnmove {

// By instruction set, in the order of Isa.
constinit const std::array<Costs, 4> all_costs{{
    // scalar
    {.calls = 0.75,
     .weave = 1.3,
     .cells = 0.5,
     .transpose = {0.70, 0.40, 0.47, 0.46, 0.72},
     .run_element = 1.1,
     .odd_run_element = 1.4,
     .far_element = 1.0,
     .network = {},
     .shared_windows = 0,
     .few_steps = {0.8, 0.9},
     .even_steps = {1.0, 1.6},
     .mixed_steps = {1.0, 1.6},
     .many_steps = 3.0,
     .row_of_blocks = 35,
     .spare_line = 0.9},
    // avx2
    {.calls = 0.75,
     .weave = 0.9,
     .cells = 0.45,
     .transpose = {0.41, 0.40, 0.52, 0.60, 0.73},
     .run_element = 1.15,
     .odd_run_element = 1.4,
     .far_element = 1.0,
     .network = {},
     .shared_windows = 0,
     .few_steps = {0.8, 0.9},
     .even_steps = {1.0, 1.6},
     .mixed_steps = {1.0, 1.6},
     .many_steps = 3.0,
     .row_of_blocks = 35,
     .spare_line = 0.9},
    // avx512
    {.calls = 0.7,
     .weave = 0.9,
     .cells = 0.62,
     .transpose = {0.58, 0.66, 0.90, 1.10, 1.25},
     .run_element = 1.1,
     .odd_run_element = 1.4,
     .far_element = 1.0,
     .network = {},
     .shared_windows = 0,
     .few_steps = {0.8, 0.9},
     .even_steps = {1.0, 1.5},
     .mixed_steps = {1.0, 1.5},
     .many_steps = 3.0,
     .row_of_blocks = 35,
     .spare_line = 1.0},
    // avx512_vbmi
    {.calls = 0.7,
     .weave = 0.65,
     .cells = 0.47,
     .transpose = {0.64, 0.66, 0.90, 1.14, 1.37},
     .run_element = 1.1,
     .odd_run_element = 1.4,
     .far_element = 1.0,
     .network = {{{3.7, 1.8}, {2.8, 3.0}}},
     .shared_windows = 4.5,
     .few_steps = {1.2, 1.75},
     .even_steps = {1.2, 1.75},
     .mixed_steps = {4.0, 2.4},
     .many_steps = 3.1,
     .row_of_blocks = 10,
     .spare_line = 0.6},
}};

}  // namespace dnnmove
