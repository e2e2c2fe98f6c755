// Transpose into runs: for what is to leave past the caches, where a transpose by itself would write rows of less than some
// lines, all over the destination.
//
// A unit takes innermost axes of the source, its columns; those innermost in the destination, its rows; as many steps as there
// is room for of the next axis of the destination; and where the source goes on behind a row, some of that, too. It transposes,
// step by step, into a stage in the second-level cache, where what follows in the destination lies together; then it streams
// each such run.
//
//     source       x[i][j][p][s]   rows j, columns ps, steps i
//     destination  y[p][i][s][j]   runs of p0: i0 (s0: j0 j1, s1: j0 j1), i1 (..); of p1: likewise
#include "plan/chains.hpp"
#include "plan/costs.hpp"
#include "plan/lines.hpp"
#include "plan/strategies.hpp"
#include "plan/tile_cycles.hpp"
#include "runtime/scratch.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxElement = 16;  // bytes
constexpr std::int64_t kMostRowBytes = 512;  // of the destination: longer rows are streamed as they are
constexpr std::int64_t kLongPieceBytes = 1024;  // of the source: longer ones gain nothing
constexpr std::int64_t kLongRunBytes = 4096;  // longer ones gain nothing
// Of either side. (Zen 5, 1 MB of second-level cache: with half of it runs of 1.2 KB or pieces of 160 bytes were left of
// some nests, 0.6 to 0.9 of the speed.)
constexpr std::int64_t kUnitBytes = 128 * 1024;
constexpr std::int64_t kStageBytes = 160 * 1024;  // with what lies between runs
constexpr std::int64_t kStreamedPiece = 4 * kLine;  // between what is asked for
constexpr std::int64_t kMostOffsets = 4096;  // of a table: of columns, or of rows to ask for

struct TransposeRuns final : Strategy {
    using Strategy::Strategy;

    bool match(const Problem& problem);
    double cost(const Problem& problem) const override {
        const std::int64_t now = columns.length * a.tile;  // of a kernel call
        return tile_cycles(now, rows.length, itemsize, problem.kernels()) + kStagedByte +
               kCallCycles / static_cast<double>(now * rows.length * itemsize);
    }
    Schedule schedule(const Problem& problem) override;
    void run(const Call& call) const noexcept override;
    bool asks_ahead() const override { return true; }
    double worth_of_blocks(StoreMode stores, const WorthOfBlocks& worth) const override {
        return stores == StoreMode::nontemporal ? worth.tiles : Strategy::worth_of_blocks(stores, worth);
    }
    StrategyWords describe() const override {
        return {"transpose into runs", "source parts", "steps",
                std::to_string(columns.length * a.tile) + " columns, " + std::to_string(rows.length) + " rows, " +
                    std::to_string(run_starts.size() * other_steps.size()) + " runs of " + std::to_string(run_bytes) + " B"};
    }
    std::size_t memory() const override {
        return Strategy::memory() + heap_bytes(columns.positions) + heap_bytes(others.positions) + heap_bytes(rows.positions) +
               heap_bytes(dst_rows) + heap_bytes(run_starts) + heap_bytes(other_steps) + heap_bytes(source.rows);
    }

private:
    void run_by(std::byte* stage, const Call& call) const noexcept;

    // Where a step of the other loops begins.
    struct Step {
        std::int64_t src;
        std::int64_t dst;
    };
    // Does a loop of columns stay in a run? What lies in the destination outside of a run lies behind all of it.
    bool stays_in_run(const Loop& loop) const { return loop.dst_stride < (b.extent == 1 ? run_bytes : b.dst_stride); }

    // Where step `k` of a unit of so many steps of b reads.
    std::int64_t source_of(std::int64_t k, std::int64_t steps) const {
        return other_steps[static_cast<std::size_t>(k / steps)].src + k % steps * b.src_stride;
    }

    Chain columns;  // whole loops; a is the one that goes on
    Chain rows;
    Chain others;  // of the source, where it goes on behind rows
    std::int64_t run_bytes = 0;  // of a whole tile of b
    std::int64_t pitch = 0;  // of runs in the stage
    std::vector<std::int64_t> dst_rows;  // of the columns, in the stage
    std::vector<std::int64_t> run_starts;  // in the destination
    std::vector<Step> other_steps;
    // Of a unit: what they read is asked for while the unit before leaves, and with each step what is so many later.
    std::int64_t early_steps = 0;
    SourceBlocks source;  // what they read
};

