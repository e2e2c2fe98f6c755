// The kernels for AVX-512 without VBMI: those that work within lanes of 16 bytes take AVX2's vectors.
#if defined(__x86_64__)
#include "kernels/simd_avx2.hpp"
#include "kernels/simd_avx512.hpp"
#include "kernels/table.hpp"
#include "kernels/tables.hpp"

namespace dnnmove {

const Kernels& avx512_kernels() {
    static constexpr Kernels table = make_table<Simd512, Simd256>(Isa::avx512);
    return table;
}

}  // namespace dnnmove
#endif
