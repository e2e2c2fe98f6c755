// The kernel table of an instruction set.
#include "kernels/tables.hpp"

namespace dnnmove {

const Kernels& kernels_for(Isa isa) {
    switch (isa) {
#if defined(__x86_64__)
        case Isa::avx512_vbmi: return avx512_vbmi_kernels();
        case Isa::avx512: return avx512_kernels();
        case Isa::avx2: return avx2_kernels();
#endif
        default: return portable_kernels();
    }
}

}  // namespace dnnmove
