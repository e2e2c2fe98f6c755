// Which two of many arrays share a byte, without a comparison of each with each.
//
// Sorted by their lowest bytes, only arrays whose extents meet can share any: a sweep. Where many extents meet, as
// those of the columns a[:, i] of one array do, all addresses are divided by a common period P of the strides:
//
//     address = level * P + residue      column i of 4 int32, P = 16:   residue   0..3  4..7  8..11  12..15
//                                                                     level 0      i=0   i=1   i=2    i=3
//                                                                     level 1      i=0   i=1   i=2    i=3
//
// A run of bytes takes an interval of residues; two arrays meet where their intervals do and their levels do. So the
// residues are cut at all ends of intervals, and each part is the same problem again, on levels, which has fewer
// strides and is empty of pairs for most. What has no common period is compared pair by pair, within a budget.
#include "array/disjoint.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "array/term.hpp"

namespace dnnmove {
namespace {

constexpr std::size_t kFew = 16;                  // arrays whose extents meet: each is compared with each
constexpr std::int64_t kPairBudget = 2'000'000;       // nodes of all searches of pairs together
constexpr std::int64_t kPairCost = 8;             // in nodes: to set a search up
constexpr std::size_t kPiecesPerArray = 64;       // that the sweep may handle, on average

// Sums base + run + terms; the run takes [0, run).
struct Piece {
    std::int64_t base;
    std::int64_t run;
    std::vector<Term> terms;  // merged, without the run
    std::size_t owner;

    std::int64_t end() const noexcept {
        std::int64_t end = base + run;
        for (const Term& term : terms) end += term.stride * term.limit;
        return end;
    }
};

Piece make_piece(std::int64_t base, std::vector<Term> terms, std::size_t owner) {
    Piece piece{base, 1, merged(std::move(terms)), owner};
    if (!piece.terms.empty() && piece.terms.back().stride == 1) {
        piece.run = piece.terms.back().limit + 1;
        piece.terms.pop_back();
    }
    return piece;
}

// Calls body(first, last) for each of the longest ranges of items, sorted by `low`, whose extents are connected.
template <class Items, class Low, class High, class Body>
bool for_each_cluster(const Items& items, const Low& low, const High& high, const Body& body) {
    for (std::size_t first = 0; first < items.size();) {
        std::int64_t reach = high(items[first]);
        std::size_t last = first + 1;
        for (; last < items.size() && low(items[last]) < reach; ++last) reach = std::max(reach, high(items[last]));
        if (last - first > 1 && body(first, last)) return true;
        first = last;
    }
    return false;
}

// Finds two owners whose pieces meet; gives up where it finds no period.
class Sweep {
public:
    explicit Sweep(std::size_t budget) : budget_(budget) {}

    // True where it is done: two were found, or it gave up.
    bool search(std::vector<Piece> pieces) {
        if (pieces.size() < 2) return false;
        handled_ += pieces.size();
        if (handled_ > budget_) return give_up();
        std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.base < b.base; });
        return for_each_cluster(
            pieces, [](const Piece& piece) { return piece.base; }, [](const Piece& piece) { return piece.end(); },
            [&](std::size_t first, std::size_t last) { return search_cluster({&pieces[first], last - first}); });
    }

    bool gave_up() const noexcept { return gave_up_; }
    std::size_t handled() const noexcept { return handled_; }
    SharedBytes found() const noexcept { return found_; }

private:
    // The levels whose residues from `first` to `last` belong to the owner.
    struct Levels {
        std::int64_t first;
        std::int64_t last;
        Piece piece;
    };

    bool give_up() noexcept {
        gave_up_ = true;
        return true;
    }

    bool search_cluster(std::span<const Piece> pieces) {
        std::int64_t period = 0;
        for (const Piece& piece : pieces) {
            for (const Term& term : piece.terms) period = std::gcd(period, term.stride);
        }
        if (period == 0) {
            // Plain runs, and the second begins before the first one's end.
            found_ = {pieces[0].owner, pieces[1].owner};
            return found_.first == found_.second ? give_up() : true;
        }
        if (period == 1) return give_up();
        std::vector<Levels> all;
        all.reserve(pieces.size());
        for (const Piece& piece : pieces) divide(piece, period, all);
        return search_levels(all);
    }

    // The runs of a piece divided by the period: the end of a first level, whole levels, the beginning of a last one.
    static void divide(const Piece& piece, std::int64_t period, std::vector<Levels>& all) {
        std::vector<Term> terms = piece.terms;
        for (Term& term : terms) term.stride /= period;
        std::int64_t level = piece.base / period;
        const std::int64_t residue = piece.base - level * period;
        std::int64_t left = piece.run;
        if (residue != 0 || left < period) {
            const std::int64_t taken = std::min(left, period - residue);
            all.push_back({residue, residue + taken, make_piece(level, terms, piece.owner)});
            left -= taken;
            ++level;
        }
        if (left >= period) {
            terms.push_back({1, left / period - 1});
            all.push_back({0, period, make_piece(level, terms, piece.owner)});
            level += left / period;
            left %= period;
            terms.pop_back();
        }
        if (left > 0) all.push_back({0, left, make_piece(level, std::move(terms), piece.owner)});
    }

