// Joining the pieces of a mosaic: which of them one box can hold, found by the axes that they share.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "view/mosaic.hpp"
#include "view/work.hpp"

namespace dnnmove::view {
namespace {

constexpr std::size_t kFew = 16;  // pieces: all pairs are tried sooner than a table of them is made
constexpr std::size_t kMostAlike = 8;  // of many more, the next pieces of the same terms that are tried

// Joins `b` to `a` where they differ along one axis only and one box holds both; says which axis, or the rank.
std::size_t join_pieces(Piece& a, const Piece& b) {
    const std::size_t rank = a.axes.size();
    std::size_t differs = rank;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        if (a.axes[axis] == b.axes[axis]) continue;
        if (differs != rank) return rank;
        differs = axis;
    }
    if (differs == rank) return rank;
    auto joined = view::joined(a.axes[differs], b.axes[differs], b.offset - a.offset);
    if (!joined) return rank;
    a.offset += joined->offset;
    joined->offset = 0;
    a.axes[differs] = std::move(*joined);
    return differs;
}

// The pieces by what others that join to them have in common with them: all axes but one, and of that axis either the
// terms, or that one begins, in its positions and in its bytes, where a term of the other ends or would begin:
//
//     begins      x x x x . . . .
//     meets       . . . . x x . .    a neighbour may end before a term's first step, or begin behind its last
//
// So a piece finds the few that may join to it by a handful of keys, whatever the number of pieces is.
// One serves many mosaics in turn: its memory is kept.
class Table {
public:
    void open(const Pieces& pieces) {
        pieces_ = pieces;
        rank_ = pieces.front().axes.size();
        axes_.resize(pieces.size() * rank_);
        sums_.assign(pieces.size(), 0);
        shares_.resize(axes_.size());
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            for (std::size_t axis = 0; axis < rank_; ++axis) note(i, axis);
        }
    }

    // Enters the pieces anew, those that are `gone` left out; false where no two share all axes but one, as is most often.
    // Of two one must be new.
    template <class IsNew>
    bool fill(const std::vector<bool>& gone, const IsNew& is_new) {
        entries_.clear();
        Work& work = Work::of_thread();
        work.done += axes_.size() / Work::kKeys;
        if (!find_shared(gone, is_new)) return false;
        for (std::size_t i = pieces_.size(); i-- > 0;) {
            if (gone[i]) continue;
            each_key(i, [&](std::uint64_t key, Kind kind) {
                entries_.push_back({key + kind, static_cast<std::uint32_t>(i), kNone});
            });
        }
        work.done += entries_.size() / Work::kKeys;
        slots_.assign(std::bit_ceil(2 * entries_.size()), kNone);
        for (std::uint32_t k = 0; k < entries_.size(); ++k) {
            std::uint32_t& slot = slot_of(entries_[k].key);
            entries_[k].next = slot;
            slot = k;
        }
        return true;
    }

    // Piece `i` has grown along `axis`. It may share its other axes with any piece then.
    void grow(std::size_t i, std::size_t axis) {
        sums_[i] -= axes_[i * rank_ + axis].whole;
        note(i, axis);
        std::fill_n(shares_.begin() + static_cast<std::ptrdiff_t>(i * rank_), rank_, true);
    }

    // The pieces behind `after` that may join to piece `i`, in order. `i` never falls between fills.
    void candidates(std::size_t i, std::size_t after, std::vector<std::uint32_t>& found) {
        found.clear();
        each_key(i, [&](std::uint64_t key, Kind kind) {
            const Kind partner = kind == kBegins ? kMeets : kind == kMeets ? kBegins : kAlike;
            std::uint32_t& first = slot_of(key + partner);
            while (first != kNone && entries_[first].piece <= i && entries_[first].next != kNone) first = entries_[first].next;
            std::size_t room = kind == kAlike ? kMostAlike : entries_.size();
            for (std::uint32_t k = first; k != kNone && room > 0; k = entries_[k].next) {
                if (entries_[k].piece <= after) continue;
                found.push_back(entries_[k].piece);
                --room;
            }
        });
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
    }

private:
    enum Kind : std::uint64_t { kAlike = 1, kBegins = 2, kMeets = 3 };
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
    struct Axis {
        std::uint64_t terms;
        std::uint64_t whole;
    };
    struct Group {
        std::uint64_t key = 0;
        std::uint32_t count = 0;
        bool has_new = false;
    };
    struct Entry {
        std::uint64_t key;
        std::uint32_t piece;
        std::uint32_t next;  // of the same key, of a later piece
    };

    void note(std::size_t i, std::size_t axis) {
        const Positions& set = pieces_[i].axes[axis];
        const std::uint64_t terms = hash_of(set.terms);
        axes_[i * rank_ + axis] = {terms, mixed(mixed(terms, set.start), static_cast<std::int64_t>(axis))};
        sums_[i] += axes_[i * rank_ + axis].whole;
    }

    // Equal for pieces that differ along this axis alone.
    std::uint64_t others(std::size_t i, std::size_t axis) const {
        return mixed(sums_[i] - axes_[i * rank_ + axis].whole + axis);
    }

