// Finds copies that write parts of the same short rows, and tables that replace them.
#include "plan/rows_together.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>

#include "plan/gather_table.hpp"
#include "plan/plan.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMostRow = 512;       // bytes
// Of one piece of a source and zeros beside it. Longer ones are rows, which are prefetched; zeros find their lines nearby.
// (Granite Rapids, 5,000 to 800,000 rows of 80 to 240 bytes: together 0.6 to 2.2 times as fast, up to a line 1.1 to 5.1.)
constexpr std::int64_t kMostPaddedRow = kLine;
constexpr std::size_t kMostTransfers = 64;   // that are looked at
// Of the estimated cost of the pieces, at most; by vectors of 16 bytes, whose gathers the estimates favour. (Granite Rapids,
// AVX2, 15 shapes of rolls and edges: estimated at 2.3 to 30 times, they run at 1.0 to 6.5 times the speed; at 1.1 to 2.0 times,
// at 0.6 to 2.5.)
constexpr double kWorth = 0.9;
constexpr double kNarrowWorth = 0.45;

// Contiguous bytes of a row, from a place of the source.
struct Piece {
    std::int64_t dst;
    std::int64_t src;  // kNoSource: zero bytes
    std::int64_t bytes;
    std::size_t transfer;
};

bool is_zero(const Transfer& transfer) {
    return transfer.src == kZeroSource ||
           (transfer.src == kConstantSource && std::all_of(transfer.constant->begin(), transfer.constant->end(),
                                                           [](std::byte byte) { return byte == std::byte{0}; }));
}

// Do any two read and write the same arrays, or one of them zeros? (Splits and joins of many arrays need not be looked at.)
bool share_rows(const std::vector<Transfer>& transfers) {
    for (std::size_t k = 1; k < transfers.size(); ++k) {
        for (std::size_t i = 0; i < k; ++i) {
            const Transfer& a = transfers[k];
            const Transfer& b = transfers[i];
            if (a.dst == b.dst && (a.src == b.src || (a.src < 0) != (b.src < 0))) return true;
        }
    }
    return false;
}

// How many loops of the nest are around its rows; none where it has no rows that can be put together with others.
std::size_t loops_around(const Transfer& transfer) {
    const Nest& nest = transfer.nest;
    const bool fits = !transfer.sink && transfer.repeat.count == 1 && (transfer.src >= 0 || is_zero(transfer)) &&
                      nest.itemsize > 0 && nest.itemsize < kMostRow &&
                      std::none_of(
                          nest.loops.begin(), nest.loops.end(), [](const Loop& loop) { return loop.table != nullptr; });
    std::size_t around = fits ? nest.loops.size() : 0;
    const auto inside = [&](const Loop& loop) { return loop.dst_stride > 0 && loop.extent <= kMostRow / loop.dst_stride; };
    while (around > 0 && inside(nest.loops[around - 1])) --around;
    return around;
}

void append_pieces(std::vector<Piece>& pieces, const Transfer& transfer, std::size_t around, std::size_t number) {
    const std::vector<Loop>& loops = transfer.nest.loops;
    const bool zero = transfer.src < 0;
    std::vector<Piece> made{
        {transfer.nest.dst_offset, zero ? kNoSource : transfer.nest.src_offset, transfer.nest.itemsize, number}};
    for (std::size_t k = around; k < loops.size(); ++k) {
        const std::size_t outer = made.size();
        for (std::int64_t step = 1; step < loops[k].extent; ++step) {
            for (std::size_t i = 0; i < outer; ++i) {
                Piece piece = made[i];
                piece.dst += step * loops[k].dst_stride;
                if (!zero) piece.src += step * loops[k].src_stride;
                made.push_back(piece);
            }
        }
    }
    pieces.insert(pieces.end(), made.begin(), made.end());
}

// Cycles per byte.
double cost_of(const Nest& nest, PlanContext context) {
    context.dst_offset = nest.dst_offset;
    double least = std::numeric_limits<double>::infinity();
    for (const Candidate& candidate : candidates(Problem(nest.loops, nest.itemsize, context))) {
        least = std::min(least, candidate.cost);
    }
    return least;
}

// The nest of a row of these pieces, which follow each other and have a source, some of them, within the loops around it.
Nest joined(const std::vector<Piece>& row, const std::vector<Loop>& around) {
    const auto first = std::find_if(row.begin(), row.end(), [](const Piece& piece) { return piece.src != kNoSource; });
    std::int64_t unit = 0;
    for (const Piece& piece : row) {
        unit = std::gcd(unit, piece.bytes);
        if (piece.src != kNoSource) unit = std::gcd(unit, std::abs(piece.src - first->src));
    }
    auto table = std::make_shared<OffsetTable>();
    for (const bool zero : {false, true}) {  // what has no source comes last in a table
        for (const Piece& piece : row) {
            if ((piece.src == kNoSource) != zero) continue;
            for (std::int64_t at = 0; at < piece.bytes; at += unit) {
                if (!zero) table->src.push_back(piece.src - first->src + at);
                table->dst.push_back(piece.dst - row[0].dst + at);
            }
        }
    }
    Nest nest{{}, first->src, row[0].dst, unit};
    nest.loops.push_back({static_cast<std::int64_t>(table->dst.size()), 0, 0, std::move(table)});
    nest.loops.insert(nest.loops.end(), around.begin(), around.end());
    return nest;
}

