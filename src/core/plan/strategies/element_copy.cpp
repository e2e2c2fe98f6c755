// Element copy: short elements one by one, at any distance on either side.
#include "plan/costs.hpp"
#include "plan/lines.hpp"
#include "plan/row_strategy.hpp"
#include "plan/strategies.hpp"

namespace dnnmove {
namespace {

// Blocks: elements that follow each other along b in the source and along a in the destination are transposed in the
// first-level cache.
constexpr std::int64_t kBlockPiece = 512;  // bytes of a destination row
constexpr std::int64_t kLeastBlocked = 8;  // bytes of an element

// Inside the caches they are where more than so many lines of a tile's rows lie in one set: of short elements, which come back for
// each line the most often, of elements of 16 bytes to half a line, and of longer ones. (Zen 5, two threads, 0.2 to 13 MB, elements
// of 9 to 60 bytes by vectors of a line, against tiles without blocks: rows multiples of a page apart 1.9 to 3.1 times as fast;
// with 16 lines of one set elements up to 28 bytes 1.02 to 1.37, longer ones 0.62 to 0.88; with 13 and 14 elements of 16 bytes 0.75
// and 0.86, with 17 and 18 of 48 bytes 0.91 and 0.87; other rows 0.57 to 0.85. With AVX2 1.1 to 2.8.)
constexpr std::int64_t kShortSetLines = 12;
constexpr std::int64_t kMiddleSetLines = 15;
constexpr std::int64_t kLongSetLines = 18;

// Of so many pages of the source, a stream in each, prefetchers bring what the next tile reads before the kernel could ask
// for it. (Zen 4, AVX2, elements of 10 to 60 bytes, 3 to 11 MB, from the last-level cache, asking for the next tile against
// not: 12 to 20 rows in as many pages 0.84 to 1.01 of the speed by one thread and by two; 24 to 40 rows of 3 to 3.9 KB in 22 to
// 30 pages 0.85 to 1.08; 24 to 48 rows in as many pages 0.95 to 4.3 times, 64 and more rows of 1.5 to 3.7 KB 1.03 to 5.3.)
constexpr std::int64_t kFollowedPages = 20;

// Cycles, for every instruction set alike.
constexpr double kOddElement = 1.4;  // of no power of two of bytes, up to 16
constexpr double kLongOddElement = 1.6;  // of 9 bytes and more of these, but for 12, which are two moves side by side
constexpr double kTiledElement = 0.3;  // more, of a block's elements of 9 to 15 bytes, which tiles move faster
constexpr double kFarElement = 1.0;  // more, beyond the caches, for each that is alone in its line

struct ElementCopy final : RowStrategy {
    using RowStrategy::RowStrategy;

    bool match(const Problem& problem) {
        if (problem.innermost != Problem::Innermost::elements && problem.innermost != Problem::Innermost::apart) return false;
        const std::size_t last = problem.loops.size() - 1;
        a = TiledLoop::covering(problem.loops[last]);
        taken.push_back(last);
        take_second_loop(problem, last - 1, a.dst_stride == itemsize ? a.extent * itemsize : 0);
        // (Zen 5, two threads, 0.1 to 12 MB, 94 random permutations of 3 to 5 axes, elements of 9 to 60 bytes, by vectors of a line:
        // so 1.46 times as fast.)
        const std::size_t along = loop_along_lines(problem);
        if (along < last && cost_of_calls({last, along}, problem) < cost_of_calls(taken, problem)) {
            taken = {last};
            src_rows.clear();
            take_second_loop(problem, along);
        }
        return true;
    }
    double cost(const Problem& problem) const override {
        const auto& [loops, size, context, innermost] = problem;
        const Loop& inner = loops.back();
        const Costs& costs = costs_of(*context.kernels);
        const std::int64_t row_bytes = inner.extent * itemsize;
        const auto row = static_cast<double>(row_bytes);
        const auto bytes = static_cast<double>(itemsize);
        const bool odd_size = !power_of_two(itemsize);
        const double odd = itemsize > 8 && itemsize != 12 ? kLongOddElement : kOddElement;
        const double element = itemsize > 16 ? 0.06 * bytes : odd_size ? odd : costs.run_element;
        // Short ones are not staged: beyond the caches each waits for its line.
        const double waits = context.reads_far() && itemsize <= 16 ? 1.7 : 1;
        double cycles = (element / bytes + 1.5 / row) * waits;
        // Every element from another line, which the elements beside it need again later, if they are not copied by
        // blocks. (Tiles are better at elements of odd sizes, but for pitches of whole pages, which leave the rows
        // of a tile few cache sets.)
        const bool follows = loops.size() >= 2 && std::abs(loops[loops.size() - 2].src_stride) < kLine;
        const bool by_blocks = follows && context.large && itemsize >= kLeastBlocked && itemsize < kLine &&
                               row_bytes % kLine == 0;
        const bool tiles = by_blocks && odd_size && itemsize < 16 && inner.src_stride % kPage != 0;
        if (tiles) cycles += kTiledElement / bytes;
        cycles += far_cost(problem, inner);
        const bool alone = itemsize <= 16 && !by_blocks && std::abs(inner.src_stride) >= kLine;
        if (context.large && alone) cycles += kFarElement / bytes;
        // Rows that end inside lines are staged one by one, but for the shortest.
        constexpr double kStagedRow = 50;  // cycles
        if (context.beyond_cache && row_bytes >= 2 * kLine && row_bytes % kLine != 0) cycles += kStagedRow / row;
        return cycles;
    }
    StoreMode size(const Problem& problem) override {
        const PlanContext& context = problem.context;
        if (a.dst_stride != itemsize) {
            size_inside_out(itemsize, kUnitBytes);
            return StoreMode::cached;
        }
        if (strides_over_lines() && context.large && size_streamed_blocks(problem)) return StoreMode::nontemporal;
        const bool stage = context.beyond_cache && a.extent * itemsize >= 2 * kLine;
        size_near(problem, itemsize, stage ? context.unit_bytes : kUnitBytes, 1, stage);
        if (!stage && takes_blocks() && loses_lines()) {
            size_blocks();
            return StoreMode::cached;
        }
        asks_ahead_of_tiles = !stage && strides_over_lines() && b.tiles() > 1 && pages_of_tile() > kFollowedPages;
        if (!stage || !fits_stage()) return StoreMode::cached;
        source_blocks = find_source_blocks(problem, taken);
        return StoreMode::staged;
    }
    void run(const Call& call) const noexcept override {
        if (blocked) {
            call.kernels.turn_runs(call.src(), call.dst, itemsize, a_of(call), b_of(call), call.stores_ahead());
        } else {
            call.kernels.copy_runs(call.src(), call.dst, itemsize, a_of(call), b_of(call),
                                   source_blocks         ? KernelStores{}
                                   : asks_ahead_of_tiles ? call.stores_ahead()
                                                         : call.stores());
        }
    }
    StrategyWords describe() const override { return {"strided elements", "elements", "rows", remark()}; }

