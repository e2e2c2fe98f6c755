// A strategy: one way to copy the innermost part of a nest, by one of the kernels.
//
// Each has a file in plan/strategies (tile_transpose three), with all that is known of it: whether it can copy a nest and which
// loops its kernel covers (match), what that costs, its tiles and stores (schedule), the call of the kernel (run), and its words
// for explain() (describe). plan/strategies.hpp lists them; plan/plan.cpp asks all and takes the cheapest.
#pragma once

#include <string>
#include <vector>

#include "plan/problem.hpp"
#include "plan/source_blocks.hpp"
#include "runtime/heap_bytes.hpp"

namespace dnnmove {

// How the kernel's output reaches memory: straight from registers with ordinary or non-temporal
// stores, or through a staging buffer in the first-level cache from which whole lines are streamed.
enum class StoreMode { cached, nontemporal, staged };

// No staged unit is longer. The stage holds two of them, and is emptied as soon as it holds
// kFlushBytes: little enough that reading the next units overlaps with writing it out.
inline constexpr std::int64_t kMaxUnitBytes = 16 * 1024;
// But for those of a transpose that reads its source by groups of rows, or has to take a line of each of them at once.
inline constexpr std::int64_t kMaxGroupedBytes = 64 * 1024;
inline constexpr std::int64_t kFlushBytes = 4 * 1024;

// Whole steps that make about `bytes` bytes, a multiple of `step` of them.
inline std::int64_t steps_for(std::int64_t bytes, std::int64_t bytes_per_step, std::int64_t step = 1) {
    return std::max<std::int64_t>(1, bytes / (bytes_per_step * step)) * step;
}

// At most so many steps, one at least, such that all tiles are about as long.
inline std::int64_t even_tile(std::int64_t extent, std::int64_t most) {
    const std::int64_t tiles = (extent + std::max<std::int64_t>(most, 1) - 1) / std::max<std::int64_t>(most, 1);
    return (extent + tiles - 1) / tiles;
}

// About `most` steps: all of them, or a multiple of `step`, as `most` is. Where tiles are few, that which leaves the longest
// last one: threads have as many units each, and a short one would make their shares uneven.
inline std::int64_t level_tile(std::int64_t extent, std::int64_t most, std::int64_t step) {
    constexpr std::int64_t kFewTiles = 8;
    if (extent <= most + most / 16) return extent;
    if (extent > kFewTiles * most) return most;
    const auto shortfall = [&](std::int64_t tile) { return (tile - extent % tile) % tile * most / tile; };
    std::int64_t best = most;
    for (std::int64_t tile = std::max(step, most * 3 / 4 / step * step); tile <= std::min(most * 9 / 8, extent); tile += step) {
        if (shortfall(tile) < shortfall(best)) best = tile;
    }
    return best;
}

// The largest power of two, at most a line, that divides `bytes`.
inline std::int64_t line_part(std::int64_t bytes) { return (bytes | kLine) & -(bytes | kLine); }

// One of the two dimensions that a kernel call covers, `tile` of `extent` steps per call. A remainder
// is a tile of its own, or, with `merge_rest`, belongs to the last tile.
struct TiledLoop {
    std::int64_t extent = 1;
    std::int64_t tile = 1;
    std::int64_t src_stride = 0;  // bytes per step; 0 where a table has the offsets
    std::int64_t dst_stride = 0;
    bool merge_rest = false;
    // Of a chain of loops: its offsets repeat after so many steps, so much farther in the source. A tile is whole periods.
    std::int64_t period = 1;
    std::int64_t period_stride = 0;  // bytes

    static TiledLoop covering(const Loop& loop) { return {loop.extent, loop.extent, loop.src_stride, loop.dst_stride}; }

