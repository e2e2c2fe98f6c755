// Sets of positions along one axis, each position with its place in the source: the arithmetic of chains.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace dnnmove::chain {

// `extent` positions, `step` elements of the axis apart; their bytes lie `stride` bytes apart in
// the source (0 and negative allowed). step > 0.
struct Term {
    std::int64_t extent;
    std::int64_t step;
    std::int64_t stride;
    bool operator==(const Term&) const = default;
};

// The positions start + sum of k_i * step_i, 0 <= k_i < extent_i, which lie at byte
// offset + sum of k_i * stride_i of the source.
//
// Invariant: terms are sorted by falling step, no extent is 1, and every step is larger than what
// all terms after it span together. So no two terms meet, and a position determines its k_i.
struct Positions {
    std::int64_t start = 0;
    std::int64_t offset = 0;
    std::vector<Term> terms;

    // Every position of an axis of `length` (>= 1), `stride` bytes apart.
    static Positions all(std::int64_t length, std::int64_t stride);

    std::int64_t last() const;   // the largest position
    std::int64_t count() const;  // how many
    bool operator==(const Positions&) const = default;
};

// Restores the order, drops extents of 1 and joins terms that one term describes. The other part of
// the invariant (steps beyond spans) is the caller's.
void normalize(Positions& set);

// The results below are as few sets as the digits allow; more than `limit` throw NotOneView.

// The positions of [begin, end), counted from `begin`.
std::vector<Positions> cut(const Positions& set, std::int64_t begin, std::int64_t end, std::size_t limit);

// Every position as high * low_length + low: `first` holds high (and the offset), `second` low.
// Head, middle and tail become sets of their own where the digits straddle a multiple of low_length.
std::vector<std::pair<Positions, Positions>> divide(const Positions& set, std::int64_t low_length, std::size_t limit);

// The positions that `step` divides, divided by it.
std::vector<Positions> every(const Positions& set, std::int64_t step, std::size_t limit);

// Position p becomes length - 1 - p.
void reverse(Positions& set, std::int64_t length);

// Joins `b` to `a` where one set describes both; returns whether it did. They must be disjoint.
bool join(Positions& a, const Positions& b);

}  // namespace dnnmove::chain
