// The kernels for AVX2.
#if defined(__x86_64__)
#include "kernels/simd_avx2.hpp"
#include "kernels/table.hpp"
#include "kernels/tables.hpp"

namespace dnnmove {

const Kernels& avx2_kernels() {
    static constexpr Kernels table = make_table<Simd256, Simd256>(Isa::avx2);
    return table;
}

}  // namespace dnnmove
#endif
