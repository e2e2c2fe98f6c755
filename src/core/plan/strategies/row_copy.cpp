// Row copy: rows of bytes that are contiguous on both sides.
#include "plan/lines.hpp"
#include "plan/strategies.hpp"
#include "plan/row_strategy.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kWorthFollowing = 1024;      // bytes of the source in a row
constexpr std::int64_t kLongRow = 128;              // bytes: of these the order matters little
constexpr std::int64_t kLongRowBytes = 64 * 1024;   // of a unit
constexpr std::int64_t kMostClose = 6 << 20;        // bytes, of a copy that goes along the source's rows in the caches
// A row is worth it, too, whose neighbours in the destination leave gaps in which something else writes, but only from so many bytes
// on. (Zen 4, two threads, 50 MB, past the caches: rows of 224 bytes 8 bytes apart at 0.69 and 0.77 of the speed of ordinary
// stores, of 448 at 0.8 and 0.95, of 896 at 1.0 and 1.1.)
constexpr std::int64_t kLeastStreamedGapped = 640;
constexpr double kCyclesPerByte = 0.05;

// The position of the loop along which rows follow each other in the source, where it is better to read
// them in that order than to write them in the destination's: beyond the caches, reading short rows far
// apart is slow, writing them is not. loops.size() where there is none.
std::size_t find_follower(const Problem& problem) {
    const auto& [loops, itemsize, context, innermost] = problem;
    if (!context.beyond_cache || itemsize > kUnitWorthBytes / 2) return loops.size();
    std::size_t found = loops.size();
    // Neighbours in the destination are written far apart: they must not share lines.
    std::int64_t bits = itemsize | context.dst_alignment | context.dst_offset;
    for (std::size_t k = 0; k < loops.size(); ++k) {
        const Loop& loop = loops[k];
        if (loop.table) return loops.size();
        bits |= loop.dst_stride;
        if (k + 1 < loops.size() && loop.src_stride == itemsize) found = k;
    }
    std::int64_t read = itemsize;
    for (std::size_t k = problem.source_loop(read); k < loops.size(); k = problem.source_loop(read)) read *= loops[k].extent;
    return read >= kWorthFollowing && line_part(bits) == kLine ? found : loops.size();
}

// The position of a loop along which rows follow each other in the source, where the destination's innermost loop jumps
// farther on both sides taken together, and reads more lines of one set of the first-level cache than it has ways: inside the
// caches short rows are copied faster along it. (Zen 4, two threads, (0, 2, 1, 3) of 0.1 to 9 MB, rows of 40 to 126 bytes, in the
// destination's order: 16 to 40 heads of 128 to 1024 positions 0.57 to 0.92 times as fast; else 1.02 to 1.44, in 40 of 42. Of 8 to 10 MB 1.2 to 1.6.)
std::size_t find_closer(const Problem& problem) {
    const auto& [loops, itemsize, context, innermost] = problem;
    if (context.large || loops.empty() || itemsize >= kLongRow) return loops.size();
    const Loop& inner = loops.back();
    if (problem.bytes() > kMostClose || inner.table ||
        lines_in_one_set(std::abs(inner.src_stride), inner.extent, true) <= kSmallSetLines)
        return loops.size();
    const auto apart = [](const Loop& loop) { return std::abs(loop.src_stride) + std::abs(loop.dst_stride); };
    std::size_t found = loops.size();
    for (std::size_t k = 0; k < loops.size(); ++k) {
        if (loops[k].table) return loops.size();
        if (k + 1 < loops.size() && loops[k].src_stride == itemsize && 2 * apart(loops[k]) < apart(loops.back())) found = k;
    }
    return found;
}

struct RowCopy final : RowStrategy {
    explicit RowCopy(const Problem& problem) : RowStrategy(problem) { unit_step = 1; }

    bool match(const Problem& problem) {
        if (problem.innermost != Problem::Innermost::rows) return false;
        a = {itemsize, itemsize, 1, 1};
        const auto along = [&](std::size_t position, WalkOrder walk_order) {
            b = TiledLoop::covering(problem.loops[position]);
            order = walk_order;
            taken.push_back(position);
            return true;
        };
        const std::size_t follows = find_follower(problem);
        if (follows < problem.loops.size()) return along(follows, WalkOrder::by_source);
        const std::size_t closer = find_closer(problem);
        if (closer < problem.loops.size()) return along(closer, WalkOrder::by_destination);
        take_second_loop(problem, problem.loops.size() - 1, itemsize);
        return true;
    }
    double cost(const Problem&) const override { return kCyclesPerByte; }
    StoreMode size(const Problem& problem) override {
        const PlanContext& context = problem.context;
        const std::int64_t row = a.extent;
        const bool lines = row % kLine == 0 && row_alignment(problem) == kLine;
        // Short rows that end inside a line share it with their neighbours: staged, none is written twice.
        const bool stage = context.far_beyond_cache && !lines && b.dst_stride == row && row < kLeastStreamedRow;
        size_inside_out(1, stage ? context.unit_bytes : kLongRowBytes, kLine);
        if (order == WalkOrder::by_destination) {
            // The lines that the rows of a tile leave unfinished wait in the first-level cache for the next loop's.
            b.tile = std::min(b.extent, steps_for(kUnitBytes, row + kLine));
            return StoreMode::cached;
        }
        if (stage && fits_stage()) return StoreMode::staged;
        const bool follows = b.extent == 1 || b.dst_stride == row;
        const bool stream = context.stream_rows && (lines || row >= (follows ? kLeastStreamedRow : kLeastStreamedGapped));
        return stream || order == WalkOrder::by_source ? StoreMode::nontemporal : StoreMode::cached;
    }
    void run(const Call& call) const noexcept override {
        call.kernels.copy_rows(call.src(), call.dst, a.steps(call.unit.a_tile), b_of(call), call.stores());
    }
    StrategyWords describe() const override { return {"rows", "row bytes", "rows"}; }
};

}  // namespace

bool follows_source(const Problem& problem) { return find_follower(problem) < problem.loops.size(); }

std::unique_ptr<Strategy> match_row_copy(const Problem& problem) { return matched<RowCopy>(problem); }

}  // namespace dnnmove
