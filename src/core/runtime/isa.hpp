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
// Compiled in and supported by this CPU, best first. Scalar is what every machine has: SSE4.1 on x86-64, NEON on aarch64.
std::vector<Isa> available_isas();
// The best of available_isas() that does not exceed the environment variable DNNMOVE_ISA, which is
// read once. An unknown value throws ValueError that lists the names; a processor without any of them, runtime_error.
Isa best_isa();

}  // namespace dnnmove
