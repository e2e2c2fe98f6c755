// The instruction sets that kernels are compiled for, and which of them this process may use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dnnmove {

// In order of preference, worst first.
enum class Isa { scalar, avx2, avx512, avx512_vbmi };

std::string_view to_string(Isa isa);
// What the engine is called beside other implementations, as "native:avx512".
std::string native_name(Isa isa);
// Compiled in and supported by this CPU, best first; never empty: scalar is always there.
std::vector<Isa> available_isas();
// The best of available_isas() that does not exceed the environment variable DNNMOVE_ISA, which is
// read once. An unknown value throws ValueError that lists the names.
Isa best_isa();

}  // namespace dnnmove
