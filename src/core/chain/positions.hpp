// Sets of positions along one axis, each position with its place in the source: the arithmetic of chains.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "chain/short_list.hpp"
#include "view/dims.hpp"

namespace dnnmove::chain {

// Positions and byte offsets that no step and no stride describe: those of a take. Both count from the first,
// which has 0 and 0; positions rise.
struct Listing {
    Dims positions;
    Dims offsets;
    bool operator==(const Listing&) const = default;
};

// `extent` positions, `step` elements of the axis apart; their bytes lie `stride` bytes apart in
// the source (0 and negative allowed). step > 0. Or those of a listing, whose common divisor is `step`.
struct Term {
    std::int64_t extent = 1;
    std::int64_t step = 1;
    std::int64_t stride = 0;
    std::shared_ptr<const Listing> listing = nullptr;

    // Of a listing, or the plain term that says the same. Neither is empty.
    static Term listed(Dims positions, Dims offsets);

    std::int64_t position(std::int64_t k) const { return listing ? listing->positions[static_cast<std::size_t>(k)] : k * step; }
    std::int64_t offset(std::int64_t k) const { return listing ? listing->offsets[static_cast<std::size_t>(k)] : k * stride; }
    std::int64_t span() const { return position(extent - 1); }
    // The first k, in [0, extent], whose position is at least `bound`.
    std::int64_t first_from(std::int64_t bound) const;
    // Steps [first, first + count), counted from the first of them.
    Term part(std::int64_t first, std::int64_t count) const;
    // Its positions times `factor`, or divided by one that divides all of them.
    Term scaled(std::int64_t factor) const;
    Term divided(std::int64_t divisor) const;

    bool operator==(const Term& other) const {
        return extent == other.extent && step == other.step && stride == other.stride &&
               (listing == other.listing || (listing && other.listing && *listing == *other.listing));
    }
};

using Terms = ShortList<Term, 2>;

// The positions start + sum of the terms' k_i-th positions, 0 <= k_i < extent_i, which lie at byte
// offset + sum of the terms' k_i-th offsets of the source.
//
// Invariant: terms are sorted by falling step, no extent is 1, and every step is larger than what
// all terms after it span together. So no two terms meet, and a position determines its k_i.
struct Positions {
    std::int64_t start = 0;
    std::int64_t offset = 0;
    Terms terms;

    // Every position of an axis of `length` (>= 1), `stride` bytes apart.
    static Positions all(std::int64_t length, std::int64_t stride);

    std::int64_t last() const;   // the largest position
    std::int64_t count() const;  // how many
    // The byte offset of a position; nothing where it is none of these.
    std::optional<std::int64_t> find(std::int64_t position) const;
    bool operator==(const Positions&) const = default;
};

// Restores the order, drops extents of 1 and joins terms that one term describes. The other part of
// the invariant (steps beyond spans) is the caller's.
void normalize(Positions& set);

// The results below are as few sets as the digits allow; more than `limit` throw NotOneView.

// The positions of [begin, end), counted from `begin`.
std::vector<Positions> cut(const Positions& set, std::int64_t begin, std::int64_t end, std::size_t limit);

// Every position as high * low_length + low: `first` holds high (and the offset), `second` low.
// Head, middle and tail become sets of their own where the digits straddle a multiple of low_length. `out`, emptied
// first, gets them: its memory serves many calls.
void divide(const Positions& set, std::int64_t low_length, std::size_t limit, std::vector<std::pair<Positions, Positions>>& out);

// The positions that `step` divides, divided by it.
std::vector<Positions> every(const Positions& set, std::int64_t step, std::size_t limit);

// Position p becomes length - 1 - p.
void reverse(Positions& set, std::int64_t length);

// Both as one set, where one describes both; nothing otherwise. They must be disjoint. `offset` is added to that of b.
std::optional<Positions> joined(const Positions& a, const Positions& b, std::int64_t offset);

}  // namespace dnnmove::chain