    // Notes for each piece and axis whether another piece differs from it along that axis alone, and one of those is new.
    template <class IsNew>
    bool find_shared(const std::vector<bool>& gone, const IsNew& is_new) {
        const std::size_t slots = std::bit_ceil(2 * pieces_.size());
        group_of_.resize(pieces_.size());
        bool any = false;
        for (std::size_t axis = 0; axis < rank_; ++axis) {
            groups_.assign(slots, {});
            for (std::size_t i = 0; i < pieces_.size(); ++i) {
                if (gone[i]) continue;
                const std::uint64_t key = others(i, axis);
                std::size_t at = key & (slots - 1);
                while (groups_[at].count != 0 && groups_[at].key != key) at = (at + 1) & (slots - 1);
                groups_[at].key = key;
                ++groups_[at].count;
                groups_[at].has_new = groups_[at].has_new || is_new(i);
                group_of_[i] = static_cast<std::uint32_t>(at);
            }
            for (std::size_t i = 0; i < pieces_.size(); ++i) {
                const bool shares = !gone[i] && groups_[group_of_[i]].count > 1 && groups_[group_of_[i]].has_new;
                shares_[i * rank_ + axis] = shares;
                any = any || shares;
            }
        }
        return any;
    }

    template <class Use>
    void each_key(std::size_t i, const Use& use) const {
        for (std::size_t axis = 0; axis < rank_; ++axis) {
            if (!shares_[i * rank_ + axis]) continue;
            const std::uint64_t terms = axes_[i * rank_ + axis].terms;
            const std::uint64_t others = this->others(i, axis);
            use(mixed(others ^ terms), kAlike);
            const Positions& set = pieces_[i].axes[axis];
            const auto at = [&](std::int64_t start, std::int64_t offset) {
                return mixed(others + static_cast<std::uint64_t>(start) * 0x9e3779b97f4a7c15u +
                             static_cast<std::uint64_t>(offset) * 0xc2b2ae3d27d4eb4fu);
            };
            use(at(set.start, pieces_[i].offset + set.offset), kBegins);
            for (const Term& term : set.terms) {
                if (term.listing) continue;
                use(at(set.start - term.step, pieces_[i].offset + set.offset - term.stride), kMeets);
                use(at(set.start + term.extent * term.step, pieces_[i].offset + set.offset + term.extent * term.stride),
                    kMeets);
            }
        }
    }

    // The slot of the first entry of a key, or the one where it would be.
    std::uint32_t& slot_of(std::uint64_t key) {
        std::size_t at = key & (slots_.size() - 1);
        while (slots_[at] != kNone && entries_[slots_[at]].key != key) at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }

    std::span<const Piece> pieces_;
    std::size_t rank_ = 0;
    std::vector<Axis> axes_;           // hashes; of piece i's axis k at i * rank_ + k
    std::vector<std::uint64_t> sums_;  // of the hashes of a piece's axes
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> slots_;  // the first entry of each key
    std::vector<char> shares_;          // as axes_: whether another piece differs along this axis alone
    std::vector<Group> groups_;
    std::vector<std::uint32_t> group_of_;  // by piece
};

// Pairs in order, until no two join. Two that have not grown since the last round tried them stay apart.
void join_few(Pieces& pieces) {
    std::vector<std::size_t> grown(pieces.size());  // the last round in which each was joined to
    bool joined = true;
    for (std::size_t round = 1; joined; ++round) {
        joined = false;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            for (std::size_t j = i + 1; j < pieces.size();) {
                const bool tried = grown[i] + 1 < round && grown[j] + 1 < round;
                if (!tried && join_pieces(pieces[i], pieces[j]) != pieces[i].axes.size()) {
                    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(j));
                    grown.erase(grown.begin() + static_cast<std::ptrdiff_t>(j));
                    grown[i] = round;
                    joined = true;
                } else {
                    ++j;
                }
            }
        }
    }
}

// The same pairs in the same order, but for those that do not join for certain.
void join_many(Pieces& pieces) {
    const std::size_t rank = pieces.front().axes.size();
    static thread_local Table table;
    table.open(pieces);
    std::vector<bool> gone(pieces.size());
    std::vector<std::size_t> grown(pieces.size());
    std::vector<std::uint32_t> found;
    bool joined = true;
    for (std::size_t round = 1; joined; ++round) {
        joined = false;
        if (!table.fill(gone, [&](std::size_t i) { return grown[i] + 1 >= round; })) break;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            if (gone[i]) continue;
            table.candidates(i, i, found);
            Work::of_thread().done += found.size() / Work::kPairs;
            for (std::size_t k = 0; k < found.size(); ++k) {
                const std::size_t j = found[k];
                if (gone[j] || (grown[i] + 1 < round && grown[j] + 1 < round)) continue;
                const std::size_t axis = join_pieces(pieces[i], pieces[j]);
                if (axis == rank) continue;
                gone[j] = true;
                grown[i] = round;
                joined = true;
                table.grow(i, axis);
                table.candidates(i, j, found);
                k = static_cast<std::size_t>(-1);
            }
        }
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (gone[i]) continue;
        if (kept != i) pieces[kept] = std::move(pieces[i]);
        ++kept;
    }
    pieces.resize(kept);
}

}  // namespace

void Mosaic::join() {
    if (pieces_.size() > kMaxPieces) {
        // Of many sources that do not lie alike: neighbours only, since pairs are too many.
        std::size_t last = 0;
        for (std::size_t i = 1; i < pieces_.size(); ++i) {
            if (join_pieces(pieces_[last], pieces_[i]) == pieces_[last].axes.size() && ++last != i)
                pieces_[last] = std::move(pieces_[i]);
        }
        pieces_.resize(last + 1);
        if (pieces_.size() > kMaxPieces) return;
    }
    if (pieces_.size() < 2) return;
    pieces_.size() <= kFew ? join_few(pieces_) : join_many(pieces_);
}

}  // namespace dnnmove::view
