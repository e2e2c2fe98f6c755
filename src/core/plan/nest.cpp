// A copy nest: nested loops with a source and a destination stride each, the planner's input.
#include "plan/nest.hpp"

#include <algorithm>
#include <cstdlib>

namespace dnnmove {

std::int64_t bytes_read(const Nest& nest) {
    struct Direction {
        std::int64_t stride;  // bytes, positive
        std::int64_t extent;
    };
    std::vector<Direction> walks;
    std::int64_t tabled = 1;  // steps of loops that no stride describes: taken as apart
    for (const Loop& loop : nest.loops) {
        if (loop.extent == 0) return 0;
        if (loop.table) {
            tabled *= loop.extent;
        } else if (loop.src_stride != 0) {
            walks.push_back({std::abs(loop.src_stride), loop.extent});
        }
    }
    std::sort(walks.begin(), walks.end(), [](const Direction& a, const Direction& b) { return a.stride < b.stride; });
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

}  // namespace dnnmove
