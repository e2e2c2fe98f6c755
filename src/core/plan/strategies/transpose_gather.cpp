// Transpose, then gather: for permutations of many short axes, of which one is among the innermost of both sides and keeps a
// transpose from long rows.
//
// A unit takes the innermost axes of the source, its columns, and those innermost in the destination that are not among them,
// its rows. It transposes rows against columns into a stage in the first-level cache; a gather from there puts the axes of both
// sides where the destination has them, between those of the rows.
//
//     source       x[i][j][p][s]   rows ij, columns ps      i0j0: p0s0 p0s1 p1s0 p1s1, i0j1: p0s0 p0s1 ..
//     stage        [p][s][i][j]    transposed               p0s0: i0j0 i0j1 i1j0 i1j1, p0s1: i0j0 i0j1 ..
//     destination  y[p][i][s][j]   gathered, run by run     p0: i0 (s0: j0 j1, s1: j0 j1), i1 (s0: j0 j1, s1: j0 j1)
#include <limits>

#include "plan/chains.hpp"
#include "plan/costs.hpp"
#include "plan/gather_table.hpp"
#include "plan/lines.hpp"
#include "plan/strategies.hpp"
#include "plan/tile_cycles.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxElement = 16;  // bytes
constexpr std::int64_t kMostRowBytes = 1024;  // of the source
constexpr std::int64_t kMostRunBytes = 4096;  // of the destination
constexpr std::int64_t kStageBytes = 32 * 1024;  // as much as a first-level cache holds
constexpr std::int64_t kBlockBytes = 1024;  // of a gather's table, which is longer only where one step of its loop is
constexpr double kRunCycles = 12;  // of a gather's call
// The pattern of a run repeats after so many bytes at most, and with it the gather's table; where it is longer, and a run
// hardly repeats it, a gather takes so many times the cycles. (Zen 5)
constexpr std::int64_t kLongBlockBytes = 512;
constexpr double kLongBlock = 1.9;

// Cycles per byte of a gather whose vectors have so many windows.
double gather_cycles(std::int64_t windows, const Kernels& kernels) {
    const Costs::Gathers& costs = costs_of(kernels).gather;
    const bool pairs = kernels.gather_windows == 2;
    const auto steps = static_cast<double>(pairs && windows > 1 ? windows - 1 : windows);
    const Costs::Gathers::PerVector& each = steps <= 4 ? costs.few_steps : costs.even_steps;
    const double vector = each.base + steps * (steps <= 8 ? each.step : costs.many_steps);
    return vector / static_cast<double>(kernels.gather_bytes);
}

// The loops of a long row of the source.
template <class Add>
void for_source_row(const Problem& problem, const Add& add) {
    const std::vector<Loop>& loops = problem.loops;
    std::int64_t bytes = problem.itemsize;
    for (std::size_t k = problem.source_loop(bytes); k < loops.size(); k = problem.source_loop(bytes)) {
        bytes *= loops[k].extent;
        if (bytes > kMostRowBytes) return;
        add(k);
    }
}

// Where the loops of a long run of the destination begin.
std::size_t first_of_run(const Problem& problem) {
    const std::vector<Loop>& loops = problem.loops;
    std::size_t first = loops.size();
    std::int64_t bytes = problem.itemsize;
    while (first > 0 && continues(loops[first - 1], bytes) && bytes * loops[first - 1].extent <= kMostRunBytes) {
        bytes *= loops[--first].extent;
    }
    return first;
}

// So many rows and the last one again, up to whole lanes.
std::int64_t padded(std::int64_t rows, std::int64_t itemsize) {
    const std::int64_t per_lane = 16 / itemsize;
    return (rows + per_lane - 1) / per_lane * per_lane;
}

// Bytes from column to column in the stage.
std::int64_t pitch_of(std::int64_t rows, std::int64_t itemsize) {
    return (padded(rows, itemsize) * itemsize + kLine - 1) / kLine * kLine;
}

// Which loops of either side a unit takes.
struct Division {
    Chain source;  // the columns
    Chain destination;  // a run
    double cycles = std::numeric_limits<double>::infinity();  // per byte, with those of calls
};

