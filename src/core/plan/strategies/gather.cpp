// Gather: blocks of the destination, each vector permuted out of a few windows of the source.
#include <numeric>

#include "plan/strategies.hpp"
#include "plan/gather_table.hpp"
#include "plan/row_strategy.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxBlockBytes = 1024;
// Of what is repeated, against fills: how much longer than estimated vectors of 64 bytes and of 16 take, and cycles of one whose
// windows are loaded by masks. (Zen 4, 30,000 and 300,000 elements repeated 2 to 50 times: fills of up to 64 bytes take 2 to 4.6
// cycles, vectors of 64 bytes 3.7 to 6.9, of 16 bytes 2 to 3; by masks 13 and 50.)
constexpr double kRepeated = 1.25;
constexpr double kRepeatedNarrow = 1.75;
constexpr double kMasked = 40;
constexpr double kFarLine = 1.5;  // cycles, of a line beyond the caches of which a block takes little
constexpr double kFewRows = 4;  // whose vectors are moved together: more of them share what one would cost
constexpr std::int64_t kMaxListedElement = 64;  // bytes
// Inside the caches longer elements are copied one by one; and past them where gathers, which shun a stage, would be planned as
// inside (Strategy::shuns_stage). (Zen 5, one thread, 250 KB and 4 MB, 18,000 permutations of elements of 34 to 62 bytes: where
// gathers by vectors of a line were estimated to be faster, they took 1.02 to 1.5 times as long, in the mean of each size but one,
// 0.97; those of 16 bytes never were. Past them, 75 and 128 MB, rows of 3 and 4 elements of 36 and 52 bytes: 1.0 to 4.5 times as fast as
// by a stage or by blocks.)
constexpr std::int64_t kMaxCachedElement = 32;  // bytes
constexpr std::int64_t kLeastListedBlock = 256;  // bytes
constexpr std::int64_t kMaxTabledBytes = 32 * 1024;  // of the destination, of a loop with offset tables

// The position of a short loop outside `position` that moves the source by less than a line and less
// than `src_stride`; loops.size() where there is none.
std::size_t find_sharing(const Problem& problem, std::size_t position, std::int64_t src_stride) {
    const std::vector<Loop>& loops = problem.loops;
    const std::int64_t most_runs = problem.kernels().gather_windows == 2 ? 16 : 5;
    for (std::size_t k = 0; k < position; ++k) {
        const Loop& loop = loops[k];
        const std::int64_t stride = std::abs(loop.src_stride);
        if (loop.table || loop.extent > most_runs || stride == 0 || stride < problem.itemsize) continue;
        if (stride < std::min(kLine, std::abs(src_stride))) return k;
    }
    return loops.size();
}

// Inside the caches a few streams, interleaved along this loop or dealt out of it, are gathered out of windows
// that their vectors share, in blocks of a vector of each; whole rows would need as many windows for every vector.
bool streams_follow(const Problem& problem, std::size_t position, std::int64_t bytes) {
    const auto& [loops, itemsize, context, innermost] = problem;
    const Loop& loop = loops[position];
    if (context.beyond_cache || context.kernels->gather_windows != 2 || loop.table || loop.extent * itemsize < 64) return false;
    if (bytes > itemsize) return bytes <= kMostShared * itemsize && std::abs(loop.src_stride) == itemsize;
    const std::size_t sharing = find_sharing(problem, position, loop.src_stride);
    return sharing < loops.size() && loops[sharing].extent <= kMostShared;
}

// The source's offsets of the elements of a short row that a table lists, in their order in the destination; empty where
// the loops have none.
std::vector<std::int64_t> listed_row(const std::vector<Loop>& loops, std::int64_t itemsize) {
    // Bytes of a row: of wider elements, as many as a vector has, single moves are as fast.
    const std::int64_t most = itemsize < 8 ? kMaxBlockBytes / 2 : kMaxBlockBytes / 4;
    const auto tables = std::count_if(loops.begin(), loops.end(), [](const Loop& loop) { return loop.table != nullptr; });
    if (tables != 1 || !loops[0].table || loops[0].table->given() || loops[0].extent > most / itemsize) return {};
    const OffsetTable& table = *loops[0].table;
    std::vector<std::int64_t> sources(table.dst.size());
    for (std::size_t k = 0; k < table.dst.size(); ++k) {
        const std::int64_t place = table.dst[k] / itemsize;
        if (table.dst[k] % itemsize != 0 || place < 0 || place >= loops[0].extent) return {};
        sources[static_cast<std::size_t>(place)] = k < table.src.size() ? table.src[k] : kNoSource;
    }
    return sources;
}

// A block of whole inner loops, or of a row that a table lists, and of some steps of the next one, gathered as one table.
struct Gather : RowStrategy {
    using RowStrategy::RowStrategy;