    bool search_levels(std::vector<Levels>& all) {
        std::vector<std::int64_t> cuts;
        cuts.reserve(2 * all.size());
        for (const Levels& levels : all) {
            cuts.push_back(levels.first);
            cuts.push_back(levels.last);
        }
        std::sort(cuts.begin(), cuts.end());
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        std::vector<std::pair<std::size_t, std::size_t>> members;  // of which part, which levels
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto part = static_cast<std::size_t>(std::lower_bound(cuts.begin(), cuts.end(), all[i].first) - cuts.begin());
            for (; cuts[part] < all[i].last; ++part) {
                if (members.size() + handled_ > budget_) return give_up();
                members.emplace_back(part, i);
            }
        }
        std::sort(members.begin(), members.end());
        for (std::size_t first = 0; first < members.size();) {
            std::size_t last = first + 1;
            while (last < members.size() && members[last].first == members[first].first) ++last;
            if (last - first > 1) {
                std::vector<Piece> pieces;
                for (std::size_t k = first; k < last; ++k) pieces.push_back(all[members[k].second].piece);
                if (search(std::move(pieces))) return true;
            }
            first = last;
        }
        return false;
    }

    std::size_t budget_;
    std::size_t handled_ = 0;
    bool gave_up_ = false;
    SharedBytes found_{};
};

// Compares pairs until the budget of all of them is spent.
class Pairs {
public:
    explicit Pairs(SearchWork& work) : work_(work) {}

    // True where they share a byte, and where that is not known.
    bool meet(const Region& a, const Region& b) {
        if (a.high <= b.low || b.high <= a.low) return false;
        if (nodes_ > kPairBudget) return true;
        ++work_.pairs;
        nodes_ += kPairCost;
        return overlap(a.footprint, b.footprint, nodes_);
    }

private:
    SearchWork& work_;
    std::int64_t nodes_ = 0;
};

// The positions of the arrays that have bytes, by their lowest ones.
std::vector<std::size_t> sorted(std::span<const Region> arrays) {
    std::vector<std::size_t> order;
    order.reserve(arrays.size());
    bool in_order = true;
    std::int64_t before = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        if (arrays[i].low == arrays[i].high) continue;
        order.push_back(i);
        in_order = in_order && before <= arrays[i].low;
        before = arrays[i].low;
    }
    const auto lower = [&](std::size_t a, std::size_t b) { return arrays[a].low < arrays[b].low; };
    if (!in_order) std::sort(order.begin(), order.end(), lower);
    return order;
}

std::int64_t address(const std::byte* base) noexcept {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(base));
}

}  // namespace

Region Region::of(const Footprint& footprint, const Extent& extent) noexcept {
    return {footprint, address(footprint.base) + extent.low, address(footprint.base) + extent.high};
}

Region Region::solid(const std::byte* base, const Extent& extent) noexcept {
    return of({base + extent.low, {}, {}, extent.high - extent.low}, {0, extent.high - extent.low});
}

std::optional<SharedBytes> find_shared(std::span<const Region> arrays, SearchWork* work) {
    SearchWork own;
    SearchWork& spent = work == nullptr ? own : *work;
    Pairs pairs(spent);
    SharedBytes found{};
    const std::vector<std::size_t> order = sorted(arrays);
    const auto each_with_each = [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            const Region& one = arrays[order[i]];
            for (std::size_t k = i + 1; k < last && arrays[order[k]].low < one.high; ++k) {
                found = {order[i], order[k]};
                if (pairs.meet(one, arrays[order[k]])) return true;
            }
        }
        return false;
    };
    const bool any = for_each_cluster(
        order, [&](std::size_t i) { return arrays[i].low; }, [&](std::size_t i) { return arrays[i].high; },
        [&](std::size_t first, std::size_t last) {
            if (last - first <= kFew) return each_with_each(first, last);
            std::vector<Piece> pieces;
            pieces.reserve(last - first);
            for (std::size_t i = first; i < last; ++i) {
                std::vector<Term> terms;
                append_terms(terms, arrays[order[i]].footprint);
                pieces.push_back(make_piece(arrays[order[i]].low, std::move(terms), order[i]));
            }
            Sweep sweep(kPiecesPerArray * pieces.size());
            const bool done = sweep.search(std::move(pieces));
            spent.pieces += sweep.handled();
            if (sweep.gave_up()) return each_with_each(first, last);
            found = sweep.found();
            return done;
        });
    if (!any) return std::nullopt;
    if (found.first > found.second) std::swap(found.first, found.second);
    return found;
}

std::optional<SharedBytes> find_shared(std::span<const Region> as, std::span<const Region> bs, SearchWork* work) {
    SearchWork own;
    Pairs pairs(work == nullptr ? own : *work);
    const std::vector<std::size_t> order_a = sorted(as);
    const std::vector<std::size_t> order_b = sorted(bs);
    // In order of the lowest bytes; each meets those of the other list that reach so far.
    std::vector<std::size_t> open_a;
    std::vector<std::size_t> open_b;
    std::size_t next_a = 0;
    std::size_t next_b = 0;
    while (next_a < order_a.size() || next_b < order_b.size()) {
        const bool take_a = next_b == order_b.size() ||
                            (next_a < order_a.size() && as[order_a[next_a]].low <= bs[order_b[next_b]].low);
        const std::size_t next = take_a ? order_a[next_a++] : order_b[next_b++];
        const Region& region = take_a ? as[next] : bs[next];
        const std::span<const Region> others = take_a ? bs : as;
        std::vector<std::size_t>& opposite = take_a ? open_b : open_a;
        std::erase_if(opposite, [&](std::size_t i) { return others[i].high <= region.low; });
        for (const std::size_t other : opposite) {
            if (!pairs.meet(region, others[other])) continue;
            return take_a ? SharedBytes{next, other} : SharedBytes{other, next};
        }
        (take_a ? open_a : open_b).push_back(next);
    }
    return std::nullopt;
}

}  // namespace dnnmove
