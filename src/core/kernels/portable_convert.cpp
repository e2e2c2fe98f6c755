// The conversions for every machine.
#include "kernels/convert.hpp"
#include "kernels/numbers_portable.hpp"
#include "kernels/simd_portable.hpp"
#include "kernels/tables.hpp"

namespace dnnmove {

const Conversions& portable_conversions() {
    static constexpr Conversions table = make_conversions<Simd128, Numbers128>();
    return table;
}

}  // namespace dnnmove
