// What the strategies have in common that walk along rows of the destination: a inside a row, b around it.
#include "plan/row_strategy.hpp"

namespace dnnmove {

void RowStrategy::take_second_loop(const Problem& problem, std::size_t position, std::int64_t row) {
    const std::vector<Loop>& loops = problem.loops;
    if (position >= loops.size() || loops[position].table) return;
    b = TiledLoop::covering(loops[position]);
    std::vector<std::size_t> chain{position};
    std::int64_t length = loops[position].extent;
    if (row > 0 && continues(loops[position], row)) {
        while (position > 0 && row * length < kUnitWorthBytes && continues(loops[position - 1], row * length)) {
            chain.push_back(--position);
            length *= loops[position].extent;
        }
    }
    if (chain.size() > 1) {
        b = {length, length, 0, row, false, length / loops[position].extent, loops[position].src_stride};
        src_rows = row_offsets({chain.begin(), chain.end() - 1}, loops, &Loop::src_stride);
    }
    taken.insert(taken.end(), chain.begin(), chain.end());
}

Schedule RowStrategy::schedule(const Problem& problem) {
    const StoreMode stores = size(problem);
    // The offsets of a chained b are those of one tile.
    const auto period = static_cast<std::size_t>(b.period);
    for (std::size_t j = period; !src_rows.empty() && j < static_cast<std::size_t>(b.tile); ++j) {
        src_rows.push_back(src_rows[j - period] + b.period_stride);
    }
    return {stores, order, 0, 0, source_blocks, bands_of_a};
}

std::int64_t RowStrategy::row_alignment(const Problem& problem) const {
    std::int64_t bits = problem.context.dst_alignment | problem.context.dst_offset;
    if (b.extent > 1) bits |= b.dst_stride;
    for (std::size_t k = 0; k < problem.loops.size(); ++k) {
        if (!takes(k)) bits |= problem.loops[k].table ? 1 : problem.loops[k].dst_stride;
    }
    return line_part(bits);
}

bool RowStrategy::strides_over_lines() const {
    return std::abs(a.src_stride) >= kLine && b.src_stride != 0 && std::abs(b.src_stride) < kLine;
}

void RowStrategy::size_inside_out(std::int64_t bytes, std::int64_t unit, std::int64_t step, bool piece) {
    const std::int64_t row = a.extent * bytes;
    if (row > unit && b.period == 1) {
        a.tile = std::min(a.extent, steps_for(unit, bytes, step));
        b.tile = 1;
        return;
    }
    a.tile = a.extent;
    const bool dense = b.dst_stride == row;
    b.tile = piece && !dense ? 1 : std::min(b.extent, steps_for(unit, row, b.period));
}

void RowStrategy::size_near(const Problem& problem, std::int64_t bytes, std::int64_t unit, std::int64_t step, bool piece) {
    constexpr std::int64_t kMaxStridedRows = 64;  // source lines in use at once, all perhaps in few cache sets
    while (step * bytes % kLine != 0 && step * bytes < kMaxUnitBytes / 4) step *= 2;  // tiles that end with a line
    if (strides_over_lines()) {
        // Few steps of a at a time, so that b finds their lines in the cache.
        a.tile = std::min(a.extent, steps_for(std::min(kMaxStridedRows * bytes, kMaxUnitBytes / 2), bytes, step));
        b.tile = piece ? 1 : std::min(b.extent, steps_for(kUnitBytes, a.tile * bytes));
        return;
    }
    // Other loops that stay inside the lines which a reads find them in the first-level cache.
    bool again = stays_in_lines(b.src_stride);
    for (std::size_t k = 0; k < problem.loops.size(); ++k) {
        again = again || (!takes(k) && !problem.loops[k].table && stays_in_lines(problem.loops[k].src_stride));
    }
    if (again) unit = std::clamp<std::int64_t>(kUnitBytes / std::abs(a.src_stride) * bytes, 1024, unit);
    size_inside_out(bytes, unit, step, piece);
}

}  // namespace dnnmove
