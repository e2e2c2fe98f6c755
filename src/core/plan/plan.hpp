// A nest plan: one canonical nest, a kernel for its innermost part, and loops over the rest.
#pragma once

#include <string>
#include <vector>

#include "kernels/contract.hpp"
#include "plan/gather_table.hpp"
#include "plan/nest.hpp"
#include "plan/summary.hpp"
#include "plan/variant.hpp"

namespace dnnmove {

enum class KernelKind { rows, runs, fill, gather, weave, deal, transpose, transpose_lines, transpose_cells, transpose_rows };

// How the kernel's output reaches memory: straight from registers with ordinary or non-temporal
// stores, or through a staging buffer in the first-level cache from which whole lines are streamed.
enum class StoreMode { cached, nontemporal, staged };

// What decides a plan besides the nest.
struct PlanContext {
    const Kernels* kernels;
    bool large;                  // the program's data would fill most of the last-level cache
    bool near;                   // they fit into the second-level caches
    std::int64_t dst_alignment;  // of every destination base: a power of two, at most 64 bytes
    std::int64_t dst_offset;     // of this nest, bytes
    std::int64_t unit_bytes = 4096;  // of a staged unit: less where many nests share a source
    // Transposes go past the caches where the data are large, gathers beyond the cache, and rows and
    // fills, which ordinary stores suit best, where they are far beyond it.
    bool beyond_cache = false;  // source and destination do not fit into the last-level cache
    bool stream_rows = false;  // nor would a fair part of them
    Variant variant = {};      // where a measurement has overruled the planner
};

// One of the two dimensions that a kernel call covers, `tile` of `extent` steps per call. A remainder
// is a tile of its own, or, with `merge_rest`, belongs to the last tile.
struct TiledLoop {
    std::int64_t extent = 1;
    std::int64_t tile = 1;
    std::int64_t src_stride = 0;  // bytes per step
    std::int64_t dst_stride = 0;
    bool merge_rest = false;

    std::int64_t tiles() const {
        const auto all = static_cast<std::uint64_t>(extent);  // room for the sum, whatever the extent
        const auto each = static_cast<std::uint64_t>(tile);
        return static_cast<std::int64_t>(merge_rest ? all / each : (all + each - 1) / each);
    }
    std::int64_t steps(std::int64_t position) const {
        return position + 1 == tiles() ? extent - position * tile : tile;
    }
};

// A loop around the kernel calls. `role` says whose tiles it walks.
struct OuterLoop {
    enum class Role { plain, tile_a, tile_b };
    std::int64_t extent;
    std::int64_t src_step;  // bytes
    std::int64_t dst_step;
    std::shared_ptr<const OffsetTable> table;
    Role role = Role::plain;
};

// The kernel of a plan and the dimensions it covers by itself. What a and b are:
//   rows        a: bytes of a row           b: rows
//   runs, fill  a: elements                 b: the loop around them
//   gather      a: steps of the block loop  b: the loop around the blocks
//   weave, deal a: elements of a stream     b: the loop around them
//   transpose.. a: rows of the destination  b: rows of the source, contiguous in the destination
struct Leaf {
    KernelKind kind = KernelKind::rows;
    std::int64_t itemsize = 1;  // bytes
    TiledLoop a;
    TiledLoop b;
    GatherTable block;       // gather; its indices are also the permutes of a weave and of cells
    bool scattered = false;  // its vectors lie apart in the destination
    bool turned = false;     // runs: a block of them is turned in the first-level cache
    bool across = false;     // rows: b is not the destination's innermost loop
    bool by_source = false;  // rows: b follows the source, and so do the loops around it
    int streams = 0;    // weave and deal: how many, and how far the separate ones lie apart
    std::int64_t stream_pitch = 0;  // bytes
    // Offsets of the rows of a chained b, and of a transpose's rows. A transpose's tables over a chain of loops hold
    // every row, others one tile's.
    std::vector<std::int64_t> src_rows;
    std::vector<std::int64_t> dst_rows;
    bool a_chained = false;
    bool b_chained = false;
    std::int64_t b_group = 0;  // a staged transpose: so many source rows per kernel call; 0: all of a tile
    // rows, runs and gather: the offsets of a chained b repeat after so many rows, so much farther in the source.
    // The table holds one tile's, a tile whole periods.
    std::int64_t b_period = 1;
    std::int64_t b_period_stride = 0;  // bytes
    // The destination's rows start inside a line, all at the same place: its tiles are shifted so that
    // all but the first start with a line, and there may be one more.
    bool shift_to_lines = false;
    // What the bases move by where a walks its loop from the end.
    std::int64_t src_shift = 0;  // bytes
    std::int64_t dst_shift = 0;

