// The walk over a plan's kernel calls: loops around the kernel, and where in them a call is.
#include "plan/walk.hpp"

#include <functional>

namespace dnnmove {
namespace {

void sort_by(std::vector<OuterLoop>& loops, std::int64_t OuterLoop::* step) {
    std::stable_sort(loops.begin(), loops.end(),
                     [&](const OuterLoop& one, const OuterLoop& other) { return std::abs(one.*step) > std::abs(other.*step); });
}

}  // namespace

Walk make_walk(const Problem& problem, const Strategy& strategy, const Schedule& schedule) {
    const WalkOrder order = schedule.order;
    Walk walk;
    walk.src_offset = schedule.src_shift;
    walk.dst_offset = schedule.dst_shift;
    walk.blocks = schedule.blocks;
    std::vector<OuterLoop>& loops = walk.loops;
    loops.reserve(problem.loops.size() + 2);
    for (std::size_t k = 0; k < problem.loops.size(); ++k) {
        const Loop& loop = problem.loops[k];
        const bool along = schedule.blocks != nullptr && k == schedule.blocks->loop;
        const OuterLoop::Role role = along ? OuterLoop::Role::along_rows : OuterLoop::Role::plain;
        if (!strategy.takes(k)) loops.push_back({loop.extent, loop.src_stride, loop.dst_stride, loop.table, role});
    }
    if (order == WalkOrder::by_source) sort_by(loops, &OuterLoop::src_step);
    std::vector<OuterLoop> inner;  // of a block: they go inside the walk over tiles of b
    if (order == WalkOrder::by_blocks) {
        const auto outside = [&](const OuterLoop& loop) { return loop.src_step >= strategy.b.src_stride; };
        const auto first = std::stable_partition(loops.begin(), loops.end(), outside);
        inner.assign(first, loops.end());
        loops.erase(first, loops.end());
        sort_by(inner, &OuterLoop::src_step);
    }
    const auto add = [&](const TiledLoop& loop, std::int64_t tiles, OuterLoop::Role role) {
        if (tiles > 1) loops.push_back({tiles, loop.src_step(), loop.dst_step(), nullptr, role});
    };
    const auto add_a = [&] { add(strategy.a, strategy.a.tiles(), OuterLoop::Role::tile_a); };
    const auto add_b = [&] { add(strategy.b, strategy.b_tiles(), OuterLoop::Role::tile_b); };
    const bool lines_once = order == WalkOrder::lines_once;
    const bool b_inside = lines_once && strategy.stays_in_lines(strategy.b.src_stride);
    if (order == WalkOrder::a_outside) add_a();
    if (!b_inside) add_b();
    if (order != WalkOrder::a_outside) add_a();
    const auto inside = [&](const OuterLoop& loop) {
        return loop.role == OuterLoop::Role::plain && !loop.table && strategy.stays_in_lines(loop.src_step);
    };
    if (lines_once && strategy.a.tiles() > 1) {
        const auto first = std::stable_partition(loops.begin(), loops.end(), std::not_fn(inside));
        walk.rereading = static_cast<std::size_t>(loops.end() - first);
    }
    if (b_inside && strategy.b_tiles() > 1) {
        add_b();
        ++walk.rereading;
        // Tiles of a write the same rows of the destination, those of b others.
        if (schedule.stores == StoreMode::cached && strategy.a.tiles() > 1) {
            walk.sharing.band_units = strategy.b_tiles();
            walk.sharing.banded_steps = strategy.a.tiles();
        }
    }
    if (schedule.bands_of_a && !loops.empty() && loops.back().role == OuterLoop::Role::tile_a)
        walk.sharing.band_units = strategy.a.tiles();
    for (const OuterLoop& loop : inner) {
        walk.sharing.block_units *= loop.extent;
        walk.rereading += loop.src_step == 0 ? 1 : 0;
        loops.push_back(loop);
    }
    if (schedule.rows_together) walk.sharing.row_units = strategy.b_tiles();
    if (order == WalkOrder::by_destination) sort_by(loops, &OuterLoop::dst_step);
    for (const OuterLoop& loop : loops) walk.sharing.units *= loop.extent;
    if (schedule.blocks != nullptr) {
        const auto along = [](const OuterLoop& loop) { return loop.role == OuterLoop::Role::along_rows; };
        walk.along_rows = static_cast<std::size_t>(std::find_if(loops.begin(), loops.end(), along) - loops.begin());
    }
    return walk;
}

}  // namespace dnnmove
