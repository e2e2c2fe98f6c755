// Elements by a table: for permutations of short axes, of which a vector holds elements from everywhere and a tile is mostly rest.
//
// Innermost axes of the destination make a block, whose table says where each element comes from. A unit copies it for every
// place on those of the source's innermost axes that are not in it, too: it reads long pieces of the source, and writes as many
// runs of the destination, each of as many blocks as there is room for.
//
//     source       x[i][j][p][s]   block of s and j: j0s0 j1s0 .. j0s1 j1s1 ..; for p0, p1, ..: two runs of the same pieces
//     destination  y[p][i][s][j]   run p0: block of i0, block of i1, ..; run p1: likewise
#include <bit>
#include <limits>

#include "plan/chains.hpp"
#include "plan/costs.hpp"
#include "plan/lines.hpp"
#include "plan/strategies.hpp"
#include "runtime/scratch.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxElement = 16;  // bytes
constexpr std::int64_t kMostElements = 512;  // of a block: its table leaves the first-level cache room for the data
constexpr std::int64_t kFewElements = 16;  // of a block: of fewer the loops around it cost too much
constexpr std::int64_t kMostInnermost = 32;  // steps of the innermost loop: longer ones are rows
constexpr std::int64_t kLongPieceBytes = 512;  // of the source: longer ones gain nothing
// Of either side: they leave half of a first-level cache; what is streamed has the second-level cache, and its runs a stage.
constexpr std::int64_t kElementUnitBytes = 16 * 1024;
constexpr std::int64_t kStreamedUnitBytes = 32 * 1024;
// Per byte that is streamed, besides. (Zen 4, 38 and 50 MB, elements of 8 bytes in rows of 56 and 200 bytes: 0.7 to 0.8 of what
// is 0.05 dearer by the estimates otherwise.)
constexpr double kStreamedByte = 0.09;  // cycles
// For each piece of the source shorter than a line, where a unit reads more lines than the first-level cache has room for beside what
// it writes: other units come back for the rest. (Zen 4, the portable kernels, 48 MB of 8-byte elements 19 of which lie beside a block: 0.46
// times as fast as tiles.)
constexpr double kPartialLine = 4;  // cycles
constexpr std::int64_t kAheadBytes = 4096;  // of all runs: so much is copied between asking for a step's lines and its turn

// The axes of the source beside a block, and how long its pieces are with them.
struct Pieces {
    Chain beside;
    std::int64_t bytes;
};

// Of a block of `run`: until its pieces are long, or a unit is.
Pieces pieces_of(const Chain& run, const Problem& problem) {
    const std::vector<Loop>& loops = problem.loops;
    Pieces pieces{{}, problem.itemsize};
    for (std::size_t k = problem.source_loop(pieces.bytes); k < loops.size() && pieces.bytes < kLongPieceBytes;
         k = problem.source_loop(pieces.bytes)) {
        const std::int64_t unit = run.length * pieces.beside.length * problem.itemsize;
        if (!run.has(k)) {
            if (unit * loops[k].extent > kElementUnitBytes) break;
            pieces.beside.add(k, loops);
        }
        pieces.bytes *= loops[k].extent;
    }
    return pieces;
}

// Cycles per byte of blocks of `count` elements.
double cycles_of(std::int64_t count, const Problem& problem) {
    constexpr double kRunCycles = 3;
    const double element = costs_of(problem.kernels()).table[log2_of(problem.itemsize)];
    return (element + kRunCycles / static_cast<double>(count)) / static_cast<double>(problem.itemsize);
}

// How many blocks make a unit, and whether its runs are streamed.
struct Tiles {
    std::int64_t steps;
    bool streams;
};

// Of blocks of so many bytes, for so many runs, `extent` along each.
Tiles tiles_of(std::int64_t bytes, std::int64_t runs, std::int64_t extent, const Problem& problem) {
    const std::int64_t streamed = even_tile(extent, kStreamedUnitBytes / (bytes * runs));
    const bool streams = problem.context.large && streamed * bytes >= kLeastStreamedRun &&
                         streamed * bytes * runs <= kStreamedUnitBytes;
    return {streams ? streamed : even_tile(extent, kElementUnitBytes / (bytes * runs)), streams};
}

struct ElementTable final : Strategy {
    using Strategy::Strategy;

    bool match(const Problem& problem);
    double cost(const Problem&) const override { return cycles; }
    Schedule schedule(const Problem& problem) override;
    void run(const Call& call) const noexcept override;
    bool asks_ahead() const override { return true; }
    StrategyWords describe() const override {
        return {"elements by a table", "blocks", "runs", "blocks of " + std::to_string(block.length * itemsize) + " B"};
    }
    std::size_t memory() const override {
        return Strategy::memory() + heap_bytes(block.positions) + heap_bytes(others.positions) + heap_bytes(offsets) +
               heap_bytes(runs) + heap_bytes(lines);
    }

private:
    Chain block;  // the innermost axes of the destination
    Chain others;  // those of the source that make the runs
    double cycles = 0;  // per byte
    bool streams = false;
    std::int64_t ahead_steps = 1;
    std::vector<std::int32_t> offsets;
    std::vector<RunPlace> runs;
    std::vector<std::int64_t> lines;
};