    void turn_a_round() {
        src_shift += (a.extent - 1) * a.src_stride;
        dst_shift += (a.extent - 1) * a.dst_stride;
        a.src_stride = -a.src_stride;
        a.dst_stride = -a.dst_stride;
    }
    bool transposes() const {
        return kind == KernelKind::transpose || kind == KernelKind::transpose_lines ||
               kind == KernelKind::transpose_cells || kind == KernelKind::transpose_rows;
    }
};

class NestPlan {
public:
    // `nest` is canonical (plan/canonical.hpp).
    NestPlan(const Nest& nest, const PlanContext& context);

    // False where no kernel zeroes the padding of the nest along the way (plan/padding.hpp): not to be run.
    bool complete() const;
    // Kernel calls; each writes bytes that no other does, in any order.
    std::int64_t units() const { return units_; }
    std::int64_t bytes() const { return bytes_; }
    // Bytes that the plan holds, without the tables of the nest.
    std::size_t memory() const;
    // Must the thread that ran it fence its stores?
    bool streams() const { return stores_ != StoreMode::cached; }
    // Units [begin, end). `src` and `dst` are the bases of the nest's offsets. The caller fences.
    void run(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) const noexcept;
    // Kernel, element, tiles, stores, loops; and the same as one line.
    KernelSummary summary() const;
    std::string describe() const;

private:
    // A kernel call: where it reads and which tiles it covers; `fresh` unless the call before it has
    // read the same lines.
    struct Unit {
        std::int64_t src;
        std::int64_t a_tile;
        std::int64_t b_tile;
        bool fresh;
    };
    void run_leaf(const std::byte* src, std::byte* dst, const Unit& unit, const Unit& next) const noexcept;
    void stream_asking(const std::byte* stage, std::byte* to, std::int64_t bytes, const std::byte* next) const noexcept;
    void run_staged(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) const noexcept;

    const Kernels* kernels_;
    Leaf leaf_;
    StoreMode stores_ = StoreMode::cached;
    bool near_;  // nothing is prefetched
    std::vector<OuterLoop> outer_;  // outermost first
    std::size_t rereading_ = 0;     // how many of the innermost of them read the same lines again
    std::int64_t src_offset_;
    std::int64_t dst_offset_;
    std::int64_t units_ = 1;
    std::int64_t bytes_ = 0;

    friend class LoopCounter;
};

// Planning steps, in order. choose_leaf takes the loops it covers out of `loops`; choose_tiles sizes
// them and decides the stores; order_loops makes the loops around the kernel.
Leaf choose_leaf(std::vector<Loop>& loops, std::int64_t itemsize, const PlanContext& context);
StoreMode choose_tiles(Leaf& leaf, const std::vector<Loop>& rest, const PlanContext& context);
std::vector<OuterLoop> order_loops(const Leaf& leaf, const std::vector<Loop>& rest, StoreMode stores,
                                   std::size_t& rereading);

// Are so many rows that follow each other in the destination long enough to be streamed by themselves?
bool streams_row_panels(std::int64_t rows, std::int64_t itemsize);

// Rows of a tile of transpose_cells.
inline std::int64_t cells_side(Cells cells, const Kernels& kernels) {
    std::int64_t element = packed_element(cells.width);
    while (!kernels.packs_cells && (element < 2 || element < cells.cell)) element *= 2;
    return kernels.vector_bytes / element;
}

// Of more source rows than these the prefetches for all at once take much of the second-level cache, and their pages
// most of the first-level TLB.
inline constexpr std::int64_t kManyRows = 64;

// Source rows of the neighbour that a panel of lines reads, so that its last line is whole.
inline std::int64_t extra_rows(std::int64_t width) { return 64 / width + (64 % width != 0 ? 1 : 0); }

// No staged unit is longer. The stage holds two of them, and is emptied as soon as it holds
// kFlushBytes: little enough that reading the next units overlaps with writing it out.
inline constexpr std::int64_t kMaxUnitBytes = 16 * 1024;
// But for those of a transpose that reads its source by groups of rows.
inline constexpr std::int64_t kMaxGroupedBytes = 64 * 1024;
inline constexpr std::int64_t kFlushBytes = 4 * 1024;

}  // namespace dnnmove
