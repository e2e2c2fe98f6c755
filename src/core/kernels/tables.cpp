// The kernel table of an instruction set.
#include "kernels/tables.hpp"

#include "kernels/checked.hpp"

namespace dnnmove {

namespace {

const Kernels& plain_kernels(Isa isa) {
    switch (isa) {
#if defined(__x86_64__)
        case Isa::avx512_vbmi: return avx512_vbmi_kernels();
        case Isa::avx512: return avx512_kernels();
        case Isa::avx2: return avx2_kernels();
#endif
        default: return portable_kernels();
    }
}

}  // namespace

const Kernels& kernels_for(Isa isa) {
#if defined(NDEBUG)
    return plain_kernels(isa);
#else
    return checked_kernels(plain_kernels(isa));
#endif
}

const Conversions& conversions_for(Isa isa) {
    switch (isa) {
#if defined(__x86_64__)
        case Isa::avx512_vbmi: return avx512_vbmi_conversions();
        case Isa::avx512: return avx512_conversions();
        case Isa::avx2: return avx2_conversions();
#endif
        default: return portable_conversions();
    }
}

}  // namespace dnnmove