// As many of either side as cost the least. None where the two chains share no loop, or where one of them has no loop of its own.
Division divide(const Problem& problem) {
    const std::vector<Loop>& loops = problem.loops;
    const std::int64_t itemsize = problem.itemsize;
    const Kernels& kernels = problem.kernels();
    const std::size_t first = first_of_run(problem);
    Division best;
    Chain columns;
    for_source_row(problem, [&](std::size_t outermost) {
        columns.add(outermost, loops);
        Chain run;
        Chain both = columns;
        std::int64_t rows = 1;
        std::int64_t shared = 1;
        std::int64_t block = 0;  // bytes
        std::int64_t together = 1;  // elements of one column that follow each other in the run
        for (std::size_t k = loops.size(); k-- > first;) {
            (columns.has(k) ? shared : rows) *= loops[k].extent;
            if (columns.length * pitch_of(rows, itemsize) > kStageBytes) break;
            run.add(k, loops);
            if (!columns.has(k)) both.add(k, loops);
            if (columns.has(k)) block = run.length * itemsize;
            if (shared == 1) together = rows;
            // Of a column, what a vector takes lies together in the stage: a window has all of it. So there are at most as many
            // windows as columns that both share, nor more than its elements can be of. There is a table for so many.
            const std::int64_t elements = kernels.gather_bytes / itemsize;  // of a vector
            const std::int64_t windows = std::min({shared, elements, (elements + together - 2) / together + 1});
            const bool mixed = shared > 1 && rows > 1 && shared < columns.length;
            const bool whole_vectors = run.length * itemsize >= kernels.gather_bytes;
            if (!mixed || !whole_vectors || windows > most_gather_windows(kernels)) continue;
            const double longer = block > kLongBlockBytes && kernels.gather_windows == 1 ? kLongBlock : 1;
            double cycles = longer * gather_cycles(windows, kernels) + kRunCycles / static_cast<double>(run.length * itemsize);
            cycles += scatter_cost(problem, run.length * itemsize >= kLeastStreamedRun);
            if (cycles >= best.cycles) continue;
            const std::int64_t all_rows = padded(rows, itemsize);
            cycles += tile_cycles(columns.length, all_rows, itemsize, kernels) * static_cast<double>(all_rows) /
                      static_cast<double>(rows);
            if (cycles < best.cycles) cycles += cost_of_calls(both.positions, problem);
            if (cycles < best.cycles) best = {columns, run, cycles};
        }
    });
    return best;
}

struct TransposeGather final : Strategy {
    TransposeGather(const Problem& problem, Division division)
        : Strategy(problem),
          source(std::move(division.source)),
          destination(std::move(division.destination)),
          cycles(division.cycles) {
        taken = source.positions;
        for (const std::size_t k : destination.positions) {
            if (!source.has(k)) taken.push_back(k);
        }
    }
    double cost(const Problem&) const override { return cycles; }
    double call_cost(const Problem&) const override { return 0; }  // in `cycles`
    Schedule schedule(const Problem& problem) override {
        build(problem);
        return {streams ? StoreMode::nontemporal : StoreMode::cached};
    }
    void run(const Call& call) const noexcept override;
    bool asks_ahead() const override { return true; }
    double worth_of_blocks(StoreMode stores, const WorthOfBlocks& worth) const override {
        return stores == StoreMode::nontemporal ? worth.tiles : Strategy::worth_of_blocks(stores, worth);
    }
    StrategyWords describe() const override {
        return {"transpose, then gather", "source columns", "source rows",
                "blocks of " + std::to_string(table.loop_steps * along.dst_stride) + " B"};
    }
    std::size_t memory() const override {
        return Strategy::memory() + heap_bytes(source.positions) + heap_bytes(destination.positions) + heap_bytes(stage_rows) +
               heap_bytes(runs) + sizeof table + table.memory();
    }

private:
    void build(const Problem& problem);
    void make_gather(const std::vector<std::int64_t>& sources, std::int64_t inner, std::int64_t loop, const Kernels& kernels);

    Chain source;
    Chain destination;
    double cycles;
    std::int64_t padded_rows = 0;  // the last one again, up to whole lanes
    std::int64_t pitch = 0;
    bool streams = false;
    std::vector<std::int64_t> stage_rows;
    GatherTable table;
    KernelLoop along{1, 0, 0};  // of the gather: the steps of a run
    KernelLoop across{1, 0, 0};  // likewise: some runs, from each of `runs` on
    std::int64_t run_bytes = 0;
    std::vector<RunPlace> runs;  // of the destination that a unit writes: where the stage has them, and where they go
};

