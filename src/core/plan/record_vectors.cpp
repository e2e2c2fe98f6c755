// Builds the tables by which short records are joined and split, vector by vector.
#include "plan/record_vectors.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "runtime/heap_bytes.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxVectors = RecordVectorTable::kMaxVectors;
constexpr double kWorthAnother = 0.02;  // so much more of all vectors' bytes used is worth another vector
// Cycles of a vector, whatever makes it, and of each of its pieces, by whole vectors and by lanes; of each piece more than so
// many, besides. (Zen 5, 1.5 MB, 40 sets of 2 to 16 mixed fields and 40 of equal ones, two cores: `concat` and `variadic_split`.)
constexpr double kVectorCycles = 5.3;
constexpr double kPieceCycles = 0.8;
constexpr double kLanesCycles = 1.5;
constexpr double kLanesPieceCycles = 1.05;
constexpr std::int64_t kEasyPieces = 10;
constexpr double kManyPieceCycles = 0.5;
constexpr double kLanesManyPieceCycles = 1;
// Of records split off: of a field's part of a block, stored as so many bytes, and of every byte of a record.
double store_cycles(std::int64_t bytes) { return bytes == 16 ? 1.2 : bytes == 32 ? 1.5 : 2.1; }
constexpr double kSplitByteCycles = 0.075;

// Do kernels pick bytes of two whole vectors at once?
bool picks_of_two(const Kernels& kernels) { return kernels.piece_bytes == kLine; }

double vector_cycles(std::int64_t pieces, const Kernels& kernels) {
    const auto all = static_cast<double>(pieces);
    const auto many = static_cast<double>(std::max<std::int64_t>(0, pieces - kEasyPieces));
    if (picks_of_two(kernels)) return kVectorCycles + kPieceCycles * all + kManyPieceCycles * many;
    return kLanesCycles + kLanesPieceCycles * all + kLanesManyPieceCycles * many;
}

std::int64_t rounded(std::int64_t bytes) { return bytes <= 16 ? 16 : bytes <= 32 ? 32 : 64; }

// How many records make a block, which is a vector at least and has no more vectors than it needs: of those that leave least
// of them unused, where the last one overlaps the one before it.
std::int64_t records_of_block(std::int64_t pitch, std::int64_t vector_bytes) {
    std::int64_t best = (vector_bytes + pitch - 1) / pitch;
    double most = 0;
    for (std::int64_t vectors = 1; vectors <= kMaxVectors; ++vectors) {
        const std::int64_t records = vectors * vector_bytes / pitch;
        if (records * pitch < vector_bytes) continue;
        const double used = static_cast<double>(records * pitch) / static_cast<double>(vectors * vector_bytes);
        if (used < most + kWorthAnother) continue;
        most = used;
        best = records;
    }
    return best;
}

// Appends the pieces of the vector that begins at `begin` of the block, each of at most `most` bytes of a field; returns the bytes
// of the longest one.
std::int64_t append_pieces(std::vector<RecordPiece>& pieces, const std::vector<std::int64_t>& widths, std::int64_t pitch,
                           std::int64_t begin, std::int64_t vector_bytes, std::int64_t most) {
    std::int64_t record = begin / pitch;
    std::int64_t in_field = begin % pitch;
    std::size_t field = 0;
    for (; in_field >= widths[field]; ++field) in_field -= widths[field];
    std::vector<std::size_t> last(widths.size(), pieces.size());  // the field's last piece, if there is one, plus one
    const std::size_t none = pieces.size();
    std::int64_t longest = 0;
    for (std::int64_t byte = 0; byte < vector_bytes; ++byte) {
        const std::int64_t from = record * widths[field] + in_field;  // of the field's part of the block
        if (last[field] == none || from >= pieces[last[field] - 1].offset + most) {
            RecordPiece& piece = pieces.emplace_back();
            std::memset(piece.index, RecordPiece::kNone, sizeof piece.index);
            piece.field = static_cast<std::int32_t>(field);
            piece.offset = static_cast<std::int32_t>(from);
            last[field] = pieces.size();
        }
        RecordPiece& piece = pieces[last[field] - 1];
        piece.index[byte] = static_cast<std::uint8_t>(from - piece.offset);
        longest = std::max(longest, from - piece.offset + 1);
        if (++in_field < widths[field]) continue;
        in_field = 0;
        if (++field < widths.size()) continue;
        field = 0;
        ++record;
    }
    return longest;
}

}  // namespace

