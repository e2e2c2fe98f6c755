// Row blocks: rows of whole lines that go to far places, beyond the caches. The source is read by blocks, some long rows of
// it at a time, and while the parts of one leave, each a run of the destination, the next is asked for, line after line.
//
//     source           h0 h1 h2            destination   h0: s0 s1 s2 s3 | s4 ..
//     s0  [h0 h1 h2]   block 0: s0 to s3                 h1: s0 s1 s2 s3 | s4 ..
//     s1  [h0 h1 h2]   block 1: s4 to s7                 h2: s0 s1 s2 s3 | s4 ..
#include "plan/strategies.hpp"
#include "plan/row_strategy.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMostRow = 2048;       // bytes: longer ones are long enough in any order
constexpr std::int64_t kLeastLongRow = 1024;  // bytes of the source
// Rows of a block, and the bytes of a large one: it and the next lie in the second-level cache.
constexpr std::int64_t kLeastRows = 4;
constexpr std::int64_t kMostRows = 32;
constexpr std::int64_t kMostBytes = 192 * 1024;
constexpr std::int64_t kRun = 4096;  // bytes that a block writes of the destination at a time
// Cycles per byte: less than row copies and row panels. (Zen 5, 12 to 270 MB in rows of 64 to 256 bytes, each copied one to
// four times, to one destination or three: 0.87 to 1.05 of the copy ceiling, in the order of the source 0.55 to 1.)
constexpr double kCyclesPerByte = 0.03;

struct RowBlocks final : RowStrategy {
    explicit RowBlocks(const Problem& problem) : RowStrategy(problem), from_(problem.context.side_by_side_from) {
        unit_step = 1;
    }

    bool match(const Problem& problem) {
        const auto& [loops, row, context, innermost] = problem;
        if (row > kMostRow || loops.size() < 2) return false;
        const Loop& last = loops.back();
        const std::int64_t pitch = last.src_stride;
        if (last.dst_stride != row || last.extent < kLeastRows || pitch < kLeastLongRow || pitch * kLeastRows > kMostBytes)
            return false;
        std::int64_t bits = row | context.dst_alignment | context.dst_offset;
        std::int64_t inside = row;  // bytes of a long row that the loops inside it read
        for (const Loop& loop : loops) {
            if (loop.table || loop.src_stride < 0 || (loop.src_stride > pitch && loop.src_stride % pitch != 0)) return false;
            bits |= loop.dst_stride;
            if (loop.src_stride != 0 && loop.src_stride < pitch) inside *= loop.extent;
        }
        std::int64_t read = row;  // of them, in one piece
        for (std::size_t k = problem.source_loop(read); k + 1 < loops.size(); k = problem.source_loop(read))
            read *= loops[k].extent;
        const bool whole = read > row && inside == read && std::max(read, context.side_by_side_bytes) == pitch;
        if (!whole || line_part(bits) != kLine) return false;
        a = {row, row, 1, 1};
        take_second_loop(problem, loops.size() - 1);
        order = WalkOrder::by_blocks;
        return true;
    }
    double cost(const Problem&) const override { return kCyclesPerByte; }
    // A block's loops belong together.
    double call_cost(const Problem& problem) const override {
        std::vector<std::size_t> loops = taken;
        for (std::size_t k = 0; k < problem.loops.size(); ++k) {
            const std::int64_t stride = problem.loops[k].src_stride;
            if (stride != 0 && stride < b.src_stride) loops.push_back(k);
        }
        return cost_of_calls(loops, problem);
    }
    StoreMode size(const Problem&) override {
        const std::int64_t rows = std::clamp(kRun / itemsize, 2 * kLeastRows, kMostRows);
        b.tile = std::min({b.extent, rows, kMostBytes / b.src_stride});
        return StoreMode::nontemporal;
    }
    void run(const Call& call) const noexcept override {
        // Of the next block's long rows, one after the other, the part that this unit is of its block.
        const std::int64_t part = (call.unit.src - from_) % b.src_stride;
        const std::byte* next = call.src() - part + b.tile * (b.src_stride + part);
        call.kernels.copy_rows(call.src(), call.dst, itemsize, b_of(call),
                               {.nontemporal = true, .next = call.unit.fresh ? next : nullptr});
    }
    StrategyWords describe() const override {
        return {"rows", "row bytes", "rows",
                "source in blocks of " + std::to_string(b.tile) + " x " + std::to_string(b.src_stride) + " B"};
    }

private:
    std::int64_t from_;  // where the source's first long row begins
};

}  // namespace

std::unique_ptr<Strategy> match_row_blocks(const Problem& problem) {
    const bool far = problem.context.beyond_cache && problem.innermost == Problem::Innermost::rows;
    return far ? matched<RowBlocks>(problem) : nullptr;
}

}  // namespace dnnmove
