// What all transposes have in common: one chain of loops is turned against another.
#include "plan/chains.hpp"

#include <limits>

namespace dnnmove {

void Chain::cut(std::size_t position, const std::vector<Loop>& loops) {
    bool all = false;
    while (!all) {
        all = positions.back() == position;
        length /= loops[positions.back()].extent;
        positions.pop_back();
    }
}

namespace {

// A longer run gains nothing. Of elements that are rows of a line and more, which panels of rows alone take, so many make one:
// as many streams as are read side by side. (Zen 5, rows of 64 to 1028 bytes, 35 to 90 MB: 1.06 to
// 5 times as fast as by runs of 512 bytes; of 56 bytes 0.8 to 1.4, as fast as the machine's memory is at that moment.)
constexpr std::int64_t kLongRunBytes = 512;
constexpr std::int64_t kLongRunRows = 16;

std::int64_t long_run(std::int64_t itemsize) { return itemsize < kLine ? kLongRunBytes : kLongRunRows * itemsize; }

// A chain's offset table may be this long: about an eighth of what is copied.
std::int64_t max_table_rows(const Problem& problem) { return std::clamp<std::int64_t>(problem.bytes() / 64, 256, 1 << 16); }

// The loop at `inner` and those that continue it in the source, until the run is long.
Chain source_chain(const Problem& problem, std::size_t inner, std::int64_t most_rows) {
    const std::vector<Loop>& loops = problem.loops;
    Chain a;
    a.add(inner, loops);
    const std::int64_t step = loops[inner].src_stride;
    while (step > 0 && a.length * step < long_run(problem.itemsize)) {
        const std::size_t position = problem.source_loop(a.length * step);
        if (position == loops.size() || a.length * loops[position].extent > most_rows) break;
        a.add(position, loops);
    }
    return a;
}

std::vector<std::int64_t> multiples(std::int64_t stride, std::int64_t count) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(count));
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<std::int64_t>(k) * stride;
    return all;
}

}  // namespace

bool ChainedTranspose::take_chains(const Problem& problem, std::size_t inner) {
    const std::vector<Loop>& loops = problem.loops;
    const std::int64_t most_rows = max_table_rows(problem);
    const std::int64_t step = loops[inner].src_stride;
    Chain run_a = source_chain(problem, inner, most_rows);
    Chain run_b;
    Chain columns;
    Chain rows;
    double least = std::numeric_limits<double>::infinity();
    const auto consider = [&](Chain one, Chain other) {
        std::vector<std::size_t> both = one.positions;
        both.insert(both.end(), other.positions.begin(), other.positions.end());
        const double cycles_of_both = cycles(one.length, other.length, problem.kernels()) + cost_of_calls(both, problem);
        if (cycles_of_both > least) return;
        least = cycles_of_both;
        taken = std::move(both);
        columns = std::move(one);
        rows = std::move(other);
    };
    // Destination-contiguous loops, until the run is long or reaches the source's innermost loop. One that
    // continues the source, too, ends that run here: is it the better one without?
    for (std::size_t position = loops.size(); position-- > 0;) {
        const Loop& loop = loops[position];
        if (position == inner || !continues(loop, run_b.length * itemsize)) break;
        if (run_b.length * itemsize >= long_run(itemsize) || (run_b.length > 1 && run_b.length * loop.extent > most_rows))
            break;
        if (run_a.has(position)) {
            if (!run_b.positions.empty()) consider(run_a, run_b);
            run_a.cut(position, loops);
        }
        run_b.add(position, loops);
    }
    if (run_b.positions.empty()) return false;
    consider(std::move(run_a), std::move(run_b));
    columns_ = columns.positions.size();
    reversed_ = step < 0;
    a_chained = columns_ > 1;
    b_chained = rows.positions.size() > 1;
    a = {columns.length, columns.length, std::abs(step), a_chained ? 0 : loops[inner].dst_stride};
    b = {rows.length, rows.length, b_chained ? 0 : loops[rows.positions[0]].src_stride, itemsize};
    if (reversed_) a.dst_stride = -a.dst_stride;
    return true;
}

Schedule ChainedTranspose::schedule(const Problem& problem) {
    const auto rows = taken.begin() + static_cast<std::ptrdiff_t>(columns_);
    if (a_chained) dst_rows = row_offsets({taken.begin(), rows}, problem.loops, &Loop::dst_stride);
    if (b_chained) src_rows = row_offsets({rows, taken.end()}, problem.loops, &Loop::src_stride);
    const StoreMode stores = size(problem);
    // Tiles of b outside sweep along rows of the source. But what stays in the caches is divided among the threads by
    // rows of the destination: its lines are then where they were written before, and where the next operation reads them.
    Schedule result{stores, stores == StoreMode::cached ? WalkOrder::a_outside : WalkOrder::b_outside};
    result.rows_together = stores == StoreMode::cached;
    if (reversed_) {
        result.src_shift = (1 - a.extent) * a.src_stride;
        result.dst_shift = (1 - a.extent) * a.dst_stride;
    }
    if (!a_chained) dst_rows = multiples(a.dst_stride, a.tile + columns_before());
    if (!b_chained) src_rows = multiples(b.src_stride, b.tile + rows_behind());
    // A short last tile's rows are prefetched in as many steps as a whole tile's.
    if (b_chained) src_rows.resize(src_rows.size() + static_cast<std::size_t>(b.tile + kLine));
    return result;
}

std::size_t ChainedTranspose::memory() const { return Strategy::memory() + heap_bytes(dst_rows); }

std::int64_t ChainedTranspose::pitches() const {
    std::int64_t bits = b_chained ? 0 : b.src_stride;
    for (const std::int64_t offset : src_rows) bits |= offset;
    return bits;
}

ChainedTranspose::Panel ChainedTranspose::panel_of(const Call& call, std::int64_t distance) const noexcept {
    const Unit& unit = call.unit;
    const std::int64_t owned = b.steps(unit.b_tile);
    const std::int64_t left = b.extent - unit.b_tile * b.tile;
    const bool more = call.mode == StoreMode::nontemporal;
    Panel panel{src_rows_at(unit.b_tile * b.tile),
                dst_rows_of(unit),
                a.steps(unit.a_tile),
                more ? std::min(left, b.tile + extra_rows(itemsize)) : owned,
                owned,
                unit.b_tile == 0,
                {call.src() + distance, nullptr}};
    panel.ahead.rows = panel.src_rows;
    if (panel.rows_out * a.src_stride <= 2 * distance) {
        panel.ahead = {call.base + call.next.src, src_rows_at(call.next.b_tile * b.tile)};
    }
    return panel;
}

}  // namespace dnnmove