std::size_t RecordVectorTable::memory() const { return heap_bytes(vectors) + heap_bytes(pieces) + heap_bytes(widths); }

std::optional<RecordVectorTable> join_table(const std::vector<std::int64_t>& widths, const Kernels& kernels) {
    RecordVectorTable table;
    table.widths = widths;
    table.pitch = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
    const std::int64_t vector_bytes = kernels.record_bytes;
    if (table.pitch > kMaxVectors * vector_bytes) return std::nullopt;
    table.records = records_of_block(table.pitch, vector_bytes);
    const std::int64_t bytes = table.records * table.pitch;
    double cycles = 0;
    std::int64_t longest = 0;
    for (std::int64_t begin = 0; begin < bytes; begin += vector_bytes) {
        const std::int64_t at = std::min(begin, bytes - vector_bytes);  // the last one ends with the block
        const std::size_t before = table.pieces.size();
        longest = std::max(longest, append_pieces(table.pieces, widths, table.pitch, at, vector_bytes, kernels.piece_bytes));
        const std::size_t pieces = table.pieces.size() - before;
        if (pieces > RecordVectors::kMaxPieces) return std::nullopt;
        table.vectors.push_back({static_cast<std::int32_t>(at), static_cast<std::int32_t>(pieces)});
        cycles += vector_cycles(static_cast<std::int64_t>(pieces), kernels);
    }
    table.piece_bytes = rounded(longest);
    table.cycles = cycles / static_cast<double>(table.records);
    return table;
}

std::optional<RecordVectorTable> split_table(const std::vector<std::int64_t>& widths, const std::vector<std::int64_t>& places,
                                             std::int64_t pitch, const Kernels& kernels) {
    constexpr std::int64_t kWindows = RecordVectorTable::kMaxSplitPitch;
    if (kernels.split_vectors == nullptr || widths.size() > RecordVectors::kMaxFields) return std::nullopt;
    for (std::size_t field = 0; field < widths.size(); ++field) {  // one behind the other, and the next record behind them
        const std::int64_t next = field + 1 < places.size() ? places[field + 1] : pitch;
        if (places[field] + widths[field] > next) return std::nullopt;
    }
    RecordVectorTable table;
    table.widths = widths;
    table.pitch = pitch;
    const std::int64_t widest = *std::max_element(widths.begin(), widths.end());
    const std::int64_t record = places.back() + widths.back();
    for (const std::int64_t most : {16, 32, 64}) {
        if (widest > most || record > kWindows) continue;
        const std::int64_t records = std::min(most / widest, (kWindows - record) / pitch + 1);
        const double cycles = store_cycles(most) * static_cast<double>(widths.size()) / static_cast<double>(records);
        if (table.records != 0 && cycles >= table.cycles) continue;
        table.records = records;
        table.piece_bytes = most;
        table.cycles = cycles;
    }
    if (table.records < 2) return std::nullopt;
    table.cycles += kSplitByteCycles * static_cast<double>(pitch);
    for (std::size_t field = 0; field < widths.size(); ++field) {
        RecordPiece& piece = table.pieces.emplace_back();
        piece.field = static_cast<std::int32_t>(field);
        for (std::int64_t k = 0; k < table.records * widths[field]; ++k) {
            piece.index[k] = static_cast<std::uint8_t>(k / widths[field] * pitch + places[field] + k % widths[field]);
        }
    }
    return table;
}

}  // namespace dnnmove
