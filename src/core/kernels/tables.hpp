// One function per compiled instruction set, each in a file of its own compiled for it.
#pragma once

#include "kernels/contract.hpp"

namespace dnnmove {

const Kernels& portable_kernels();
#if defined(__x86_64__)
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
const Kernels& avx512_vbmi_kernels();
#endif

}  // namespace dnnmove
