// The kernels for every machine: 16-byte vectors.
#include "kernels/exchange_short.hpp"
#include "kernels/gather_one_window.hpp"
#include "kernels/simd_portable.hpp"
#include "kernels/table.hpp"
#include "kernels/tables.hpp"
#include "kernels/transpose_batch.hpp"
#include "kernels/transpose_cells.hpp"
#include "kernels/weave_lanes.hpp"

namespace dnnmove {

const Kernels& portable_kernels() {
    static constexpr Kernels table = [] {
        Kernels kernels = make_table<Simd128>(Isa::scalar);
        kernels.exchange = entry<exchange_short<Simd128>>;
        kernels.exchange_bytes = kShortExchange;
        kernels.gather = entry<gather_one_window>;
        kernels.gather_bytes = 16;
        kernels.gather_windows = 1;
        kernels.transpose_cells = entry<transpose_cells<Simd128>>;
        kernels.weave = entry<weave_lanes<Simd128>>;
        kernels.weave_bytes = 16;
        kernels.transpose_batch[0] = entry<transpose_batch<Simd128, 1>>;
        kernels.transpose_batch[1] = entry<transpose_batch<Simd128, 2>>;
        kernels.transpose_batch[2] = entry<transpose_batch<Simd128, 4>>;
        kernels.transpose_batch[3] = entry<transpose_batch<Simd128, 8>>;
        return kernels;
    }();
    return table;
}

}  // namespace dnnmove