void TransposeGather::build(const Problem& problem) {
    const std::vector<Loop>& loops = problem.loops;
    run_bytes = destination.length * itemsize;
    streams = problem.context.large && run_bytes >= kLeastStreamedRun;
    std::vector<std::size_t> rows;  // loops of the destination only, the innermost first
    std::size_t inner_loops = 0;  // of the destination, up to the last that both have
    for (std::size_t k = 0; k < destination.positions.size(); ++k) {
        const std::size_t position = destination.positions[k];
        if (source.has(position)) inner_loops = k + 1;
        if (!source.has(position)) rows.push_back(position);
    }
    src_rows = row_offsets(rows, loops, &Loop::src_stride);
    const auto count = static_cast<std::int64_t>(src_rows.size());
    padded_rows = padded(count, itemsize);
    src_rows.resize(static_cast<std::size_t>(padded_rows), src_rows.back());
    pitch = pitch_of(count, itemsize);
    for (std::int64_t i = 0; i < source.length; ++i) stage_rows.push_back(i * pitch);
    // Where the stage has the elements of the inner loops of a run, in the destination's order.
    const auto in_stage = [&](std::size_t position) { return loops[position].src_stride / itemsize * pitch; };
    std::vector<std::int64_t> sources{0};
    std::int64_t row_step = itemsize;  // bytes in the stage from step to step of a loop of rows
    for (std::size_t k = 0; k < inner_loops; ++k) {
        const std::size_t position = destination.positions[k];
        const std::int64_t step = source.has(position) ? in_stage(position) : row_step;
        const std::size_t before = sources.size();
        for (std::int64_t turn = 1; turn < loops[position].extent; ++turn) {
            for (std::size_t i = 0; i < before; ++i) sources.push_back(sources[i] + turn * step);
        }
        if (!source.has(position)) row_step *= loops[position].extent;
    }
    make_gather(sources, row_step, destination.length / static_cast<std::int64_t>(sources.size()), problem.kernels());
    // The loops of the source only: the longest goes into the kernel's call.
    std::vector<std::size_t> others;
    for (const std::size_t position : source.positions) {
        if (!destination.has(position)) others.push_back(position);
    }
    if (!streams) {
        const auto longest = std::max_element(others.begin(), others.end(), [&](std::size_t one, std::size_t other) {
            return loops[one].extent < loops[other].extent;
        });
        across = {loops[*longest].extent, in_stage(*longest), loops[*longest].dst_stride};
        others.erase(longest);
    }
    runs.assign(1, {0, 0});
    for (const std::size_t position : others) {
        const std::size_t before = runs.size();
        for (std::int64_t turn = 1; turn < loops[position].extent; ++turn) {
            for (std::size_t i = 0; i < before; ++i) {
                runs.push_back({runs[i].src + turn * in_stage(position), runs[i].dst + turn * loops[position].dst_stride});
            }
        }
    }
    a = {source.length, source.length, itemsize, 0};
    b = {count, count, 0, itemsize};
}

// `sources`: of one step of the loop along a run, of which there are `length`, `inner` bytes apart in the stage.
void TransposeGather::make_gather(const std::vector<std::int64_t>& sources, std::int64_t inner, std::int64_t length,
                                  const Kernels& kernels) {
    const std::int64_t bytes = static_cast<std::int64_t>(sources.size()) * itemsize;
    const std::int64_t width = kernels.gather_bytes;
    // As many as leave the fewest vectors: the last one of a block and the last block of a run repeat what others have.
    const std::int64_t least = (width + bytes - 1) / bytes;
    std::int64_t steps = least;
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t now = least; now <= length && (now == least || now * bytes <= kBlockBytes); ++now) {
        const std::int64_t vectors = (length + now - 1) / now * ((now * bytes + width - 1) / width);
        if (vectors < fewest) {
            fewest = vectors;
            steps = now;
        }
    }
    std::vector<std::int64_t> block;
    block.reserve(sources.size() * static_cast<std::size_t>(steps));
    for (std::int64_t k = 0; k < steps; ++k) {
        for (const std::int64_t offset : sources) block.push_back(k * inner + offset);
    }
    table = *build_gather(block, itemsize, GatherRuns{steps * bytes}, kernels);  // there is one: its windows are few (divide)
    table.loop_steps = static_cast<std::int32_t>(steps);
    along = {length, inner, bytes};
}

void TransposeGather::run(const Call& call) const noexcept {
    alignas(kLine) std::byte stage[kStageBytes + kLine];
    const auto log2 = log2_of(itemsize);
    call.kernels.transpose[log2](call.src(), src_rows.data(), stage, stage_rows.data(), a.extent, padded_rows,
                                 {false, !call.near}, {call.base + call.next.src, src_rows.data()});
    const GatherBlock block = table.block();
    if (!streams) {
        const auto count = static_cast<std::int64_t>(runs.size());
        return call.kernels.gather_runs(block, stage, call.dst, along, across, runs.data(), count);
    }
    alignas(kLine) std::byte line[kMostRunBytes + 2 * kLine];
    for (const RunPlace& run : runs) {
        std::byte* const dst = call.dst + run.dst;
        std::byte* const from = line + into_line(dst);
        call.kernels.gather(block, stage + run.src, from, along, across, {});
        call.kernels.stream(from, dst, run_bytes);
    }
}

}  // namespace

std::unique_ptr<Strategy> match_transpose_gather(const Problem& problem) {
    const std::int64_t itemsize = problem.itemsize;
    if (problem.innermost != Problem::Innermost::elements || problem.loops.size() < 3 || itemsize > kMaxElement ||
        !power_of_two(itemsize)) {
        return nullptr;
    }
    Division division = divide(problem);
    if (division.source.positions.empty()) return nullptr;
    return std::make_unique<TransposeGather>(problem, std::move(division));
}

}  // namespace dnnmove
