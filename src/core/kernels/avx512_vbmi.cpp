// The kernels for AVX-512 with VBMI: those of AVX-512, but for what permutes bytes of whole vectors.
#if defined(__x86_64__)
#include "kernels/entry.hpp"
#include "kernels/exchange.hpp"
#include "kernels/gather_choose.hpp"
#include "kernels/record_vectors_vbmi.hpp"
#include "kernels/simd_avx512.hpp"
#include "kernels/tables.hpp"
#include "kernels/transpose_packed.hpp"
#include "kernels/weave_lines.hpp"

namespace dnnmove {

const Kernels& avx512_vbmi_kernels() {
    static const Kernels table = [] {
        Kernels kernels = avx512_kernels();
        kernels.isa = Isa::avx512_vbmi;
        kernels.gather_bytes = 64;
        kernels.transpose_cells = entry<transpose_packed>;
        kernels.packs_cells = true;
        kernels.gather_windows = 2;
        kernels.gather = entry<gather_two_windows>;
        kernels.gather_runs = entry<gather_runs_two_windows>;
        kernels.weave_lines = entry<weave_lines>;
        kernels.join_vectors = entry<join_vectors<WholeVectors>>;
        kernels.split_vectors = entry<split_vectors>;
        kernels.record_bytes = kLine;
        kernels.piece_bytes = kLine;
        kernels.exchange = entry<exchange>;
        kernels.exchange_bytes = kLine;
        return kernels;
    }();
    return table;
}

}  // namespace dnnmove
#endif
