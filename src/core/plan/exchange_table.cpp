// Builds the permutation tables by which records are exchanged with their fields.
#include "plan/exchange_table.hpp"

#include <algorithm>
#include <numeric>

namespace dnnmove {
namespace {

constexpr std::size_t kMaxSteps = 96;  // 12 KiB of tables
constexpr std::int64_t kFew = 4;       // vectors on a side that a kernel keeps in registers

// Where each byte of the destination's vectors comes from: position = vector * 64 + byte.
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

// The steps that make one destination vector from `windows` (at least two of them).
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

}  // namespace

double ExchangeTable::cycles_per_line() const {
    const double lines = static_cast<double>(destinations.size());
    return 1.5 + 2.2 * static_cast<double>(steps.size()) / lines;
}

std::optional<ExchangeTable> build_exchange(const std::vector<std::int64_t>& widths, bool split) {
    std::int64_t common = kLine;
    for (const std::int64_t width : widths) common = std::gcd(common, width);
    const std::int64_t pitch = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
    ExchangeTable table;
    table.records = kLine / common;
    const std::int64_t count = pitch / common;
    if (count < 2 || count > ExchangeBlock::kMaxVectors) return std::nullopt;

    auto& fields = split ? table.destinations : table.sources;
    auto& records = split ? table.sources : table.destinations;
    for (std::size_t field = 0; field < widths.size(); ++field) {
        for (std::int64_t k = 0; k < widths[field] * table.records; k += kLine) {
            fields.push_back({static_cast<std::int32_t>(field), static_cast<std::int32_t>(k)});
        }
        (split ? table.dst_moves : table.src_moves).push_back(widths[field] * table.records);
    }
    for (std::int64_t k = 0; k < count; ++k) records.push_back({0, static_cast<std::int32_t>(k * kLine)});
    (split ? table.src_moves : table.dst_moves).push_back(pitch * table.records);

    const std::vector<std::int64_t> from = origins(widths, pitch, table.records, split);
    for (std::int64_t vector = 0; vector < count; ++vector) {
        const std::int64_t* first = from.data() + vector * kLine;
        std::vector<std::int64_t> windows;
        if (count <= kFew) {  // of all sources, used or not: no loads but theirs
            windows.resize(static_cast<std::size_t>(count));
            std::iota(windows.begin(), windows.end(), std::int64_t{0});
        } else {
            for (std::int64_t byte = 0; byte < kLine; ++byte) windows.push_back(first[byte] / kLine);
            std::sort(windows.begin(), windows.end());
            windows.erase(std::unique(windows.begin(), windows.end()), windows.end());
            if (windows.size() == 1) windows.push_back(windows[0] > 0 ? windows[0] - 1 : 1);
        }
        if (windows.size() > ExchangeBlock::kMaxSteps + 1 || table.steps.size() + windows.size() - 1 > kMaxSteps)
            return std::nullopt;
        append_steps(table.steps, first, windows);
        table.destinations[static_cast<std::size_t>(vector)].steps = static_cast<std::int32_t>(windows.size() - 1);
    }
    return table;
}

}  // namespace dnnmove