    bool blocked = false;
    bool asks_ahead_of_tiles = false;  // with each tile for what the next along the same rows reads

private:
    // The innermost loop that stays inside the lines which a reads, where neither a nor the loop around it does; else a's.
    static std::size_t loop_along_lines(const Problem& problem) {
        const std::vector<Loop>& loops = problem.loops;
        const std::size_t last = loops.size() - 1;
        const auto in_line = [](const Loop& loop) { return loop.table || std::abs(loop.src_stride) < kLine; };
        if (last < 2 || problem.context.beyond_cache || in_line(loops[last]) || in_line(loops[last - 1])) return last;
        std::size_t found = last;
        for (std::size_t k = 0; k < last; ++k) {
            if (!loops[k].table && loops[k].src_stride != 0 && in_line(loops[k])) found = k;
        }
        return found;
    }
    // Of the source, that a tile's steps of a lie in.
    std::int64_t pages_of_tile() const { return a.tile * std::min(std::abs(a.src_stride), kPage) / kPage; }
    std::string remark() const {
        if (blocked) return "blocked transpose in the first-level cache";
        if (asks_ahead_of_tiles) return "next tiles asked for";
        return source_blocks ? "source in blocks of " + std::to_string(source_blocks->rows.size()) + " x " +
                                   std::to_string(source_blocks->run) + " B"
                             : "";
    }
    // Do lines of one set leave the first-level cache before the next of their elements are copied? Not where rows of the source are
    // a line or two, all of which is copied at once.
    bool loses_lines() const {
        const std::int64_t kept = itemsize < 16 ? kShortSetLines : itemsize <= kLine / 2 ? kMiddleSetLines : kLongSetLines;
        return b.extent * b.src_stride > 2 * kLine && lines_in_one_set(std::abs(a.src_stride), a.tile, true) > kept;
    }
    bool takes_blocks() const {
        return strides_over_lines() && src_rows.empty() && b.src_stride >= itemsize && itemsize >= kLeastBlocked;
    }
    std::int64_t steps_of_lines() const { return kLine / line_part(itemsize); }  // steps of a that make whole lines
    std::int64_t steps_of_piece() const { return steps_for(kBlockPiece, itemsize, steps_of_lines()); }
    // False where pieces of the destination's rows would share lines.
    bool size_streamed_blocks(const Problem& problem) {
        const bool lines = a.extent * itemsize % kLine == 0 && row_alignment(problem) == kLine;
        if (!takes_blocks() || !lines || a.extent < steps_of_piece()) return false;
        size_blocks();
        return true;
    }
    void size_blocks() {
        blocked = true;
        const std::int64_t step = steps_of_lines();
        a.tile = std::min(a.extent, steps_of_piece());
        const std::int64_t most = std::min<std::int64_t>(64, kMaxTurnedBytes / (a.tile * itemsize + 2 * kLine));
        b.tile = std::min(b.extent, most < step ? most : most / step * step);
    }
};

}  // namespace

std::unique_ptr<Strategy> match_element_copy(const Problem& problem) { return matched<ElementCopy>(problem); }

}  // namespace dnnmove
