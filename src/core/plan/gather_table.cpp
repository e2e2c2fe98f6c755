// Builds the permutation tables of the gather kernels.
//
// Every destination vector is covered greedily: the lowest source byte not yet covered starts a
// window, until all its bytes lie in one.
#include "plan/gather_table.hpp"

#include <algorithm>
#include <limits>

namespace dnnmove {
namespace {

// More windows than this per vector cost more than copying the elements one by one.
constexpr std::size_t kMaxWindows64 = 24;
constexpr std::size_t kMaxWindows16 = 8;

// Gives every vector as many steps as the longest, where that adds little: kernels with a fixed
// count need no branch. An added step keeps every byte.
void even_steps(GatherTable& table) {
    std::int32_t most = 0;
    for (const GatherVector& vector : table.vectors) most = std::max(most, vector.steps);
    const auto all = static_cast<std::size_t>(most) * table.vectors.size();
    if (most > 4 || all == table.steps.size() || all > table.steps.size() * 3 / 2) return;
    std::vector<GatherStep> even;
    even.reserve(all);
    const GatherStep* step = table.steps.data();
    for (GatherVector& vector : table.vectors) {
        even.insert(even.end(), step, step + vector.steps);
        step += vector.steps;
        GatherStep keep = even.back();
        for (std::size_t byte = 0; byte < sizeof keep.index; ++byte) keep.index[byte] = static_cast<std::uint8_t>(byte);
        even.insert(even.end(), static_cast<std::size_t>(most - vector.steps), keep);
        vector.steps = most;
    }
    table.steps = std::move(even);
}

}  // namespace

double GatherTable::cycles() const {
    // Many windows come from many lines, more than the cache has ways for.
    double cycles = static_cast<double>(vectors.size());
    for (const GatherVector& vector : vectors) cycles += vector.steps * (vector.steps <= 8 ? 1.2 : 3.0);
    // A line of which a block takes little is read by many blocks.
    const auto needed = static_cast<std::int64_t>(vectors.size()) * vector_bytes / 64;
    return cycles + 3.0 * static_cast<double>(std::max<std::int64_t>(0, static_cast<std::int64_t>(lines.size()) - needed));
}

std::optional<GatherTable> build_gather(const std::vector<std::int64_t>& sources, std::int64_t itemsize,
                                        const GatherRuns& runs, const Kernels& kernels) {
    const std::int64_t width = kernels.gather_bytes;
    const std::int64_t total = runs.bytes;
    if (width == 0 || sources.empty() || (total < width && runs.offsets.size() > 1)) return std::nullopt;
    const auto [low, high] = std::minmax_element(sources.begin(), sources.end());
    const std::int64_t lowest = *low;
    const std::int64_t span = *high + itemsize - lowest;  // bytes that the block reads over
    constexpr std::int64_t kFar = std::numeric_limits<std::int32_t>::max() / 2;
    if (*high > kFar || lowest < -kFar) return std::nullopt;

    GatherTable table;
    table.vector_bytes = static_cast<std::int32_t>(std::min(width, total));
    table.window_bytes = static_cast<std::int32_t>(std::min(width, span));
    const std::size_t max_windows = width == 64 ? kMaxWindows64 : kMaxWindows16;
    std::vector<std::int64_t> bytes;    // source offset of every byte of the vector
    std::vector<std::int64_t> sorted;
    std::vector<std::int64_t> windows;
    const std::int64_t per_run = (total + width - 1) / width;  // vectors; the last overlaps the one before
    for (std::int64_t vector = 0; vector < per_run * static_cast<std::int64_t>(runs.offsets.size()); ++vector) {
        const std::int64_t run = vector / per_run;
        const std::int64_t from = std::max<std::int64_t>(0, std::min(vector % per_run * width, total - width));
        bytes.clear();
        for (std::int64_t k = from; k < std::min(from + width, total); ++k) {
            bytes.push_back(sources[static_cast<std::size_t>((run * total + k) / itemsize)] + k % itemsize);
        }
        sorted = bytes;
        std::sort(sorted.begin(), sorted.end());
        windows.clear();
        for (const std::int64_t byte : sorted) {
            if (!windows.empty() && byte < windows.back() + table.window_bytes) continue;
            windows.push_back(std::min(byte, lowest + span - table.window_bytes));
        }
        if (windows.size() > max_windows) return std::nullopt;
        const bool pairs = kernels.gather_windows == 2;
        const std::size_t steps = pairs && windows.size() > 1 ? windows.size() - 1 : windows.size();
        for (std::size_t k = 0; k < steps; ++k) {
            GatherStep step{};
            step.first = static_cast<std::int32_t>(windows[k]);
            step.second = static_cast<std::int32_t>(windows[pairs ? std::min(k + 1, windows.size() - 1) : k]);
            for (std::size_t byte = 0; byte < sizeof step.index; ++byte) {
                step.index[byte] = static_cast<std::uint8_t>(pairs ? byte : 0x80);
            }
            for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
                // The last window that starts at or before the byte is the one it was counted into.
                const auto home = static_cast<std::size_t>(
                    std::upper_bound(windows.begin(), windows.end(), bytes[byte]) - windows.begin() - 1);
                const std::int64_t position = bytes[byte] - windows[home];
                if (pairs && k == 0 && home == 0) step.index[byte] = static_cast<std::uint8_t>(position);
                if (pairs && home == k + 1) step.index[byte] = static_cast<std::uint8_t>(64 + position);
                if (!pairs && home == k) step.index[byte] = static_cast<std::uint8_t>(position);
            }
            table.steps.push_back(step);
        }
        const std::int64_t to = runs.offsets[static_cast<std::size_t>(run)] + from;
        if (to > kFar || to < -kFar) return std::nullopt;
        table.vectors.push_back({static_cast<std::int32_t>(to), static_cast<std::int32_t>(steps)});
    }
    if (kernels.gather_windows == 2) even_steps(table);
    // One prefetch per source line: lines of an unaligned source straddle the grid, which costs little.
    for (const GatherStep& step : table.steps) {
        for (const std::int32_t offset : {step.first, step.second}) table.lines.push_back(offset & ~63);
    }
    std::sort(table.lines.begin(), table.lines.end());
    table.lines.erase(std::unique(table.lines.begin(), table.lines.end()), table.lines.end());
    return table;
}

std::vector<GatherStep> weave_permutes(std::int64_t width, bool deal) {
    std::vector<GatherStep> permutes(2);
    for (std::int64_t byte = 0; byte < 64; ++byte) {
        const std::int64_t element = byte / width;
        const std::int64_t within = byte % width;
        for (std::int64_t half = 0; half < 2; ++half) {
            const std::int64_t from = deal ? (2 * element + half) * width + within
                                           : element % 2 * 64 + half * 32 + element / 2 * width + within;
            permutes[static_cast<std::size_t>(half)].index[byte] = static_cast<std::uint8_t>(from);
        }
    }
    return permutes;
}

}  // namespace dnnmove
