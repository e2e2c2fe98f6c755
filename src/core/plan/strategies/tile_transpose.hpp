// Tile transpose: elements of 1, 2, 4, 8 or 16 bytes without gaps, one chain of loops against another, in registers.
// tile_transpose_sizes.cpp has its tiles and its stores.
#pragma once

#include <string>
#include <vector>

#include "plan/chains.hpp"

namespace dnnmove {

struct TileTranspose final : ChainedTranspose {
    using ChainedTranspose::ChainedTranspose;

    bool match(const Problem& problem);
    double cycles(std::int64_t columns, std::int64_t rows, const Kernels& kernels) const override;
    double cost(const Problem& problem) const override;
    double worth_of_blocks(StoreMode stores, const WorthOfBlocks& worth) const override;
    std::int64_t b_tiles() const override { return b.tiles() + (shifts_to_lines ? 1 : 0); }
    void run(const Call& call) const noexcept override;
    void unstage(const Kernels& kernels, const std::byte* stage, std::byte* dst, std::int64_t bytes,
                 const std::byte* next) const noexcept override;
    std::size_t memory() const override { return ChainedTranspose::memory() + heap_bytes(block_lines); }
    StrategyWords describe() const override;

    // Lines of each source row in a block, where rows lie in few cache sets.
    static constexpr std::int64_t kBlockLines = 8;

    bool by_lines = false;  // each line of the destination is stored once, by way of a stage
    bool whole_lines = false;  // and its rows begin and end with lines
    // Where the source's rows lie in few sets of the caches, kBlockLines lines of each row of a tile are read, then the next;
    // meanwhile those of the next such block are asked for, row after row. The offsets of the lines of a part of it.
    std::vector<std::int64_t> block_lines;
    std::int64_t row_group = 0;  // staged: so many source rows per kernel call; 0: all of a tile
    // The destination's rows start inside a line, all at the same place: tiles are shifted so that
    // all but the first start with a line, and there may be one more.
    bool shifts_to_lines = false;
    // The source's rows start inside a line, all at the same place: tiles of columns but the first begin with lines, and that
    // one has also what comes before the first line.
    bool begins_with_lines = false;
    // Shorter vectors take a line of each source row at once (KernelStores).
    SourceLines source_lines = SourceLines::parts;
    // In the second-level cache, too, lines are asked for; but not where vectors are lines, of bytes and of 2 bytes, whose
    // tiles take longer over each. (Emerald Rapids, 30 KB to 1 MB: such tiles 0.77 to 0.92 times as fast if they are, of wider
    // elements 1.0 to 1.45, and where vectors lie in two lines 1.0 to 1.9.)
    bool claims_near = false;

protected:
    StoreMode size(const Problem& problem) override;
    std::int64_t rows_behind() const override { return by_lines ? kLine : 0; }
    std::int64_t columns_before() const override { return begins_with_lines ? kLine / itemsize : 0; }

private:
    // All distances between rows of the destination, or-ed; those of a chain once its table is there.
    std::int64_t row_phases(const Problem& problem) const {
        std::int64_t phases = a.dst_stride;
        for (const std::int64_t offset : dst_rows) phases |= offset;
        for (std::size_t k = 0; k < problem.loops.size(); ++k) {
            if (!takes(k)) phases |= problem.loops[k].table ? 1 : problem.loops[k].dst_stride;
        }
        return phases;
    }
    bool rows_begin_lines(const Problem& problem) const {
        return (row_phases(problem) | problem.context.dst_alignment | problem.context.dst_offset) % kLine == 0;
    }
    // What a kernel call covers: a tile, or columns of one.
    struct Tile {
        const std::byte* src;
        const std::int64_t* src_rows;
        std::byte* dst;
        const std::int64_t* dst_rows;
        std::int64_t columns;
        std::int64_t rows;
        KernelStores stores;  // of tiles
        RowsAhead ahead;
        const std::byte* next;  // the next unit's source
    };
    [[gnu::always_inline]] inline void run_tile(const Call& call, const Tile& tile) const noexcept;
    [[gnu::noinline]] void run_first(const Call& call, Tile tile, std::int64_t before) const noexcept;
    void run_blocks(const Call& call, const Tile& tile) const noexcept;
    // Do rows of the destination follow each other?
    bool dense_rows() const { return !a_chained && a.dst_stride == b.extent * itemsize; }
    // Bytes between the first two rows of the source.
    std::int64_t first_pitch() const { return std::abs(b_chained ? src_rows[1] - src_rows[0] : b.src_stride); }
    // Do tiles of short rows collect in the stage?
    bool stages_rows(const Problem& problem) const;

    // What sizes depend on, found out once.
    struct Sizing {
        const Problem& problem;
        const PlanContext& context;
        std::int64_t itemsize;  // bytes
        std::int64_t side;  // elements of a vector
        std::int64_t row;  // bytes of a destination row
        std::int64_t asked;  // bytes of a panel, where a measurement has found them; else 0
        bool lines;  // all rows begin at the same place of a line, so that tiles may be shifted onto the lines
        bool aligned;  // namely where it begins

        bool by_line() const { return context.kernels->vector_bytes == kLine; }
        // Do vectors take parts of source lines, the rest of which a first-level cache of few ways may have lost?
        bool may_lose_parts() const { return !by_line() && context.processor->small_first_level; }
        // Bytes of a destination row that vectors shorter than a line write at a time in the caches.
        std::int64_t most_held() const;
        // Source rows of a panel of so many bytes.
        std::int64_t panel(std::int64_t bytes) const { return std::max(side, bytes / itemsize); }
    };
    StoreMode choose_tiles(const Sizing& sizing);
    bool size_staged(const Sizing& sizing);
    void size_streamed(const Sizing& sizing);
    void size_whole_rows(const Sizing& sizing);
    void size_cached(const Sizing& sizing);
    bool worth_streaming(const Sizing& sizing) const;
    std::int64_t grouped_run(const Sizing& sizing) const;
    bool leaves_in_parts(const Sizing& sizing) const;
    std::int64_t lines_at_one_place(std::int64_t rows) const;
    std::int64_t short_panel(const Sizing& sizing) const;
    std::int64_t panel_to_stream(const Sizing& sizing, bool in_parts) const;
    std::int64_t shared_tile(const Problem& problem, std::int64_t most, std::int64_t step) const;
    bool tile_loses_lines(const Sizing& sizing) const;
    // Where a row of the source begins, from the first one; LinesInSets takes it so.
    std::uint64_t src_offset(std::int64_t row) const {
        return static_cast<std::uint64_t>(b_chained ? src_rows[static_cast<std::size_t>(row)] : row * b.src_stride);
    }
    std::int64_t rows_in_sets(std::int64_t rows) const;
    bool source_at_one_place() const;
    std::int64_t panel_of_halves(const Sizing& sizing) const;
    bool panel_loses_lines(std::int64_t rows) const;
    bool sides_meet() const;
    bool takes_source_lines(const Sizing& sizing) const;
    SourceLines lines_taken(const Sizing& sizing) const;
    bool loses_parts(const Sizing& sizing) const;
    bool stages_lines(const Sizing& sizing, std::int64_t panel_rows, std::int64_t held) const;
    bool splits_lines(const Sizing& sizing) const;
    bool writes_whole_rows(const Sizing& sizing) const;
};

}  // namespace dnnmove
