// Two functions per compiled instruction set, each in a file of its own compiled for it.
#pragma once

#include "kernels/contract.hpp"

namespace dnnmove {

const Kernels& portable_kernels();
const Conversions& portable_conversions();
#if defined(__x86_64__)
const Kernels& avx2_kernels();
const Conversions& avx2_conversions();
const Kernels& avx512_kernels();
const Conversions& avx512_conversions();
const Kernels& avx512_vbmi_kernels();
const Conversions& avx512_vbmi_conversions();
#endif

}  // namespace dnnmove
