// A copy nest: nested loops with a source and a destination stride each, the planner's input.
#include "plan/nest.hpp"

#include <algorithm>
#include <cstdlib>

namespace dnnmove {

std::int64_t bytes_read(const Nest& nest) {
    struct Walk {
        std::int64_t stride;  // bytes, positive
        std::int64_t extent;
    };
    std::vector<Walk> walks;
    std::int64_t tabled = 1;  // steps of loops that no stride describes: taken as apart
    for (const Loop& loop : nest.loops) {
        if (loop.extent == 0) return 0;
        if (loop.table) {
            tabled *= loop.extent;
        } else if (loop.src_stride != 0) {
            walks.push_back({std::abs(loop.src_stride), loop.extent});
        }
    }
    std::sort(walks.begin(), walks.end(), [](const Walk& a, const Walk& b) { return a.stride < b.stride; });
    std::int64_t bytes = nest.itemsize;
    std::int64_t span = nest.itemsize;  // from the first byte to the last
    for (std::size_t k = 0; k < walks.size();) {
        // Loops of one stride, as that over windows and that along a window, walk over the same steps.
        const std::int64_t stride = walks[k].stride;
        std::int64_t steps = 1;
        for (; k < walks.size() && walks[k].stride == stride; ++k) steps += walks[k].extent - 1;
        span += (steps - 1) * stride;
        bytes = std::min(bytes * steps, span);
    }
    return bytes * tabled;
}

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
            // Beyond 64 bits only where the array is empty, and nobody follows it.
            static_cast<void>(__builtin_mul_overflow(dst_stride, digit->length, &dst_stride));
        }
    }
    return nest;
}

}  // namespace dnnmove
