// What all transposes have in common: one chain of loops is turned against another.
#pragma once

#include "plan/strategy.hpp"

namespace dnnmove {

// A chain of loops as one dimension, the innermost first: each goes on where those before it end.
struct Chain {
    std::vector<std::size_t> positions;
    std::int64_t length = 1;

    bool has(std::size_t position) const { return std::find(positions.begin(), positions.end(), position) != positions.end(); }
    void add(std::size_t position, const std::vector<Loop>& loops) {
        positions.push_back(position);
        length *= loops[position].extent;
    }
    // Ends it before `position`, which it has.
    void cut(std::size_t position, const std::vector<Loop>& loops);
};

// a: rows of the destination. b: rows of the source, contiguous in the destination.
struct ChainedTranspose : Strategy {
    using Strategy::Strategy;

    // Cycles per byte of a transpose of `columns` against `rows`.
    virtual double cycles(std::int64_t columns, std::int64_t rows, const Kernels& kernels) const = 0;
    double cost(const Problem& problem) const override { return cycles(a.extent, b.extent, problem.kernels()); }
    Schedule schedule(const Problem& problem) final;
    bool asks_ahead() const final { return true; }
    std::size_t memory() const override;

    std::vector<std::int64_t> dst_rows;  // offsets of a's steps: all of a chain's, else one tile's; src_rows likewise of b's
    bool a_chained = false;
    bool b_chained = false;

protected:
    // The loop at `inner` and those that continue it in the source become a, loops that are contiguous in the destination
    // b: as many of both as cost the least. A reversed `inner` is walked from its end. False where `inner` is the
    // innermost loop.
    bool take_chains(const Problem& problem, std::size_t inner);
    // The tiles, and how they are stored; src_rows and dst_rows have the rows of chains by then.
    virtual StoreMode size(const Problem& problem) = 0;
    // Of source rows that a call may read, or ask for, behind its tile.
    virtual std::int64_t rows_behind() const { return kLine; }
    // Of destination rows that the first tile may have besides its own.
    virtual std::int64_t columns_before() const { return 0; }

    // All distances between source rows, or-ed: a power of two that divides this divides each.
    std::int64_t pitches() const;
    // The offsets of the rows from a tile on, which starts at step `b_start`.
    const std::int64_t* src_rows_at(std::int64_t b_start) const { return src_rows.data() + (b_chained ? b_start : 0); }
    const std::int64_t* dst_rows_of(const Unit& unit) const { return dst_rows.data() + (a_chained ? unit.a_tile * a.tile : 0); }
    // A panel of source rows, as kernels that write the lines which start in it take it.
    struct Panel {
        const std::int64_t* src_rows;
        const std::int64_t* dst_rows;
        std::int64_t rows_out;
        std::int64_t readable;  // source rows, with those of the next panel that the last line needs
        std::int64_t owned;     // source rows
        bool first;
        RowsAhead ahead;
    };
    // `distance`: so many bytes ahead long rows are asked for; of short ones the next unit's.
    Panel panel_of(const Call& call, std::int64_t distance) const noexcept;

private:
    std::size_t columns_ = 0;  // loops of a: the first ones of `taken`
    bool reversed_ = false;
};

// Of more source rows than these the prefetches for all at once take much of the second-level cache, and their pages
// most of the first-level TLB.
inline constexpr std::int64_t kManyRows = 64;

// Source rows of the neighbour that a panel of lines reads, so that its last line is whole.
inline std::int64_t extra_rows(std::int64_t width) { return (kLine + width - 1) / width; }

}  // namespace dnnmove
