// Builds the permutation tables of the gather kernels.
//
// Every destination vector is covered greedily: the lowest source byte not yet covered starts a
// window, until all its bytes lie in one. Vectors repeat each other but for where they read, so steps
// are worked out once per pattern, and equal indices are kept once.
#include "plan/gather_table.hpp"

#include <algorithm>
#include <cstring>

#include "plan/gather_network.hpp"
#include "plan/gather_patterns.hpp"
#include "runtime/heap_bytes.hpp"

namespace dnnmove {
namespace {

// Gives every vector as many steps as the longest, where that adds little: kernels with a fixed
// count need no branch. An added step keeps every byte.
void even_steps(GatherTable& table, GatherPatterns& patterns, bool always) {
    std::int32_t most = 0;
    for (const GatherVector& vector : table.vectors) most = std::max(most, vector.steps);
    const auto all = static_cast<std::size_t>(most) * table.vectors.size();
    if (!always && all != table.steps.size() && (most > 4 || all > table.steps.size() * 3 / 2)) return;
    table.even_steps = most;
    table.one_window = most == 1 && std::all_of(table.steps.begin(), table.steps.end(),
                                                [](const GatherStep& step) { return step.first == step.second; });
    if (all == table.steps.size()) return;
    std::vector<GatherStep> even;
    even.reserve(all);
    const GatherStep* step = table.steps.data();
    for (GatherVector& vector : table.vectors) {
        even.insert(even.end(), step, step + vector.steps);
        step += vector.steps;
        GatherStep keep = even.back();
        keep.index = patterns.keep_all();
        even.insert(even.end(), static_cast<std::size_t>(most - vector.steps), keep);
        vector.steps = most;
    }
    table.steps = std::move(even);
}

// One prefetch per source line: lines of an unaligned source straddle the grid, which costs little.
std::vector<std::int32_t> lines_of(const std::vector<GatherStep>& steps) {
    std::vector<std::int32_t> lines;
    lines.reserve(steps.size() * 2);
    for (const GatherStep& step : steps) {
        for (const std::int32_t offset : {step.first, step.second}) {
            const std::int32_t line = offset & ~63;
            if (lines.empty() || (lines.back() != line && lines[lines.size() / 2] != line)) lines.push_back(line);
        }
    }
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    return lines;
}

// Makes all vectors out of the same few windows, where that takes fewer loads and permutes.
bool share_windows(GatherTable& table, const std::vector<std::int32_t>& places, std::size_t units, GatherPatterns& patterns,
                   const Kernels& kernels) {
    const std::size_t count = table.vectors.size();
    if (kernels.gather_windows != 2 || table.vector_bytes < 64 || table.window_bytes < 64 || table.zeroes ||
        count > kMostShared)
        return false;
    std::vector<std::int32_t> windows;
    std::size_t apart = 0;  // loads and permutes without sharing
    for (std::size_t v = 0; v < count; ++v) {
        patterns.cover(places.data() + v * units, units, windows);
        apart += 2 * windows.size() + std::max<std::size_t>(1, windows.size() - 1);
    }
    patterns.cover(places.data(), places.size(), windows);
    const std::size_t steps = std::max<std::size_t>(1, windows.size() - 1);
    if (!shares_windows(static_cast<std::int64_t>(count), static_cast<std::int64_t>(windows.size())) ||
        2 * windows.size() + count * steps > apart) {
        return false;
    }
    for (std::size_t v = 0; v < count; ++v) {
        patterns.make_steps(places.data() + v * units, windows, table.steps);
        table.vectors[v].steps = static_cast<std::int32_t>(steps);
    }
    table.even_steps = static_cast<std::int32_t>(steps);
    table.shared_windows = static_cast<std::int32_t>(windows.size());
    table.one_window = windows.size() == 1;
    table.lines = lines_of(table.steps);
    return true;
}

}  // namespace

std::size_t GatherTable::memory() const {
    return heap_bytes(vectors) + heap_bytes(steps) + heap_bytes(indices) + heap_bytes(lines);
}

double GatherTable::spare_lines() const {
    const auto needed = static_cast<std::int64_t>(vectors.size()) * vector_bytes / 64;
    return static_cast<double>(std::max<std::int64_t>(0, static_cast<std::int64_t>(lines.size()) - needed));
}

double GatherTable::cycles(const Costs::Gathers& costs, bool beyond_cache) const {
    // What so many vectors of a network move does not stay in the first-level cache. (Zen 5, 250 KB, medians of 1360 permutations: of
    // 64 to 127 vectors each takes 10 to 12 cycles, estimated at 8 to 11 without this; of more 14 to 19, at 7 to 13.)
    constexpr std::size_t kManyVectors = 96;
    constexpr double kFarVector = 5;  // cycles
    double cycles = costs.spare_line * spare_lines();
    if (network != 0 && vectors.size() > kManyVectors) cycles += kFarVector * static_cast<double>(vectors.size());
    if (network == 0 && (shared_windows > 0 || (one_window && !beyond_cache))) {
        const double each = costs.shared_windows.base + costs.shared_windows.step * std::max(1, shared_windows);
        return cycles + each * static_cast<double>(vectors.size());
    }
    const bool in_registers = !beyond_cache && vector_bytes == 64 && even_steps != 0 && vectors.size() <= kMostGatherVectors &&
                              steps.size() <= kMostGatherTables && !zeroes;
    // Short vectors come in runs of their own kernels, whose loops end alike.
    const bool mixed = even_steps == 0 && vector_bytes == 64;
    for (const GatherVector& vector : vectors) {
        const Costs::Gathers::PerVector& each = network != 0        ? costs.network[static_cast<std::size_t>(network - 2)]
                                                : in_registers      ? costs.in_registers
                                                : mixed             ? costs.mixed_steps
                                                : vector.steps <= 4 ? costs.few_steps
                                                                    : costs.even_steps;
        cycles += each.base + vector.steps * (vector.steps <= 8 ? each.step : costs.many_steps);
    }
    return cycles;
}

std::optional<GatherTable> build_gather(const std::vector<std::int64_t>& sources, std::int64_t itemsize, const GatherRuns& runs,
                                        const Kernels& kernels) {
    const std::int64_t width = kernels.gather_bytes;
    const std::int64_t total = runs.bytes;
    if (sources.empty() || (total < width && runs.offsets.size() > 1)) return std::nullopt;
    constexpr std::int64_t kFar = std::numeric_limits<std::int32_t>::max() / 2;
    std::int64_t lowest = kFar;
    std::int64_t highest = -kFar;
    bool zeroes = false;
    for (const std::int64_t offset : sources) {
        if (offset == kNoSource) {
            zeroes = true;
            continue;
        }
        lowest = std::min(lowest, offset);
        highest = std::max(highest, offset);
    }
    if (highest >= kFar || lowest <= -kFar || highest < lowest) return std::nullopt;

    GatherTable table;
    table.zeroes = zeroes;
    table.vector_bytes = static_cast<std::int32_t>(std::min(width, total));
    table.window_bytes = static_cast<std::int32_t>(std::min(width, highest + itemsize - lowest));
    // Equal pieces of elements, aligned in every vector.
    const std::int64_t unit = std::min<std::int64_t>(16, itemsize & -itemsize);
    const auto units = static_cast<std::size_t>(table.vector_bytes / unit);
    const std::int64_t per_run = (total + width - 1) / width;  // vectors; the last overlaps the one before
    const std::size_t count = static_cast<std::size_t>(per_run) * runs.offsets.size();
    std::vector<std::int32_t> places(count * units);  // source offset of every unit
    table.vectors.reserve(count);
    std::int32_t* place = places.data();
    for (std::size_t run = 0; run < runs.offsets.size(); ++run) {
        for (std::int64_t vector = 0; vector < per_run; ++vector) {
            const std::int64_t from = std::max<std::int64_t>(0, std::min(vector * width, total - width));
            const std::int64_t to = runs.offsets[run] + from;
            if (to > kFar || to < -kFar) return std::nullopt;
            std::uint64_t keep = ~0ull;
            std::int64_t element = (static_cast<std::int64_t>(run) * total + from) / itemsize;
            std::int64_t within = from % itemsize;
            for (std::size_t k = 0; k < units; ++k) {
                const std::int64_t offset = sources[static_cast<std::size_t>(element)];
                if (offset == kNoSource) {
                    *place++ = GatherPatterns::kNone;
                    keep &= ~(((1ull << unit) - 1) << (static_cast<std::int64_t>(k) * unit));
                } else {
                    *place++ = static_cast<std::int32_t>(offset + within);
                }
                within += unit;
                if (within == itemsize) {
                    within = 0;
                    ++element;
                }
            }
            table.vectors.push_back({static_cast<std::int32_t>(to), 0, keep});
        }
    }

    const std::int32_t last = static_cast<std::int32_t>(highest + itemsize) - table.window_bytes;
    GatherPatterns patterns(table.indices, static_cast<std::int32_t>(unit), units, table.window_bytes, last,
                            kernels.gather_windows == 2);
    const auto max_windows = static_cast<std::size_t>(most_gather_windows(kernels));
    if (share_windows(table, places, units, patterns, kernels)) return table;
    if (width == 64 && units * static_cast<std::size_t>(unit) == 64) {
        const NetworkShape shape = choose_network(places, units, patterns);
        if (shape.rounds != 0 && build_network(table, places, units, static_cast<std::int32_t>(unit), shape, patterns)) {
            even_steps(table, patterns, true);
            table.lines = lines_of(table.steps);
            return table;
        }
    }
    table.steps.reserve(count * 2);
    for (std::size_t v = 0; v < count; ++v) {
        if (!patterns.add(places.data() + v * units, max_windows, table.vectors[v], table.steps)) return std::nullopt;
    }
    if (kernels.gather_windows == 2) even_steps(table, patterns, false);
    table.lines = lines_of(table.steps);
    return table;
}

std::vector<GatherIndex> cell_permutes(std::int64_t width, std::int64_t cell) {
    constexpr std::int64_t kLane = 16;
    constexpr std::uint8_t kNothing = 0x80;
    std::int64_t wide = 2;
    while (wide < cell) wide *= 2;
    const std::int64_t kept = kLane / wide * width;  // bytes of a lane
    std::vector<GatherIndex> permutes(kCellPermutes);
    for (std::int64_t k = 0; k < 64; ++k) {
        const std::int64_t in_lane = k % kLane;
        const auto set = [&](CellPermute which, bool picks, std::int64_t from) {
            permutes[which].byte[k] = picks ? static_cast<std::uint8_t>(from) : kNothing;
        };
        set(kWidenLanes, in_lane % wide < width, in_lane / wide * cell + in_lane % wide);
        set(kSqueezeLanes, in_lane < kept, in_lane / width * wide + in_lane % width);
    }
    const std::int64_t packed = packed_element(width);
    const std::int64_t squeezed = 64 / packed * width;
    for (std::int64_t k = 0; k < 64; ++k) {
        permutes[kPack].byte[k] = static_cast<std::uint8_t>((k / packed * cell + k % packed) % 128);
        permutes[kSqueeze].byte[k] = static_cast<std::uint8_t>(k < squeezed ? k / width * packed + k % width : 0);
    }
    return permutes;
}

}  // namespace dnnmove
