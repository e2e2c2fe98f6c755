// Finds copies that write parts of the same short rows, and tables that replace them.
#include "plan/rows_together.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>

#include "plan/plan.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMostRow = 512;       // bytes
constexpr std::size_t kMostTransfers = 64;   // that are looked at
constexpr double kWorth = 0.9;               // of the cost of the pieces, at most

// Contiguous bytes of a row, from a place of the source.
struct Piece {
    std::int64_t dst;
    std::int64_t src;
    std::int64_t bytes;
    std::size_t transfer;
};

// How many loops of the nest are around its rows; none where it has no rows that can be put together with others.
std::size_t loops_around(const Transfer& transfer) {
    const Nest& nest = transfer.nest;
    const bool fits = !transfer.sink && transfer.repeat.count == 1 && transfer.src >= 0 && nest.itemsize > 0 &&
                      nest.itemsize < kMostRow &&
                      std::none_of(
                          nest.loops.begin(), nest.loops.end(), [](const Loop& loop) { return loop.table != nullptr; });
    std::size_t around = fits ? nest.loops.size() : 0;
    const auto inside = [&](const Loop& loop) { return loop.dst_stride > 0 && loop.extent <= kMostRow / loop.dst_stride; };
    while (around > 0 && inside(nest.loops[around - 1])) --around;
    return around;
}

void append_pieces(std::vector<Piece>& pieces, const Transfer& transfer, std::size_t around, std::size_t number) {
    const std::vector<Loop>& loops = transfer.nest.loops;
    std::vector<Piece> made{{transfer.nest.dst_offset, transfer.nest.src_offset, transfer.nest.itemsize, number}};
    for (std::size_t k = around; k < loops.size(); ++k) {
        const std::size_t outer = made.size();
        for (std::int64_t step = 1; step < loops[k].extent; ++step) {
            for (std::size_t i = 0; i < outer; ++i) {
                Piece piece = made[i];
                piece.dst += step * loops[k].dst_stride;
                piece.src += step * loops[k].src_stride;
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

// The nest of a row of these pieces, which follow each other, within the loops around.
Nest joined(const std::vector<Piece>& row, const std::vector<Loop>& around) {
    std::int64_t unit = 0;
    for (const Piece& piece : row) unit = std::gcd(std::gcd(unit, piece.bytes), std::abs(piece.src - row[0].src));
    auto table = std::make_shared<OffsetTable>();
    for (const Piece& piece : row) {
        for (std::int64_t at = 0; at < piece.bytes; at += unit) {
            table->src.push_back(piece.src - row[0].src + at);
            table->dst.push_back(piece.dst - row[0].dst + at);
        }
    }
    Nest nest{{}, row[0].src, row[0].dst, unit};
    nest.loops.push_back({static_cast<std::int64_t>(table->src.size()), 0, 0, std::move(table)});
    nest.loops.insert(nest.loops.end(), around.begin(), around.end());
    return nest;
}

// Rows [first, last) of pieces that follow each other, of several transfers, each of which has no others.
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
        if (whole[k] && several && row.back().dst + row.back().bytes - row[0].dst <= kMostRow) found.push_back(row);
    }
    return found;
}

}  // namespace

std::vector<Transfer> with_rows_together(std::vector<Transfer> transfers, const PlanContext& context) {
    if (transfers.size() < 2 || transfers.size() > kMostTransfers || context.side_by_side_bytes != 0) return transfers;
    // Those of the same arrays and of the same loops around their rows.
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> groups;
    for (std::size_t k = 0; k < transfers.size(); ++k) {
        const std::size_t around = loops_around(transfers[k]);
        if (around == 0) continue;
        std::vector<std::int64_t> key{transfers[k].src, transfers[k].dst};
        for (std::size_t i = 0; i < around; ++i) {
            const Loop& loop = transfers[k].nest.loops[i];
            key.insert(key.end(), {loop.extent, loop.src_stride, loop.dst_stride});
        }
        groups[std::move(key)].push_back(k);
    }
    std::vector<bool> gone(transfers.size());
    for (const auto& [key, members] : groups) {
        if (members.size() < 2) continue;
        const std::size_t around = loops_around(transfers[members[0]]);
        const std::vector<Loop>& loops = transfers[members[0]].nest.loops;
        const std::vector<Loop> outer(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(around));
        std::vector<Piece> pieces;
        for (const std::size_t k : members) append_pieces(pieces, transfers[k], around, k);
        for (const std::vector<Piece>& row : rows_of(std::move(pieces))) {
            const Nest nest = joined(row, outer);
            double apart = 0;  // cycles of a row
            std::vector<std::size_t> parts;
            for (const Piece& piece : row) parts.push_back(piece.transfer);
            std::sort(parts.begin(), parts.end());
            parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
            for (const std::size_t part : parts) {
                std::int64_t bytes = 0;
                for (const Piece& piece : row) bytes += piece.transfer == part ? piece.bytes : 0;
                apart += cost_of(transfers[part].nest, context) * static_cast<double>(bytes);
            }
            const auto bytes = static_cast<double>(row.back().dst + row.back().bytes - row[0].dst);
            if (cost_of(nest, context) * bytes > kWorth * apart) continue;
            for (const std::size_t part : parts) gone[part] = true;
            gone[parts[0]] = false;
            transfers[parts[0]].nest = nest;
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
