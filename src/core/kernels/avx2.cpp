// The kernels for AVX2.
#if defined(__x86_64__)
#include "kernels/exchange_pairs.hpp"
#include "kernels/gather_one_window.hpp"
#include "kernels/simd_avx2.hpp"
#include "kernels/table.hpp"
#include "kernels/tables.hpp"
#include "kernels/transpose_cells.hpp"

namespace dnnmove {

const Kernels& avx2_kernels() {
    static constexpr Kernels table = [] {
        Kernels kernels = make_table<Simd256>(Isa::avx2);
        kernels.gather_bytes = 16;
        kernels.transpose_cells = transpose_cells<Simd256>;
        kernels.gather_windows = 1;
        kernels.gather = by_reference<gather_one_window>;
        kernels.exchange = exchange_pairs;
        kernels.exchange_bytes = kShortExchange;
        return kernels;
    }();
    return table;
}

}  // namespace dnnmove
#endif