bool ElementTable::match(const Problem& problem) {
    const std::vector<Loop>& loops = problem.loops;
    if (problem.innermost != Problem::Innermost::elements || loops.size() < 3 || itemsize > kMaxElement ||
        !power_of_two(itemsize) || loops.back().extent > kMostInnermost) {
        return false;
    }
    // As many axes of the destination as cost the least with those of the source that there is room for then.
    Chain run;
    double least = std::numeric_limits<double>::infinity();
    std::int64_t farthest = 0;
    for (std::size_t k = loops.size(); k-- > 0 && continues(loops[k], run.length * itemsize);) {
        farthest += (loops[k].extent - 1) * std::abs(loops[k].src_stride);
        if (run.length * loops[k].extent > kMostElements || farthest > std::numeric_limits<std::int32_t>::max()) break;
        run.add(k, loops);
        if (run.positions.size() < 2 || run.length < kFewElements) continue;
        auto [pieces, piece_bytes] = pieces_of(run, problem);
        std::vector<std::size_t> both = run.positions;
        both.insert(both.end(), pieces.positions.begin(), pieces.positions.end());
        const bool goes_on = k > 0 && !pieces.has(k - 1) && continues(loops[k - 1], run.length * itemsize);
        if (goes_on) both.push_back(k - 1);
        const Tiles tiles = tiles_of(run.length * itemsize, pieces.length, goes_on ? loops[k - 1].extent : 1, problem);
        const std::int64_t read = tiles.steps * run.length * pieces.length * problem.itemsize / piece_bytes;
        const bool comes_back = piece_bytes < kLine && read * kLine > kElementUnitBytes;
        const double work = cycles_of(run.length, problem) + scatter_cost(problem, tiles.streams) +
                            (tiles.streams ? kStreamedByte : 0) +
                            (comes_back ? kPartialLine / static_cast<double>(piece_bytes) : 0);
        const double now = work + cost_of_calls(both, problem);
        if (now > least) continue;
        cycles = work;
        streams = tiles.streams;
        least = now;
        block = run;
        others = std::move(pieces);
        taken = std::move(both);
        a = goes_on ? TiledLoop::covering(loops[k - 1]) : TiledLoop{1, 1, 0, run.length * itemsize};
        a.tile = tiles.steps;
    }
    b.extent = b.tile = others.length;
    return !taken.empty();
}

Schedule ElementTable::schedule(const Problem& problem) {
    const std::vector<Loop>& loops = problem.loops;
    const PlanContext& context = problem.context;
    const std::int64_t step = block.length * b.extent * itemsize;  // bytes
    const std::vector<std::int64_t> sources = row_offsets(block.positions, loops, &Loop::src_stride);
    offsets.assign(sources.begin(), sources.end());
    const std::vector<std::int64_t> run_sources = row_offsets(others.positions, loops, &Loop::src_stride);
    const std::vector<std::int64_t> run_places = row_offsets(others.positions, loops, &Loop::dst_stride);
    for (std::size_t k = 0; k < run_sources.size(); ++k) runs.push_back({run_sources[k], run_places[k]});
    if (!context.near) {
        std::vector<std::int64_t> all;
        all.reserve(sources.size() * run_sources.size());
        for (const std::int64_t run : run_sources) {
            for (const std::int64_t source : sources) all.push_back(run + source);
        }
        std::sort(all.begin(), all.end());
        for (const std::int64_t source : all) {
            if (lines.empty() || source - lines.back() >= kLine) lines.push_back(source);
        }
    }
    ahead_steps = std::max<std::int64_t>(1, kAheadBytes / step);
    return {streams ? StoreMode::nontemporal : StoreMode::cached};
}

void ElementTable::run(const Call& call) const noexcept {
    const std::int64_t steps = a.steps(call.unit.a_tile);
    const KernelLoop along{steps, a.src_stride, a.dst_stride};
    // What is read some steps later: in this unit, then in the next one.
    const std::int64_t later = std::min(ahead_steps, steps);
    const ElementsAhead ahead{call.src() + later * a.src_stride, steps - later,
                              call.base + call.next.src - (steps - later) * a.src_stride};
    ElementBlock elements{offsets.data(),
                          runs.data(),
                          lines.data(),
                          static_cast<std::int32_t>(block.length),
                          static_cast<std::int32_t>(runs.size()),
                          static_cast<std::int32_t>(lines.size())};
    const auto copy = call.kernels.copy_elements[std::countr_zero(static_cast<std::uint64_t>(itemsize))];
    if (!streams) return copy(elements, call.src(), call.dst, along, ahead, {.claim = call.claims});
    // Not on the stack, of which threads may have little.
    struct Stage {
        alignas(kLine) std::byte bytes[kStreamedUnitBytes + kLine];
    };
    with_stage<Stage>([&](Stage& stage) {
        elements.run_count = 1;
        const std::int64_t bytes = steps * a.dst_stride;
        std::size_t asked = 0;  // of the lines, so many with each run
        const std::size_t share = (lines.size() + runs.size() - 1) / runs.size();
        for (const RunPlace& run : runs) {
            const std::size_t count = std::min(share, lines.size() - asked);
            elements.lines = lines.data() + asked;
            elements.line_count = static_cast<std::int32_t>(count);
            asked += count;
            std::byte* const dst = call.dst + run.dst;
            std::byte* const from = stage.bytes + into_line(dst);
            const RunPlace here{run.src, 0};
            elements.runs = &here;
            copy(elements, call.src(), from, along, ahead, {});
            call.kernels.stream(from, dst, bytes);
        }
    });
}

}  // namespace

std::unique_ptr<Strategy> match_element_table(const Problem& problem) { return matched<ElementTable>(problem); }

}  // namespace dnnmove
