// A copy nest: nested loops with a source and a destination stride each, the planner's input.
#include "plan/nest.hpp"

namespace dnnmove {

Nest make_nest(const View& src, const Dims& dst_strides, std::int64_t dst_offset) {
    Nest nest;
    nest.src_offset = src.offset;
    nest.dst_offset = dst_offset;
    nest.itemsize = src.itemsize;
    for (std::size_t axis = 0; axis < src.ndim(); ++axis) {
        std::int64_t dst_stride = dst_strides[axis];
        const auto& digits = src.axes[axis].digits;
        for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
            nest.loops.push_back(Loop{digit->length, digit->stride, dst_stride, nullptr});
            dst_stride *= digit->length;
        }
    }
    return nest;
}

}  // namespace dnnmove
