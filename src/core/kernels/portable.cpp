// The kernels for every machine: 16-byte vectors.
#include "kernels/simd_portable.hpp"
#include "kernels/table.hpp"
#include "kernels/tables.hpp"

namespace dnnmove {

const Kernels& portable_kernels() {
    static constexpr Kernels table = make_table<Simd128, Simd128>(Isa::scalar);
    return table;
}

}  // namespace dnnmove