    bool match(const Problem& problem);
    double cost(const Problem& problem) const override {
        const Costs::Gathers& costs = costs_of(problem.kernels()).gather;
        double cycles = (table.cycles(costs, problem.context.beyond_cache) + costs.block) / static_cast<double>(block_bytes);
        const double rows = rows_together(problem) ? std::max(1.0, static_cast<double>(b.extent) / kFewRows) : 1;
        cycles += costs.row_of_blocks / rows / static_cast<double>(a.extent * a.dst_stride * runs);
        if (problem.innermost == Problem::Innermost::repeated) {
            cycles *= problem.kernels().gather_windows == 2 ? kRepeated : kRepeatedNarrow;
            const bool masked = table.window_bytes < problem.kernels().gather_bytes;
            cycles += masked ? kMasked * static_cast<double>(table.vectors.size()) / static_cast<double>(block_bytes) : 0;
        }
        if (problem.context.beyond_cache) {
            // Nothing is prefetched: short vectors wait for each of their lines, and lines of which a block takes little
            // come from afar again and again.
            cycles *= costs.far;
            cycles += kFarLine * table.spare_lines() / static_cast<double>(block_bytes);
        }
        return cycles + 1.5 * far_cost(problem, problem.loops.back());
    }
    // Do rows have few blocks, whose vectors, of 16 bytes, are moved together? (Zen 5, AVX2, 250 KB and 4 MB, 9000 permutations
    // with 1 or 2 blocks in a row: 0 to 7 cycles more for each row; with more of them 40 to 60.)
    bool rows_together(const Problem& problem) const {
        const std::int64_t blocks = a.extent / table.loop_steps;
        const bool whole = table.vector_bytes >= 16 && table.window_bytes >= 16;
        return problem.kernels().gather_windows == 1 && whole && !problem.context.beyond_cache && blocks < kManyBlocks &&
               blocks < b.extent;
    }
    StoreMode size(const Problem& problem) final;
    // What cannot be streamed by itself is faster stored ordinarily, and best as inside the caches.
    bool shuns_stage() const final { return true; }
    double worth_of_blocks(StoreMode stores, const WorthOfBlocks& worth) const final {
        return stores == StoreMode::cached ? worth.cached_gathers : worth.tiles;
    }
    void run(const Call& call) const noexcept final {
        call.kernels.gather(table.block(), call.src(), call.dst, a_of(call), b_of(call), call.stores());
    }
    StrategyWords describe() const final {
        StrategyWords words{"gather", "blocks", "rows"};
        words.remark = "block of " + std::to_string(table.loop_steps) + " steps: " + std::to_string(table.vectors.size()) +
                       " vectors, " + std::to_string(table.steps.size()) + " permutes";
        if (table.network != 0) words.remark += ", networks of " + std::to_string(1 << table.network);
        return words;
    }
    std::size_t memory() const final { return Strategy::memory() + sizeof table + table.memory(); }

    GatherTable table;
    std::int64_t runs = 1;  // of the destination that a block writes, far from each other
    std::int64_t block_bytes = 0;  // of the destination
    bool scattered = false;  // vectors lie apart in the destination

protected:
    // Of `steps` steps of the loop that becomes a; `sources` as build_gather takes them.
    bool build(const std::vector<std::int64_t>& sources, const GatherRuns& destination, std::int64_t steps,
               const Kernels& kernels) {
        auto built = build_gather(sources, itemsize, destination, kernels);
        if (!built) return false;
        table = std::move(*built);
        table.loop_steps = static_cast<std::int32_t>(steps);
        runs = static_cast<std::int64_t>(destination.offsets.size());
        block_bytes = static_cast<std::int64_t>(sources.size()) * itemsize;
        return true;
    }
};

