// Joining the pieces of a mosaic: which of them one box can hold, found by the axes that they share.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "chain/mosaic.hpp"

namespace dnnmove::chain {
namespace {

constexpr std::size_t kFew = 16;  // pieces: all pairs are tried sooner than a table of them is made

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
    auto joined = chain::joined(a.axes[differs], b.axes[differs], b.offset - a.offset);
    if (!joined) return rank;
    a.offset += joined->offset;
    joined->offset = 0;
    a.axes[differs] = std::move(*joined);
    return differs;
}

// SplitMix64's finalizer.
std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

std::uint64_t mixed(std::uint64_t hash, std::int64_t value) {
    return mixed(hash + 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(value));
}

// Equal for equal terms. A listing counts with its extent and step alone.
std::uint64_t hash_of(const Terms& terms) {
    std::uint64_t hash = terms.size();
    for (const Term& term : terms) {
        hash = mixed(hash + static_cast<std::uint64_t>(term.extent) * 0x9e3779b97f4a7c15u +
                     static_cast<std::uint64_t>(term.step) * 0xc2b2ae3d27d4eb4fu +
                     static_cast<std::uint64_t>(term.stride) * 0x165667b19e3779f9u);
    }
    return hash;
}

// The pieces by what others that join to them have in common with them: all axes but one, and of that axis either the
// terms, or that one begins, in its positions and in its bytes, where a term of the other ends or would begin:
//
//     begins      x x x x . . . .
//     meets       . . . . x x . .    a neighbour may end before a term's first step, or begin behind its last
//
// So a piece finds the few that may join to it by a handful of keys, whatever the number of pieces is.
class Table {
public:
    explicit Table(const std::vector<Piece>& pieces)
        : pieces_(pieces), rank_(pieces.front().axes.size()), axes_(pieces.size() * rank_), sums_(pieces.size()) {
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            for (std::size_t axis = 0; axis < rank_; ++axis) note(i, axis);
        }
    }

    // Enters the pieces anew, those that are `gone` left out.
    void fill(const std::vector<bool>& gone) {
        entries_.clear();
        for (std::size_t i = pieces_.size(); i-- > 0;) {
            if (gone[i]) continue;
            each_key(i, [&](std::uint64_t key, Kind kind) {
                entries_.push_back({key + kind, static_cast<std::uint32_t>(i), kNone});
            });
        }
        slots_.assign(std::bit_ceil(2 * entries_.size()), kNone);
        for (std::uint32_t k = 0; k < entries_.size(); ++k) {
            std::uint32_t& slot = slot_of(entries_[k].key);
            entries_[k].next = slot;
            slot = k;
        }
    }

    // Piece `i` has grown along `axis`.
    void grow(std::size_t i, std::size_t axis) {
        sums_[i] -= axes_[i * rank_ + axis].whole;
        note(i, axis);
    }

    // The pieces behind `after` that may join to piece `i`, in order. `i` never falls between fills.
    void candidates(std::size_t i, std::size_t after, std::vector<std::uint32_t>& found) {
        found.clear();
        each_key(i, [&](std::uint64_t key, Kind kind) {
            const Kind partner = kind == kBegins ? kMeets : kind == kMeets ? kBegins : kAlike;
            std::uint32_t& first = slot_of(key + partner);
            while (first != kNone && entries_[first].piece <= i && entries_[first].next != kNone) first = entries_[first].next;
            for (std::uint32_t k = first; k != kNone; k = entries_[k].next) {
                if (entries_[k].piece > after) found.push_back(entries_[k].piece);
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

    template <class Use>
    void each_key(std::size_t i, const Use& use) const {
        for (std::size_t axis = 0; axis < rank_; ++axis) {
            const auto& [terms, whole] = axes_[i * rank_ + axis];
            const std::uint64_t others = mixed(sums_[i] - whole + axis);
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
                use(at(set.start + term.extent * term.step, pieces_[i].offset + set.offset + term.extent * term.stride), kMeets);
            }
        }
    }

    // The slot of the first entry of a key, or the one where it would be.
    std::uint32_t& slot_of(std::uint64_t key) {
        std::size_t at = key & (slots_.size() - 1);
        while (slots_[at] != kNone && entries_[slots_[at]].key != key) at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }

    const std::vector<Piece>& pieces_;
    std::size_t rank_;
    std::vector<Axis> axes_;           // hashes; of piece i's axis k at i * rank_ + k
    std::vector<std::uint64_t> sums_;  // of the hashes of a piece's axes
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> slots_;  // the first entry of each key
};

// Pairs in order, until no two join. Two that have not grown since the last round tried them stay apart.
void join_few(std::vector<Piece>& pieces) {
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
void join_many(std::vector<Piece>& pieces) {
    const std::size_t rank = pieces.front().axes.size();
    Table table(pieces);
    std::vector<bool> gone(pieces.size());
    std::vector<std::size_t> grown(pieces.size());
    std::vector<std::uint32_t> found;
    bool joined = true;
    for (std::size_t round = 1; joined; ++round) {
        joined = false;
        table.fill(gone);
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            if (gone[i]) continue;
            table.candidates(i, i, found);
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
            if (join_pieces(pieces_[last], pieces_[i]) == pieces_[last].axes.size() && ++last != i) pieces_[last] = std::move(pieces_[i]);
        }
        pieces_.resize(last + 1);
        if (pieces_.size() > kMaxPieces) return;
    }
    if (pieces_.size() < 2) return;
    pieces_.size() <= kFew ? join_few(pieces_) : join_many(pieces_);
}

}  // namespace dnnmove::chain
