// What the strategies have in common that walk along rows of the destination: a inside a row, b around it.
#pragma once

#include "plan/lines.hpp"
#include "plan/strategy.hpp"

namespace dnnmove {

// Bytes of the destination that a unit makes where it reads and writes through the first-level cache.
inline constexpr std::int64_t kUnitBytes = 16 * 1024;

struct RowStrategy : Strategy {
    using Strategy::Strategy;

    Schedule schedule(const Problem& problem) final;

    WalkOrder order = WalkOrder::lines_once;
    std::shared_ptr<const SourceBlocks> source_blocks;  // what the walk asks for
    bool bands_of_a = false;  // as in Schedule

protected:
    // The tiles, and how they are stored.
    virtual StoreMode size(const Problem& problem) = 0;

    // The loop at `position` becomes b; where there is none (any position beyond them, such as 0 less 1), b has one step. Where
    // rows of `row` bytes are short and more loops continue the destination, b is the whole chain of them, so that a kernel call
    // is worth its while.
    void take_second_loop(const Problem& problem, std::size_t position, std::int64_t row = 0);
    // The power of two, at most a line, that divides the destination of every kernel call's rows.
    std::int64_t row_alignment(const Problem& problem) const;
    // Does every step of a read another line, which steps of b read again?
    bool strides_over_lines() const;
    // As much of a, and of b around it, as makes a unit of `unit` bytes, but of a chained b at least a period (less than
    // kUnitWorthBytes). A step of a makes `bytes` bytes, a tile of it is a multiple of `step`. `piece`: a unit must be
    // one piece of the destination.
    void size_inside_out(std::int64_t bytes, std::int64_t unit, std::int64_t step = 1, bool piece = false);
    // Likewise, such that lines of the source that are read again are still near.
    void size_near(const Problem& problem, std::int64_t bytes, std::int64_t unit, std::int64_t step, bool piece);
    bool fits_stage(std::int64_t most = kMaxUnitBytes) const { return a.tile * b.tile * unit_step <= most; }

    KernelLoop a_of(const Call& call) const { return {a.steps(call.unit.a_tile), a.src_stride, a.dst_stride}; }
    KernelLoop b_of(const Call& call) const {
        const std::int64_t steps = b.steps(call.unit.b_tile);
        // A single step has no stride: what a kernel prefetches behind it is the next unit.
        return {steps, steps == 1 ? call.next.src - call.unit.src : b.src_stride, b.dst_stride,
                src_rows.empty() ? nullptr : src_rows.data()};
    }
};

}  // namespace dnnmove