bool Gather::match(const Problem& problem) {
    using enum Problem::Innermost;
    const auto& [loops, size, context, innermost] = problem;
    const std::int64_t width = context.kernels->gather_bytes;
    std::vector<std::int64_t> inner{0};  // source offsets, in order of the destination
    std::size_t position = loops.size();
    std::int64_t bytes = itemsize;
    std::size_t first = 0;  // of the loops that no table has
    if (itemsize <= kMaxListedElement) {
        if (std::vector<std::int64_t> row = listed_row(loops, itemsize); !row.empty()) {
            inner = std::move(row);
            bytes *= loops[0].extent;
            taken.push_back(0);
            first = 1;
            if (position == first || !continues(loops.back(), bytes)) return false;
        }
    }
    const bool short_enough = itemsize <= kMaxCachedElement || context.beyond_cache;
    const bool fits = first != 0 || (innermost == elements && short_enough) || (innermost == repeated && itemsize <= 64);
    if (!fits) return false;
    // Whole loops, as long as a block stays small and the destination contiguous.
    while (position > first && continues(loops[position - 1], bytes) && !streams_follow(problem, position - 1, bytes) &&
           bytes * loops[position - 1].extent <= (bytes < width ? kMaxBlockBytes / 2 : width)) {
        const Loop& loop = loops[--position];
        std::vector<std::int64_t> outer;
        outer.reserve(inner.size() * static_cast<std::size_t>(loop.extent));
        for (std::int64_t k = 0; k < loop.extent; ++k) {
            for (const std::int64_t offset : inner)
                outer.push_back(offset == kNoSource ? offset : k * loop.src_stride + offset);
        }
        inner = std::move(outer);
        bytes *= loop.extent;
        taken.push_back(position);
    }
    // Some steps of the next loop, so many that the block fills whole vectors.
    std::int64_t extent = 1;
    std::int64_t src_stride = 0;
    if (position > first && continues(loops[position - 1], bytes)) {
        const Loop& loop = loops[--position];
        extent = loop.extent;
        src_stride = loop.src_stride;
        taken.push_back(position);
    }
    std::int64_t steps = 1;
    // Inside the caches rows of a few vectors, nearly whole ones, are blocks: the last vector overlaps the
    // one before, and none gathers from two rows.
    const bool whole_rows = !context.beyond_cache && width == 64 && bytes > width &&
                            (bytes + width - 1) / width * width * 8 <= bytes * 9;
    // (Listed rows are short, and many of them make a block that is worth its call.)
    const std::int64_t least = first != 0 ? kLeastListedBlock : 0;
    // (Of what is repeated within a vector a block has more: windows of less than one are loaded by masks.)
    const bool short_windows = innermost == repeated && src_stride != 0 && bytes < width;
    const std::int64_t window = short_windows ? std::abs(src_stride) : width;
    const std::int64_t whole_windows = (width + window - 1) / window;
    const std::int64_t fewest = whole_windows * bytes <= kMaxBlockBytes ? whole_windows : 1;
    const auto goes_on = [&] { return (steps * bytes) % width != 0 || steps * bytes < least || steps < fewest; };
    while (!whole_rows && steps < extent && goes_on() && (steps + 1) * bytes <= kMaxBlockBytes) ++steps;
    if (!whole_rows && (steps * bytes) % width != 0) {  // no multiple within reach: long blocks, whose last vectors overlap
        steps = std::clamp<std::int64_t>(kMaxBlockBytes / 2 / bytes, 1, extent);
    }
    if (!context.beyond_cache && extent > steps) {
        // Shorter blocks, where the last one of a row would repeat much of the one before.
        const std::int64_t blocks = (extent + steps - 1) / steps;
        const std::int64_t even = (extent + blocks - 1) / blocks;
        if ((even * bytes + width - 1) / width < steps * bytes / width) steps = even;
    }
    std::vector<std::int64_t> sources;
    sources.reserve(inner.size() * static_cast<std::size_t>(steps));
    for (std::int64_t k = 0; k < steps; ++k) {
        for (const std::int64_t offset : inner) sources.push_back(offset == kNoSource ? offset : k * src_stride + offset);
    }
    GatherRuns destination{steps * bytes};
    // A loop that stays inside the lines the block reads, as NHWC's channels do, joins it: every line is
    // then read once, into several runs of the destination.
    // (Not with narrow vectors, many of which such a block would take, unless runs are of single elements.)
    const bool shares = extent > steps && innermost != padding && (context.kernels->gather_windows == 2 || bytes == itemsize);
    const std::size_t sharing = shares ? find_sharing(problem, position, src_stride) : loops.size();
    if (sharing < loops.size()) {
        const Loop& loop = loops[sharing];
        const std::size_t once = sources.size();
        for (std::int64_t k = 1; k < loop.extent; ++k) {
            for (std::size_t i = 0; i < once; ++i) sources.push_back(sources[i] + k * loop.src_stride);
            destination.offsets.push_back(k * loop.dst_stride);
        }
        taken.push_back(sharing);
        scattered = true;
    }
    if (!build(sources, destination, steps, *context.kernels)) return false;
    a = {extent, extent, src_stride, bytes, true};
    while (position > first && position - 1 == sharing) --position;
    if (position > first) take_second_loop(problem, position - 1, scattered ? 0 : extent * bytes);
    return true;
}