// Rows of pieces that follow each other, of several transfers that have no other pieces; some of a row are read.
std::vector<std::vector<Piece>> rows_of(std::vector<Piece> pieces) {
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.dst < b.dst; });
    std::vector<std::vector<Piece>> rows;
    std::map<std::size_t, std::size_t> row_of;  // of a transfer, the first row that has a piece of it
    std::vector<bool> whole;
    for (const Piece& piece : pieces) {
        if (rows.empty() || rows.back().back().dst + rows.back().back().bytes != piece.dst) {
            rows.emplace_back();
            whole.push_back(true);
        }
        rows.back().push_back(piece);
        const std::size_t first = row_of.try_emplace(piece.transfer, rows.size() - 1).first->second;
        if (first != rows.size() - 1) whole[first] = whole.back() = false;
    }
    std::vector<std::vector<Piece>> found;
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const std::vector<Piece>& row = rows[k];
        const bool several = std::any_of(row.begin(), row.end(),
                                         [&](const Piece& piece) { return piece.transfer != row[0].transfer; });
        const bool reads = std::any_of(row.begin(), row.end(), [](const Piece& piece) { return piece.src != kNoSource; });
        if (whole[k] && several && reads && row.back().dst + row.back().bytes - row[0].dst <= kMostRow) found.push_back(row);
    }
    return found;
}

}  // namespace

std::vector<Transfer> with_rows_together(std::vector<Transfer> transfers, const PlanContext& context) {
    if (transfers.size() > kMostTransfers || !share_rows(transfers)) return transfers;
    // Those of the same loops around their rows of a destination; and of them, those of the same ones of a source.
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> groups;
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> zeros;
    for (const bool zero : {true, false}) {
        for (std::size_t k = 0; k < transfers.size(); ++k) {
            const std::size_t around = (transfers[k].src < 0) == zero ? loops_around(transfers[k]) : 0;
            if (around == 0) continue;
            std::vector<std::int64_t> key{transfers[k].dst};
            const std::vector<Loop>& loops = transfers[k].nest.loops;
            for (std::size_t i = 0; i < around; ++i) key.insert(key.end(), {loops[i].extent, loops[i].dst_stride});
            if (zero) {
                zeros[std::move(key)].push_back(k);
                continue;
            }
            const auto beside = zeros.find(key);
            key.push_back(transfers[k].src);
            for (std::size_t i = 0; i < around; ++i) key.push_back(loops[i].src_stride);
            std::vector<std::size_t>& group = groups[std::move(key)];
            group.push_back(k);
            if (beside != zeros.end()) {  // they belong to the first
                group.insert(group.end(), beside->second.begin(), beside->second.end());
                zeros.erase(beside);
            }
        }
    }
    std::vector<bool> gone(transfers.size());
    for (const auto& [key, members] : groups) {
        if (members.size() < 2) continue;
        // The first has a source.
        const std::size_t around = loops_around(transfers[members[0]]);
        const std::vector<Loop>& loops = transfers[members[0]].nest.loops;
        const std::vector<Loop> outer(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(around));
        std::vector<Piece> pieces;
        for (const std::size_t k : members) append_pieces(pieces, transfers[k], around, k);
        for (const std::vector<Piece>& row : rows_of(std::move(pieces))) {
            const Nest nest = joined(row, outer);
            std::map<std::size_t, std::int64_t> parts;  // bytes of a row, of each transfer
            for (const Piece& piece : row) parts[piece.transfer] += piece.bytes;
            const std::int64_t bytes = row.back().dst + row.back().bytes - row[0].dst;
            const auto reads = [&](const auto& part) { return transfers[part.first].src >= 0; };
            if (bytes > kMostPaddedRow && std::count_if(parts.begin(), parts.end(), reads) == 1) continue;
            double apart = 0;  // cycles of a row
            for (const auto& [part, size] : parts) apart += cost_of(transfers[part].nest, context) * static_cast<double>(size);
            const double worth = context.kernels->gather_windows == 2 ? kWorth : kNarrowWorth;
            const double together = cost_of(nest, context) * static_cast<double>(bytes);
            if (std::isinf(together) || together > worth * apart) continue;
            const std::size_t source = std::find_if(parts.begin(), parts.end(), reads)->first;
            for (const auto& [part, size] : parts) gone[part] = part != source;
            transfers[source].nest = nest;
        }
    }
    std::size_t kept = 0;
    for (std::size_t k = 0; k < transfers.size(); ++k) {
        if (gone[k]) continue;
        if (kept != k) transfers[kept] = std::move(transfers[k]);
        ++kept;
    }
    transfers.resize(kept);
    return transfers;
}

}  // namespace dnnmove