bool TransposeRuns::match(const Problem& problem) {
    const std::vector<Loop>& loops = problem.loops;
    if (!problem.context.large || problem.innermost != Problem::Innermost::elements || loops.size() < 3 ||
        itemsize > kMaxElement || !power_of_two(itemsize)) {
        return false;
    }
    Chain along;  // of the source
    std::int64_t bytes = itemsize;
    for (std::size_t k = problem.source_loop(bytes); k + 1 < loops.size() && bytes < kLongPieceBytes;
         k = problem.source_loop(bytes)) {
        along.add(k, loops);
        bytes *= loops[k].extent;
    }
    std::size_t next = loops.size();  // of the loops that a run has, so far
    while (next > 0 && !along.has(next - 1) && continues(loops[next - 1], rows.length * itemsize) &&
           rows.length * loops[next - 1].extent * itemsize <= kMostRowBytes) {
        rows.add(--next, loops);
    }
    if (along.positions.empty() || rows.positions.empty()) return false;
    // What follows the rows in the destination.
    std::int64_t run = rows.length * itemsize;
    std::size_t in_run = 0;
    for (; next > 0 && along.has(next - 1) && continues(loops[next - 1], run); ++in_run) run *= loops[--next].extent;
    // Columns: those of the run, and as many others as there is room for.
    const auto unit = [&] { return others.length * columns.length * rows.length * itemsize; };
    std::int64_t piece = itemsize;
    for (const std::size_t k : along.positions) {
        if (unit() * loops[k].extent > kUnitBytes || columns.length * loops[k].extent > kMostOffsets) {
            if (k >= next) return false;  // a run would be a part of what follows its rows, and leave no better than they
            a = TiledLoop::covering(loops[k]);
            a.tile = even_tile(a.extent, std::min(kUnitBytes / unit(), kMostOffsets / columns.length));
            taken.push_back(k);
            break;
        }
        columns.add(k, loops);
        in_run -= k >= next ? 1 : 0;
        piece *= loops[k].extent;
    }
    if (in_run != 0) return false;
    taken.insert(taken.end(), columns.positions.begin(), columns.positions.end());
    taken.insert(taken.end(), rows.positions.begin(), rows.positions.end());
    // The source behind the columns goes on along rows, and beyond.
    for (std::size_t k = problem.source_loop(piece); a.extent == 1 && k < loops.size() && piece < kLongPieceBytes;
         k = problem.source_loop(piece)) {
        piece *= loops[k].extent;
        if (takes(k)) continue;
        if (unit() * loops[k].extent > kUnitBytes || (k + 1 == next && continues(loops[k], run))) break;
        others.add(k, loops);
        taken.push_back(k);
    }
    if (next > 0 && !takes(next - 1) && continues(loops[next - 1], run)) {
        b = TiledLoop::covering(loops[next - 1]);
        taken.push_back(next - 1);
        const std::int64_t wanted = (kLongRunBytes + run - 1) / run;
        b.tile = even_tile(b.extent, std::min(kUnitBytes / (unit() * a.tile), wanted));
    }
    if ((others.length * b.tile + 1) / 2 * rows.length > kMostOffsets) return false;
    run_bytes = run * b.tile;
    pitch = (run_bytes + kLine - 1) / kLine * kLine + kLine;
    return run_bytes >= kLeastStreamedRun && unit() * a.tile * b.tile / run_bytes * pitch <= kStageBytes;
}

