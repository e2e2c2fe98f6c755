// The instruction sets that kernels are compiled for, and which of them this process may use.
#include "runtime/isa.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdlib>
#include <stdexcept>

#include "runtime/error.hpp"

namespace dnnmove {
namespace {

constexpr Isa kAll[] = {Isa::avx512_vbmi, Isa::avx512, Isa::avx2, Isa::scalar};

#if defined(__x86_64__)
bool has_f16c() {
    unsigned int a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

// Asks for all that the options in CMakeLists.txt let a compiler use, since it may do so anywhere in such a file: what
// they name, and what GCC and clang take for granted with it. (The system's part in AVX is behind "avx" and "avx512f".)
bool supported(Isa isa) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (isa == Isa::scalar) return __builtin_cpu_supports("sse4.1");
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("avx") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("sse4.2") &&
                      has_f16c();
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("fma");
    if (isa == Isa::avx2) return avx2;
    if (isa == Isa::avx512) return avx512;
    return avx512 && __builtin_cpu_supports("avx512vbmi");
#else
    return isa == Isa::scalar;
#endif
}

Isa isa_cap() {
    const char* value = std::getenv("DNNMOVE_ISA");
    if (value == nullptr || *value == '\0') return kAll[0];
    std::string names;
    for (const Isa isa : kAll) {
        if (to_string(isa) == value) return isa;
        names += (names.empty() ? "" : ", ") + std::string(to_string(isa));
    }
    throw ValueError("DNNMOVE_ISA (" + std::string(value) + ") must be one of " + names);
}

}  // namespace

std::string_view to_string(Isa isa) {
    switch (isa) {
        case Isa::scalar: return "scalar";
        case Isa::avx2: return "avx2";
        case Isa::avx512: return "avx512";
        case Isa::avx512_vbmi: return "avx512_vbmi";
    }
    return "unknown";
}

std::string native_name(Isa isa) { return "native:" + std::string(to_string(isa)); }

std::vector<Isa> available_isas() {
    std::vector<Isa> isas;
    for (const Isa isa : kAll) {
        if (supported(isa)) isas.push_back(isa);
    }
    return isas;
}

Isa best_isa() {
    static const Isa best = [] {
        const Isa cap = isa_cap();
        for (const Isa isa : kAll) {
            if (isa <= cap && supported(isa)) return isa;
        }
        throw std::runtime_error("dnnmove needs a processor with SSE4.1, as oneDNN does; this one has none");
    }();
    return best;
}

}  // namespace dnnmove