StoreMode Gather::size(const Problem& problem) {
    const PlanContext& context = problem.context;
    const std::int64_t bytes = a.dst_stride;
    const std::int64_t row = a.extent * bytes;
    const std::int64_t alignment = row_alignment(problem);
    const bool lines = row % kLine == 0 && alignment == kLine;
    // Non-temporal stores straight from the kernel, where blocks are whole lines, or whole vectors of a stage, and can
    // reach one.
    const bool parts = context.kernels->gather_windows == 1 &&
                       static_cast<std::int64_t>(table.vectors.size()) * 16 == table.loop_steps * bytes;
    bool whole_blocks = table.loop_steps * bytes % (parts ? 16 : kLine) == 0 && table.window_bytes >= 16;
    if (scattered) {
        for (const GatherVector& vector : table.vectors) whole_blocks = whole_blocks && vector.dst % kLine == 0;
        whole_blocks = whole_blocks && table.vector_bytes == kLine && alignment == kLine;
    }
    const bool direct = context.beyond_cache && whole_blocks &&
                        (lines || (row >= kLeastStreamedRun && alignment % line_part(bytes) == 0));
    const bool stage = context.beyond_cache && !direct && row >= 2 * kLine && !scattered;
    if (stage) return StoreMode::staged;
    std::int64_t unit = kUnitBytes;
    // Every vector of a block writes a run of its own: long ones, of what is streamed above all.
    if (scattered) {
        const auto count = static_cast<std::int64_t>(table.vectors.size());
        unit = std::clamp<std::int64_t>((direct ? 64 : 16) * unit / count, 1024, 2 * kUnitBytes);
    }
    size_near(problem, bytes, unit, table.loop_steps, false);
    return direct ? StoreMode::nontemporal : StoreMode::cached;
}

// A loop with offset tables, whose steps fall into equal runs of the destination (the lanes of a blocked
// layout), with as many steps of the innermost other loop as make the runs whole vectors.
struct GatherByTable final : Gather {
    using Gather::Gather;

    double cost(const Problem& problem) const override {
        const Costs::Gathers& costs = costs_of(problem.kernels()).gather;
        return (table.cycles(costs, problem.context.beyond_cache) + costs.block) / static_cast<double>(block_bytes);
    }
    bool match(const Problem& problem) {
        using enum Problem::Innermost;
        const std::vector<Loop>& loops = problem.loops;
        const std::int64_t width = problem.kernels().gather_bytes;
        if (problem.innermost == repeated || problem.innermost == rows || problem.innermost == listed) return false;
        if (itemsize > kMaxListedElement || loops.size() < 2 || !loops[0].table || loops[1].table ||
            loops[0].extent * itemsize > kMaxTabledBytes) {
            return false;
        }
        const OffsetTable& offsets = *loops[0].table;
        std::vector<std::size_t> by_place(offsets.dst.size());
        std::iota(by_place.begin(), by_place.end(), std::size_t{0});
        if (!std::is_sorted(offsets.dst.begin(), offsets.dst.end())) {
            std::sort(by_place.begin(), by_place.end(),
                      [&](std::size_t x, std::size_t y) { return offsets.dst[x] < offsets.dst[y]; });
        }
        GatherRuns destination{0, {}};
        std::int64_t length = 0;  // bytes of the run so far
        for (std::size_t k = 0; k < by_place.size(); ++k) {
            if (k == 0 || offsets.dst[by_place[k]] != offsets.dst[by_place[k - 1]] + itemsize) {
                if (destination.offsets.size() == 1) destination.bytes = length;
                if (length != destination.bytes) return false;
                destination.offsets.push_back(offsets.dst[by_place[k]]);
                length = 0;
            }
            length += itemsize;
        }
        // One run is a row, which Gather takes where that pays.
        if (destination.offsets.size() < 2 || length != destination.bytes) return false;

        const Loop& inner = loops.back();
        std::int64_t steps = 1;
        if (inner.dst_stride == destination.bytes) {
            while (steps * destination.bytes % width != 0 && steps < inner.extent && steps < width) ++steps;
        }
        std::vector<std::int64_t> sources;
        sources.reserve(by_place.size() * static_cast<std::size_t>(steps));
        const auto per_run = static_cast<std::size_t>(destination.bytes / itemsize);
        for (std::size_t run = 0; run < destination.offsets.size(); ++run) {
            for (std::int64_t step = 0; step < steps; ++step) {
                for (std::size_t k = 0; k < per_run; ++k) {
                    const std::size_t at = by_place[run * per_run + k];
                    sources.push_back(at < offsets.src.size() ? offsets.src[at] + step * inner.src_stride : kNoSource);
                }
            }
        }
        destination.bytes *= steps;
        if (!build(sources, destination, steps, problem.kernels())) return false;
        a = {inner.extent, inner.extent, inner.src_stride, inner.dst_stride, true};
        scattered = true;
        taken = {0, loops.size() - 1};
        if (loops.size() > 2) take_second_loop(problem, loops.size() - 2);
        return true;
    }
};

}  // namespace

std::unique_ptr<Strategy> match_gather(const Problem& problem) { return matched<Gather>(problem); }
std::unique_ptr<Strategy> match_gather_by_table(const Problem& problem) { return matched<GatherByTable>(problem); }

}  // namespace dnnmove