Schedule TransposeRuns::schedule(const Problem& problem) {
    const std::vector<Loop>& loops = problem.loops;
    src_rows = row_offsets(rows.positions, loops, &Loop::src_stride);
    dst_rows.assign(1, 0);
    run_starts.assign(1, 0);
    const auto add = [&](std::int64_t extent, std::int64_t dst_stride, bool in_run) {
        const std::size_t before = dst_rows.size();
        const std::size_t runs = run_starts.size();
        const std::int64_t step = in_run ? dst_stride : pitch * static_cast<std::int64_t>(runs);
        for (std::int64_t turn = 1; turn < extent; ++turn) {
            for (std::size_t i = 0; i < before; ++i) dst_rows.push_back(dst_rows[i] + turn * step);
            for (std::size_t i = 0; !in_run && i < runs; ++i) run_starts.push_back(run_starts[i] + turn * dst_stride);
        }
    };
    for (const std::size_t k : columns.positions) add(loops[k].extent, loops[k].dst_stride, stays_in_run(loops[k]));
    add(a.tile, a.dst_stride, false);
    const std::vector<std::int64_t> sources = row_offsets(others.positions, loops, &Loop::src_stride);
    const std::vector<std::int64_t> places = row_offsets(others.positions, loops, &Loop::dst_stride);
    for (std::size_t k = 0; k < sources.size(); ++k) other_steps.push_back({sources[k], places[k]});
    source.run = columns.length * a.tile * itemsize;
    const auto all = static_cast<std::int64_t>(other_steps.size()) * b.tile;
    early_steps = (all + 1) / 2;
    for (std::int64_t k = 0; k < early_steps; ++k) {
        for (const std::int64_t row : src_rows) source.rows.push_back(source_of(k, b.tile) + row);
    }
    // Of a tile with fewer rows than vectors have elements the kernel may ask for as many.
    src_rows.resize(src_rows.size() + static_cast<std::size_t>(kLine), src_rows.back());
    return {StoreMode::nontemporal};
}

// What a unit collects in.
struct Stage {
    alignas(kLine) std::byte bytes[kStageBytes];
};

void TransposeRuns::run(const Call& call) const noexcept {
    with_stage<Stage>([&](Stage& stage) { run_by(stage.bytes, call); });
}

void TransposeRuns::run_by(std::byte* stage, const Call& call) const noexcept {
    const auto log2 = log2_of(itemsize);
    const std::int64_t steps = b.steps(call.unit.b_tile);
    const std::int64_t a_steps = a.steps(call.unit.a_tile);
    const std::int64_t whole_runs = static_cast<std::int64_t>(run_starts.size());
    const std::int64_t runs = whole_runs / a.tile * a_steps;
    const std::int64_t stage_step = whole_runs * pitch;
    const auto all = static_cast<std::int64_t>(other_steps.size()) * steps;
    for (std::int64_t k = 0; k < all; ++k) {
        // Later steps are asked for with earlier ones.
        const std::int64_t later = k + early_steps;
        call.kernels.transpose[log2](call.src() + source_of(k, steps), src_rows.data(),
                                     stage + k / steps * stage_step + k % steps * b.dst_stride, dst_rows.data(),
                                     columns.length * a_steps, rows.length, {false, later < all && !call.near},
                                     {call.src() + (later < all ? source_of(later, steps) : 0), src_rows.data()});
    }
    const std::int64_t bytes = b.extent == 1 ? run_bytes : steps * b.dst_stride;
    LinesAhead ahead(&source);
    ahead.start(!call.near && call.next.src != call.unit.src ? call.base + call.next.src : nullptr);
    const std::int64_t pieces = static_cast<std::int64_t>(other_steps.size()) * runs *
                                ((bytes + kStreamedPiece - 1) / kStreamedPiece);
    const std::int64_t lines = (source.lines() + pieces - 1) / pieces;
    const std::byte* from = stage;
    for (const Step& other : other_steps) {
        for (std::int64_t k = 0; k < runs; ++k) {
            std::byte* const dst = call.dst + other.dst + run_starts[static_cast<std::size_t>(k)];
            for (std::int64_t at = 0; at < bytes;) {
                // The first piece up to a line.
                const std::int64_t now = std::min(bytes - at, kStreamedPiece - into_line(dst + at));
                ahead.ask(lines);
                call.kernels.stream(from + k * pitch + at, dst + at, now);
                at += now;
            }
        }
        from += stage_step;
    }
}

}  // namespace

std::unique_ptr<Strategy> match_transpose_runs(const Problem& problem) { return matched<TransposeRuns>(problem); }

}  // namespace dnnmove
