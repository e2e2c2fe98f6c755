// Builds the permutation tables by which records are exchanged with their fields.
#include "plan/exchange_table.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/heap_bytes.hpp"

namespace dnnmove {
namespace {

constexpr std::size_t kMaxSteps = 96;  // 12 KiB of tables

// Where each byte of the destination comes from; both sides are counted through their vectors, one after the other.
std::vector<std::int64_t> origins(const std::vector<std::int64_t>& widths, std::int64_t pitch, std::int64_t records,
                                  bool split) {
    std::vector<std::int64_t> from(static_cast<std::size_t>(pitch * records));
    std::int64_t field_start = 0;  // bytes of a record before the field
    for (const std::int64_t width : widths) {
        for (std::int64_t k = 0; k < width * records; ++k) {
            const std::int64_t in_record = k / width * pitch + field_start + k % width;
            const std::int64_t in_field = field_start * records + k;  // the fields' blocks one after the other
            from[static_cast<std::size_t>(split ? in_field : in_record)] = split ? in_record : in_field;
        }
        field_start += width;
    }
    return from;
}

// The steps that make one destination vector from `windows`, of lines: at least two of them.
void append_steps(std::vector<ExchangeStep>& steps, const std::int64_t* from, const std::vector<std::int64_t>& windows) {
    for (std::size_t k = 0; k + 1 < windows.size(); ++k) {
        ExchangeStep step{};
        step.first = static_cast<std::int32_t>(windows[k]);
        step.second = static_cast<std::int32_t>(windows[k + 1]);
        for (std::int64_t byte = 0; byte < kLine; ++byte) {
            const std::int64_t home = from[byte] / kLine;
            const std::int64_t within = from[byte] % kLine;
            std::int64_t pick = byte;  // keep
            if (home == windows[k + 1]) {
                pick = kLine + within;
            } else if (k == 0 && home == windows[0]) {
                pick = within;
            }
            step.index[byte] = static_cast<std::uint8_t>(pick);
        }
        steps.push_back(step);
    }
}

// The same of shorter vectors: what each window has.
void append_picks(std::vector<ExchangeStep>& steps, const std::int64_t* from, const std::vector<std::int64_t>& windows,
                  std::int64_t vector_bytes) {
    constexpr std::uint8_t kNone = 128;
    for (const std::int64_t window : windows) {
        ExchangeStep step{};
        step.first = step.second = static_cast<std::int32_t>(window);
        for (std::int64_t byte = 0; byte < vector_bytes; ++byte) {
            const bool here = from[byte] / vector_bytes == window;
            step.index[byte] = here ? static_cast<std::uint8_t>(from[byte] % vector_bytes) : kNone;
        }
        steps.push_back(step);
    }
}

}  // namespace

bool fits_exchange(std::int64_t vectors, std::int64_t elements, std::int64_t vector_bytes) {
    const std::int64_t each = few_vectors(vectors, vector_bytes) ? vectors : std::min(vectors, elements);
    return vectors >= 2 && vectors <= ExchangeBlock::most_vectors(vector_bytes) && each <= ExchangeBlock::kMaxSteps &&
           vectors * each <= static_cast<std::int64_t>(kMaxSteps);
}

double exchange_cycles(std::int64_t vectors, std::int64_t steps, std::int64_t vector_bytes) {
    const double lines = static_cast<double>(vectors * vector_bytes) / kLine;
    // (Zen 5, 1.5 MB, two to four fields: what all of it takes beside the permutes is what the lines take from cache to cache.)
    if (vector_bytes == kLine) return 4.5 + 0.3 * static_cast<double>(steps) / lines;
    const double per_step = few_vectors(vectors, vector_bytes) ? 0.42 : 1.2;
    return 1.5 + per_step * static_cast<double>(steps) / lines;
}

std::size_t ExchangeTable::memory() const {
    return heap_bytes(sources) + heap_bytes(destinations) + heap_bytes(steps) + heap_bytes(src_moves) + heap_bytes(dst_moves);
}

std::optional<ExchangeTable> build_exchange(const std::vector<std::int64_t>& widths, bool split, std::int64_t vector_bytes) {
    std::int64_t common = vector_bytes;
    for (const std::int64_t width : widths) common = std::gcd(common, width);
    const std::int64_t pitch = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
    ExchangeTable table;
    table.records = vector_bytes / common;
    table.vector_bytes = vector_bytes;
    const std::int64_t count = pitch / common;
    const bool lines = vector_bytes == kLine;
    if (count < 2 || count > ExchangeBlock::most_vectors(vector_bytes)) return std::nullopt;

    auto& fields = split ? table.destinations : table.sources;
    auto& records = split ? table.sources : table.destinations;
    for (std::size_t field = 0; field < widths.size(); ++field) {
        for (std::int64_t k = 0; k < widths[field] * table.records; k += vector_bytes) {
            fields.push_back({static_cast<std::int32_t>(field), static_cast<std::int32_t>(k)});
        }
        (split ? table.dst_moves : table.src_moves).push_back(widths[field] * table.records);
    }
    for (std::int64_t k = 0; k < count; ++k) records.push_back({0, static_cast<std::int32_t>(k * vector_bytes)});
    (split ? table.src_moves : table.dst_moves).push_back(pitch * table.records);

    const std::vector<std::int64_t> from = origins(widths, pitch, table.records, split);
    for (std::int64_t vector = 0; vector < count; ++vector) {
        const std::int64_t* first = from.data() + vector * vector_bytes;
        std::vector<std::int64_t> windows;
        if (table.few()) {  // of all sources, used or not: no loads but theirs
            windows.resize(static_cast<std::size_t>(count));
            std::iota(windows.begin(), windows.end(), std::int64_t{0});
        } else {
            for (std::int64_t byte = 0; byte < vector_bytes; ++byte) windows.push_back(first[byte] / vector_bytes);
            std::sort(windows.begin(), windows.end());
            windows.erase(std::unique(windows.begin(), windows.end()), windows.end());
        }
        const std::size_t steps = windows.size() - (lines ? 1 : 0);
        if (steps > ExchangeBlock::kMaxSteps || table.steps.size() + steps > kMaxSteps) return std::nullopt;
        if (lines) {
            append_steps(table.steps, first, windows);
        } else {
            append_picks(table.steps, first, windows, vector_bytes);
        }
        table.destinations[static_cast<std::size_t>(vector)].steps = static_cast<std::int32_t>(steps);
    }
    return table;
}

}  // namespace dnnmove
