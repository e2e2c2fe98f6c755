// The addresses of a strided array as sums: base + stride_0 * x_0 + stride_1 * x_1 + ...
#pragma once

#include <cstdint>
#include <vector>

#include "array/overlap.hpp"

namespace dnnmove {

struct Term {
    std::int64_t stride;  // positive: bytes, or units of a period (disjoint.cpp)
    std::int64_t limit;   // of the factor: 0 <= x <= limit
};

// The terms of the bytes of `array`, counted from its lowest one. It must not be empty.
void append_terms(std::vector<Term>& terms, const Footprint& array);

// The fewest terms with the same sums, by descending strides: x * a + y * b with b = k * a reaches every multiple of
// a up to its end where k <= limit_a + 1, so that pair is one term.
std::vector<Term> merged(std::vector<Term> terms);

}  // namespace dnnmove
