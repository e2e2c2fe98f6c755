// Sets of positions along one axis, each position with its place in the source: the arithmetic of mosaics.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "array/dims.hpp"
#include "view/pool.hpp"
#include "view/short_list.hpp"

namespace dnnmove::view {

// Positions and byte offsets that no step and no stride describe: those of a take. Both count from the first,
// which has 0 and 0; positions rise.
struct Listing {
    Dims positions;
    Dims offsets;
    mutable std::atomic<std::uint32_t> owners = 0;
};

// Shared ownership of a listing in one pointer: positions are copied all the time, and few have one.
class ListingRef {
public:
    ListingRef() = default;
    ListingRef(std::nullptr_t) {}
    ListingRef(Dims positions, Dims offsets) : listing_(new Listing{std::move(positions), std::move(offsets), 1}) {}
    ListingRef(const ListingRef& other) noexcept : listing_(other.listing_) {
        if (listing_ != nullptr) [[unlikely]]
            listing_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    ListingRef(ListingRef&& other) noexcept : listing_(std::exchange(other.listing_, nullptr)) {}
    ListingRef& operator=(ListingRef other) noexcept {
        std::swap(listing_, other.listing_);
        return *this;
    }
    ~ListingRef() {
        if (listing_ != nullptr && listing_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) [[unlikely]]
            delete listing_;
    }
    explicit operator bool() const { return listing_ != nullptr; }
    const Listing* operator->() const { return listing_; }
    bool operator==(const ListingRef& other) const {
        if (listing_ == other.listing_) return true;
        return listing_ != nullptr && other.listing_ != nullptr && listing_->positions == other.listing_->positions &&
               listing_->offsets == other.listing_->offsets;
    }

private:
    const Listing* listing_ = nullptr;
};

// `extent` positions, `step` elements of the axis apart; their bytes lie `stride` bytes apart in
// the source (0 and negative allowed). step > 0. Or those of a listing, whose common divisor is `step`.
struct Term {
    std::int64_t extent = 1;
    std::int64_t step = 1;
    std::int64_t stride = 0;
    ListingRef listing = nullptr;

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
        return extent == other.extent && step == other.step && stride == other.stride && listing == other.listing;
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

// SplitMix64's finalizer, and it over a value more.
inline std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
inline std::uint64_t mixed(std::uint64_t hash, std::int64_t value) {
    return mixed(hash + 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(value));
}

// Equal for equal terms. A listing counts with its extent and step alone.
inline std::uint64_t hash_of(const Terms& terms) {
    std::uint64_t hash = terms.size();
    for (const Term& term : terms) {
        hash = mixed(hash + static_cast<std::uint64_t>(term.extent) * 0x9e3779b97f4a7c15u +
                     static_cast<std::uint64_t>(term.step) * 0xc2b2ae3d27d4eb4fu +
                     static_cast<std::uint64_t>(term.stride) * 0x165667b19e3779f9u);
    }
    return hash;
}

// Restores the order, drops extents of 1 and joins terms that one term describes. The other part of
// the invariant (steps beyond spans) is the caller's.
void normalize(Positions& set);

// The results below are as few sets as the digits allow; more than `limit` throw TooManyBoxes.

// The positions of [begin, end), counted from `begin`.
PooledList<Positions> cut(const Positions& set, std::int64_t begin, std::int64_t end, std::size_t limit);

// Every position as high * low_length + low: `first` holds high (and the offset), `second` low.
// Head, middle and tail become sets of their own where the digits straddle a multiple of low_length. `out`, emptied
// first, gets them: its memory serves many calls.
void divide(const Positions& set, std::int64_t low_length, std::size_t limit,
            std::vector<std::pair<Positions, Positions>>& out);

// The positions that `step` divides, divided by it.
PooledList<Positions> every(const Positions& set, std::int64_t step, std::size_t limit);

// Position p becomes length - 1 - p.
void reverse(Positions& set, std::int64_t length);

// Both as one set, where one describes both; nothing otherwise. They must be disjoint. `offset` is added to that of b.
std::optional<Positions> joined(const Positions& a, const Positions& b, std::int64_t offset);

}  // namespace dnnmove::view