    std::int64_t tiles() const {
        const auto all = static_cast<std::uint64_t>(extent);  // room for the sum, whatever the extent
        const auto each = static_cast<std::uint64_t>(tile);
        return static_cast<std::int64_t>(merge_rest ? all / each : (all + each - 1) / each);
    }
    std::int64_t steps(std::int64_t position) const { return position + 1 == tiles() ? extent - position * tile : tile; }
    // Bytes from tile to tile.
    std::int64_t src_step() const { return period > 1 ? tile / period * period_stride : tile * src_stride; }
    std::int64_t dst_step() const { return tile * dst_stride; }
};

// The order of the loops around the kernel's calls, outermost first. "The nest's" is that of the destination.
enum class WalkOrder {
    b_outside,  // the nest's, then the tiles of b, then those of a
    a_outside,  // the nest's, then the tiles of a, then those of b
    lines_once,  // as b_outside, but what stays inside the lines that a's steps read goes inside the walk over tiles
    by_source,  // as b_outside, but the loops around the tiles by their steps in the source
    by_blocks,  // as b_outside, but what stays inside a step of b goes inside the walk over tiles, by its steps there
    by_destination  // all of them by their steps in the destination
};

// What a scheduled strategy wants of its plan.
struct Schedule {
    StoreMode stores = StoreMode::cached;
    WalkOrder order = WalkOrder::b_outside;
    // What the bases move by where a walks its loop from the end.
    std::int64_t src_shift = 0;  // bytes
    std::int64_t dst_shift = 0;
    std::shared_ptr<const SourceBlocks> blocks = nullptr;  // of a staged walk
    bool bands_of_a = false;  // b_outside: threads take a band of the tiles of a each, rather than steps of b
    bool rows_together = false;  // a_outside: the tiles of b write the same rows, which threads had better not share
};

// A kernel call: where it reads and which tiles it covers; `fresh` unless the call before it has read the same lines.
struct Unit {
    std::int64_t src;
    std::int64_t a_tile;
    std::int64_t b_tile;
    bool fresh;
};

// One kernel call of a plan, of the source at `base` + unit.src to `dst`; `next` is the one after it.
struct Call {
    const Kernels& kernels;
    StoreMode mode;
    bool near;  // in the second-level cache: what is ahead is not asked for
    bool claims;  // kernels ask for the lines that they store to
    const std::byte* base;
    const std::byte* list = nullptr;  // of a table that is given
    std::byte* dst = nullptr;
    Unit unit = {};
    Unit next = {};

    const std::byte* src() const { return base + unit.src; }
    KernelStores stores() const {
        return {.nontemporal = mode == StoreMode::nontemporal,
                .prefetch = mode != StoreMode::cached && unit.fresh,
                .claim = claims};
    }
    // For kernels that ask for what the next call reads.
    KernelStores stores_ahead() const {
        return {.nontemporal = mode == StoreMode::nontemporal, .prefetch = !near, .claim = claims};
    }
};

// For explain().
struct StrategyWords {
    const char* kernel;
    const char* a;  // what the two dimensions count
    const char* b;
    std::string remark = {};
};

struct Strategy {
    explicit Strategy(const Problem& problem) : itemsize(problem.itemsize) {}
    virtual ~Strategy() = default;
    Strategy(Strategy&&) = default;
    Strategy& operator=(Strategy&&) = delete;

    // Cycles per byte (plan/costs.hpp), without cost_of_calls. They need only be right where two strategies compete.
    virtual double cost(const Problem& problem) const = 0;
    // What its calls cost besides.
    virtual double call_cost(const Problem& problem) const { return cost_of_calls(taken, problem); }
    // Sizes the tiles and makes the tables, once the strategy is chosen.
    virtual Schedule schedule(const Problem& problem) = 0;
    // Does its kernel ask for what the next call reads, wherever its results go?
    virtual bool asks_ahead() const { return false; }
    // Is it better planned again as if its data stayed in the caches than staged?
    virtual bool shuns_stage() const { return false; }
    // Which of a processor's figures it is that says when blocks are better.
    virtual double worth_of_blocks(StoreMode stores, const WorthOfBlocks& worth) const {
        return stores == StoreMode::cached ? worth.cached : stores == StoreMode::staged ? worth.staged : worth.streamed;
    }
    virtual std::int64_t b_tiles() const { return b.tiles(); }
    virtual void run(const Call& call) const noexcept = 0;
    // Moves bytes from the stage to the destination; at `next` lies what the next call will read, or null.
    virtual void unstage(const Kernels& kernels, const std::byte* stage, std::byte* dst, std::int64_t bytes,
                         [[maybe_unused]] const std::byte* next) const noexcept {
        kernels.stream(stage, dst, bytes);
    }
    virtual StrategyWords describe() const = 0;
    // Bytes that it holds.
    virtual std::size_t memory() const { return sizeof *this + heap_bytes(taken) + heap_bytes(src_rows); }

    // Does a loop with this stride stay inside the lines that a's steps read?
    bool stays_in_lines(std::int64_t stride) const {
        return stride != 0 && std::abs(stride) < kLine && std::abs(stride) < std::abs(a.src_stride);
    }
    bool takes(std::size_t position) const { return std::find(taken.begin(), taken.end(), position) != taken.end(); }

    std::int64_t itemsize;  // bytes
    std::int64_t unit_step =
        itemsize;  // bytes of the destination that a step of a and one of b make, where units collect in a stage
    TiledLoop a;
    TiledLoop b;
    std::vector<std::size_t> taken;  // positions of the loops that the kernel covers
    std::vector<std::int64_t> src_rows;  // offsets of b's steps in the source, where no stride describes them
};

}  // namespace dnnmove
