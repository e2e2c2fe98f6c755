// Canonical form of a nest: the same copy with as few, as wide loops as possible.
#include "plan/canonical.hpp"

#include <algorithm>

namespace dnnmove {
namespace {

void drop_single_steps(Nest& nest) {
    std::vector<Loop> kept;
    kept.reserve(nest.loops.size());
    for (Loop& loop : nest.loops) {
        if (loop.extent != 1 || (loop.table && loop.table->pads())) {
            kept.push_back(std::move(loop));
        } else if (loop.table) {
            nest.src_offset += loop.table->src[0];
            nest.dst_offset += loop.table->dst[0];
        }
    }
    nest.loops = std::move(kept);
}

void turn_round(Nest& nest) {
    for (Loop& loop : nest.loops) {
        if (loop.table || loop.dst_stride >= 0) continue;
        nest.src_offset += (loop.extent - 1) * loop.src_stride;
        nest.dst_offset += (loop.extent - 1) * loop.dst_stride;
        loop.src_stride = -loop.src_stride;
        loop.dst_stride = -loop.dst_stride;
    }
}

void order_by_destination(Nest& nest) {
    std::stable_sort(nest.loops.begin(), nest.loops.end(), [](const Loop& a, const Loop& b) {
        if ((a.table != nullptr) != (b.table != nullptr)) return a.table != nullptr;
        if (a.table) return false;
        return a.dst_stride > b.dst_stride;
    });
}

void join_neighbours(Nest& nest) {
    std::vector<Loop> joined;
    joined.reserve(nest.loops.size());
    for (Loop& loop : nest.loops) {
        if (!joined.empty() && !joined.back().table && !loop.table &&
            joined.back().src_stride == loop.src_stride * loop.extent &&
            joined.back().dst_stride == loop.dst_stride * loop.extent) {
            loop.extent *= joined.back().extent;
            joined.back() = std::move(loop);
        } else {
            joined.push_back(std::move(loop));
        }
    }
    nest.loops = std::move(joined);
}

void fold_contiguous(Nest& nest) {
    if (nest.loops.empty() || nest.loops.back().table) return;
    const Loop& inner = nest.loops.back();
    if (inner.src_stride != nest.itemsize || inner.dst_stride != nest.itemsize) return;
    nest.itemsize *= inner.extent;
    nest.loops.pop_back();
}

}  // namespace

Nest canonical(Nest nest) {
    drop_single_steps(nest);
    turn_round(nest);
    order_by_destination(nest);
    join_neighbours(nest);
    fold_contiguous(nest);
    return nest;
}

}  // namespace dnnmove
