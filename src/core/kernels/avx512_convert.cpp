// The conversions for AVX-512, with VBMI or without.
#if defined(__x86_64__)
#include "kernels/convert.hpp"
#include "kernels/numbers_avx512.hpp"
#include "kernels/simd_avx512.hpp"
#include "kernels/tables.hpp"

namespace dnnmove {

const Conversions& avx512_conversions() {
    static constexpr Conversions table = make_conversions<Simd512, Numbers512>();
    return table;
}

}  // namespace dnnmove
#endif
