// Which of them runs this program.
#include "plan/processor.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dnnmove {
namespace {

#if defined(__x86_64__)
// AMD's from family 1Ah on, whose enhanced string instructions no hypervisor hides.
bool has_strings() {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    if (!__builtin_cpu_is("amd") || __get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return false;
    const unsigned base = eax >> 8 & 0xf;
    const unsigned family = base == 0xf ? base + (eax >> 20 & 0xff) : base;
    constexpr unsigned kEnhanced = 1U << 9;  // ERMS
    return family >= 0x1a && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & kEnhanced) != 0;
}

const Processor& find() {
    if (__builtin_cpu_is("intel")) return kFewStreams;
    if (has_strings()) return kStrings;
    if (!__builtin_cpu_is("amd")) return kManyStreams;
    return __builtin_cpu_supports("avx512f") ? kSmallCaches : kFewOpenLines;
}
#else
const Processor& find() { return kManyStreams; }
#endif

}  // namespace

const Processor& this_processor() {
    static const Processor& found = find();
    return found;
}

}  // namespace dnnmove
