// The kernels for AVX-512 without VBMI: the gather is AVX2's, since byte permutes across lanes need VBMI.
#if defined(__x86_64__)
#include "kernels/exchange_short.hpp"
#include "kernels/gather_one_window.hpp"
#include "kernels/simd_avx2.hpp"
#include "kernels/simd_avx512.hpp"
#include "kernels/table.hpp"
#include "kernels/tables.hpp"
#include "kernels/transpose_batch.hpp"
#include "kernels/transpose_cells.hpp"
#include "kernels/weave_lanes.hpp"

namespace dnnmove {

const Kernels& avx512_kernels() {
    static constexpr Kernels table = [] {
        Kernels kernels = make_table<Simd512>(Isa::avx512);
        kernels.gather_bytes = 16;
        kernels.transpose_cells = entry<transpose_cells<Simd512>>;
        kernels.gather_windows = 1;
        kernels.gather = entry<gather_one_window>;
        kernels.exchange = entry<exchange_short<Simd256>>;
        kernels.exchange_bytes = kShortExchange;
        kernels.weave = entry<weave_lanes<Simd256>>;
        kernels.weave_bytes = 16;
        kernels.transpose_batch[0] = entry<transpose_batch<Simd256, 1>>;
        kernels.transpose_batch[1] = entry<transpose_batch<Simd256, 2>>;
        kernels.transpose_batch[2] = entry<transpose_batch<Simd256, 4>>;
        kernels.transpose_batch[3] = entry<transpose_batch<Simd256, 8>>;
        return kernels;
    }();
    return table;
}

}  // namespace dnnmove
#endif
