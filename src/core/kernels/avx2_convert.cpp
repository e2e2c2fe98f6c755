// The conversions for AVX2.
#if defined(__x86_64__)
#include "kernels/convert.hpp"
#include "kernels/numbers_avx2.hpp"
#include "kernels/simd_avx2.hpp"
#include "kernels/tables.hpp"

namespace dnnmove {

const Conversions& avx2_conversions() {
    static constexpr Conversions table = make_conversions<Simd256, Numbers256>();
    return table;
}

}  // namespace dnnmove
#endif
