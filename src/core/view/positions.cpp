// Sets of positions along one axis: order, cuts, filters, joins. Division has a file of its own.
#include "view/positions.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>

#include "view/work.hpp"
#include "runtime/error.hpp"

namespace dnnmove::view {
namespace {

// Would a term of two positions, `step` apart, meet none of the terms?
bool fits_among(const Terms& terms, std::int64_t step) {
    std::int64_t below = 0;
    bool placed = false;
    for (std::size_t i = terms.size(); i-- > 0;) {
        if (!placed && step < terms[i].step) {
            if (step <= below) return false;
            below += step;
            placed = true;
        }
        if (terms[i].step <= below) return false;
        below += terms[i].span();
    }
    return placed || step > below;
}

std::int64_t span(const Terms& terms, std::size_t from) {
    std::int64_t sum = 0;
    for (std::size_t i = from; i < terms.size(); ++i) sum += terms[i].span();
    return sum;
}

void add(PooledList<Positions>& sets, Positions set, std::size_t limit) {
    if (sets.size() == limit) throw TooManyBoxes("more than " + std::to_string(limit) + " nests");
    normalize(set);
    sets.push_back(std::move(set));
}

// x with a * x = 1 modulo m, for coprime a and m.
std::int64_t inverse(std::int64_t a, std::int64_t m) {
    std::int64_t r0 = m, r1 = a % m, x0 = 0, x1 = 1;
    while (r1 != 0) {
        const std::int64_t quotient = r0 / r1;
        std::swap(r0 -= quotient * r1, r1);
        std::swap(x0 -= quotient * x1, x1);
    }
    return (x0 % m + m) % m;
}

// State of one `cut`: goes down the terms, from the largest step, until a term lies whole inside.
struct Cutter {
    const Terms& terms;
    std::int64_t begin;
    std::int64_t end;
    std::size_t limit;
    PooledList<Positions>& out;

    // `set` holds the terms before `level`, already within; the others are still to be cut.
    void walk(const Positions& set, std::size_t level) {
        const std::int64_t first = set.start;
        const std::int64_t reach = span(terms, level);
        if (first >= end || first + reach < begin) return;
        if (first >= begin && first + reach < end) return emit(set, level);
        const Term& term = terms[level];
        const std::int64_t low = span(terms, level + 1);
        // Steps [whole_first, whole_last] of the term lie inside with all below them; a step before
        // or after may lie inside in part.
        const std::int64_t some_first = term.first_from(begin - low - first);
        const std::int64_t some_last = term.first_from(end - first) - 1;
        const std::int64_t whole_first = term.first_from(begin - first);
        const std::int64_t whole_last = term.first_from(end - low - first) - 1;
        for (std::int64_t k = some_first; k <= some_last; ++k) {
            const bool whole = k >= whole_first && k <= whole_last;
            Positions inner = set;
            inner.start += term.position(k);
            inner.offset += term.offset(k);
            if (!whole) {
                walk(inner, level + 1);
                continue;
            }
            inner.terms.push_back(term.part(k, whole_last - k + 1));
            emit(inner, level + 1);
            k = whole_last;
        }
    }

    void emit(Positions set, std::size_t level) {
        set.terms.append(terms.begin() + level, terms.end());
        set.start -= begin;
        add(out, std::move(set), limit);
    }
};

// State of one `every`: terms whose step the divisor does not divide keep only some of their steps,
// together: residues are chosen term by term so that the terms left can still reach a multiple.
struct Filter {
    Terms open;
    std::int64_t divisor;
    std::size_t limit;
    PooledList<Positions>& out;

    void walk(const Positions& set, std::size_t level) {
        if (level == open.size()) {
            if (set.start % divisor == 0) emit(set);
            return;
        }
        const Term& term = open[level];
        if (term.listing) return walk_listing(set, level);
        // Steps that differ by `period` have one residue; the terms after this one reach the
        // multiples of `reach`, which every `stride`-th step hits, from some `first` on.
        const std::int64_t period = divisor / std::gcd(term.step, divisor);
        std::int64_t reach = divisor;
        for (std::size_t i = level + 1; i < open.size(); ++i) reach = std::gcd(reach, open[i].step);
        const std::int64_t shared = std::gcd(term.step, reach);
        if (set.start % shared != 0) return;
        const std::int64_t stride = reach / shared;
        const std::int64_t wanted = (stride - set.start / shared % stride) % stride;
        const auto first = static_cast<std::int64_t>(static_cast<__int128>(wanted) * inverse(term.step / shared, stride) %
                                                     stride);
        for (std::int64_t k = first; k < std::min(period, term.extent); k += stride) {
            Positions inner = set;
            inner.start += k * term.step;
            inner.offset += k * term.stride;
            Term every{(term.extent - k + period - 1) / period, term.step, term.stride};
            // Beyond 64 bits only where there is one step, and nobody goes on.
            static_cast<void>(__builtin_mul_overflow(every.step, period, &every.step));
            static_cast<void>(__builtin_mul_overflow(every.stride, period, &every.stride));
            inner.terms.push_back(every);
            walk(inner, level + 1);
        }
    }

    void walk_listing(const Positions& set, std::size_t level) {
        // Its steps have no pattern that others could be chosen by.
        if (open.size() > 1) throw TooManyBoxes("steps across positions that are listed");
        const Term& term = open[level];
        Dims positions, offsets;
        for (std::int64_t k = 0; k < term.extent; ++k) {
            if ((set.start + term.position(k)) % divisor != 0) continue;
            positions.push_back(term.position(k));
            offsets.push_back(term.offset(k));
        }
        if (positions.empty()) return;
        Positions inner = set;
        inner.start += positions.front();
        inner.offset += offsets.front();
        inner.terms.push_back(Term::listed(std::move(positions), std::move(offsets)));
        emit(inner);
    }

    void emit(Positions set) {
        set.start /= divisor;
        for (Term& term : set.terms) term = term.extent == 1 ? Term{1, 1, term.stride} : term.divided(divisor);
        add(out, std::move(set), limit);
    }
};

}  // namespace

Term Term::listed(Dims positions, Dims offsets) {
    Work::of_thread().done += positions.size() / Work::kEntries;
    const auto extent = static_cast<std::int64_t>(positions.size());
    const std::int64_t first_position = positions.front();
    const std::int64_t first_offset = offsets.front();
    std::int64_t step = 0;
    bool plain = true;
    for (std::size_t k = 0; k < positions.size(); ++k) {
        positions[k] -= first_position;
        offsets[k] -= first_offset;
        if (step != 1) step = std::gcd(step, positions[k]);
        const auto count = static_cast<std::int64_t>(k);
        plain = plain && (k < 2 || (positions[k] == count * positions[1] && offsets[k] == count * offsets[1]));
    }
    if (plain) return extent == 1 ? Term{1, 1, 0} : Term{extent, positions[1], offsets[1]};
    return Term{extent, step, 0, ListingRef(std::move(positions), std::move(offsets))};
}

std::int64_t Term::first_from(std::int64_t bound) const {
    if (listing) {
        const Dims& all = listing->positions;
        return std::lower_bound(all.begin(), all.end(), bound) - all.begin();
    }
    return bound <= 0 ? 0 : std::min(extent, (bound - 1) / step + 1);
}

Term Term::part(std::int64_t first, std::int64_t count) const {
    if (!listing) return Term{count, step, stride};
    const auto cut = [&](const Dims& all) { return Dims(all.begin() + first, all.begin() + first + count); };
    return listed(cut(listing->positions), cut(listing->offsets));
}

Term Term::scaled(std::int64_t factor) const {
    if (!listing) return Term{extent, step * factor, stride};
    Dims positions = listing->positions;
    for (std::int64_t& position : positions) position *= factor;
    return listed(std::move(positions), listing->offsets);
}

Term Term::divided(std::int64_t divisor) const {
    if (!listing) return Term{extent, step / divisor, stride};
    Dims positions = listing->positions;
    for (std::int64_t& position : positions) position /= divisor;
    return listed(std::move(positions), listing->offsets);
}

Positions Positions::all(std::int64_t length, std::int64_t stride) {
    Positions set;
    if (length != 1) set.terms.push_back(Term{length, 1, stride});
    return set;
}

std::int64_t Positions::last() const { return start + span(terms, 0); }

std::int64_t Positions::count() const {
    std::int64_t count = 1;
    for (const Term& term : terms) count *= term.extent;
    return count;
}

std::optional<std::int64_t> Positions::find(std::int64_t position) const {
    std::int64_t rest = position - start;
    std::int64_t place = offset;
    for (const Term& term : terms) {
        const std::int64_t k = term.first_from(rest + 1) - 1;  // the last that is not behind it
        if (k < 0) return std::nullopt;
        rest -= term.position(k);
        place += term.offset(k);
    }
    return rest == 0 ? std::optional(place) : std::nullopt;
}

void normalize(Positions& set) {
    Terms& terms = set.terms;
    if (terms.empty() || (terms.size() == 1 && terms[0].extent != 1)) return;
    terms.shorten(static_cast<std::size_t>(
        std::remove_if(terms.begin(), terms.end(), [](const Term& term) { return term.extent == 1; }) - terms.begin()));
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.step > b.step; });
    for (std::size_t i = terms.size(); i-- > 1;) {
        Term& high = terms[i - 1];
        const Term& low = terms[i];
        if (high.listing || low.listing) continue;
        if (high.step != low.step * low.extent || high.stride != low.stride * low.extent) continue;
        high = Term{high.extent * low.extent, low.step, low.stride};
        terms.erase(i);
    }
}

PooledList<Positions> cut(const Positions& set, std::int64_t begin, std::int64_t end, std::size_t limit) {
    PooledList<Positions> out;
    Cutter{set.terms, begin, end, limit, out}.walk(Positions{set.start, set.offset, {}}, 0);
    return out;
}

PooledList<Positions> every(const Positions& set, std::int64_t step, std::size_t limit) {
    PooledList<Positions> out;
    Positions settled{set.start, set.offset, {}};
    Filter filter{{}, step, limit, out};
    for (const Term& term : set.terms) (term.step % step == 0 ? settled.terms : filter.open).push_back(term);
    // The last open term is not enumerated, so it should be the one of the most steps that differ.
    const auto steps = [step](const Term& term) { return std::min(step / std::gcd(term.step, step), term.extent); };
    std::ranges::stable_sort(filter.open, {}, steps);
    filter.walk(settled, 0);
    return out;
}

void reverse(Positions& set, std::int64_t length) {
    set.start = length - 1 - set.last();
    for (Term& term : set.terms) {
        const std::int64_t last = term.extent - 1;
        set.offset += term.offset(last);
        if (!term.listing) {
            term.stride = -term.stride;
            continue;
        }
        Dims positions, offsets;
        for (std::int64_t k = last; k >= 0; --k) {
            positions.push_back(term.span() - term.position(k));
            offsets.push_back(term.offset(k));
        }
        term = Term::listed(std::move(positions), std::move(offsets));
    }
}

std::optional<Positions> joined(const Positions& a, const Positions& b, std::int64_t offset) {
    // They must differ in the extent of one term at most; `grown` gets both extents. Most pairs that are tried do not
    // join: nothing is copied before it is certain that these do.
    const bool first = a.start < b.start;
    const Positions& low = first ? a : b;
    const Positions& high = first ? b : a;
    const std::int64_t step = high.start - low.start;
    const std::int64_t apart = b.offset + offset - a.offset;
    const std::int64_t stride = first ? apart : -apart;
    const std::int64_t begin = first ? a.offset : b.offset + offset;
    if (step == 0) return std::nullopt;
    const auto normal = [&](Terms terms) {
        Positions both{low.start, begin, std::move(terms)};
        normalize(both);
        return both;
    };
    if (low.terms == high.terms) {
        if (!fits_among(low.terms, step)) return std::nullopt;
        Terms terms = low.terms;
        terms.push_back(Term{2, step, stride});
        return normal(std::move(terms));
    }
    // The term that differs: longer in one, or absent (an extent of 1) in one of them.
    std::size_t i = 0;
    while (i < low.terms.size() && i < high.terms.size() && low.terms[i] == high.terms[i]) ++i;
    const bool absent_low = low.terms.size() + 1 == high.terms.size();
    const bool absent_high = high.terms.size() + 1 == low.terms.size();
    if (!absent_low && !absent_high && low.terms.size() != high.terms.size()) return std::nullopt;
    const auto rest = [](const Terms& terms, std::size_t from) {
        return std::span<const Term>(terms.data(), terms.size()).subspan(std::min(from, terms.size()));
    };
    if (!std::ranges::equal(rest(low.terms, absent_low ? i : i + 1), rest(high.terms, absent_high ? i : i + 1)))
        return std::nullopt;
    if ((i < low.terms.size() && low.terms[i].listing) || (i < high.terms.size() && high.terms[i].listing)) return std::nullopt;
    const Term& shape = absent_low ? high.terms[i] : low.terms[i];
    const std::int64_t low_extent = absent_low ? 1 : low.terms[i].extent;
    const std::int64_t high_extent = absent_high ? 1 : high.terms[i].extent;
    if (!absent_low && !absent_high && (high.terms[i].step != shape.step || high.terms[i].stride != shape.stride)) {
        return std::nullopt;
    }
    if (step != low_extent * shape.step || stride != low_extent * shape.stride) return std::nullopt;
    // The grown term must stay below the next larger step.
    const Term grown{low_extent + high_extent, shape.step, shape.stride};
    const Terms& longer = absent_low ? high.terms : low.terms;
    if (i > 0 && longer[i - 1].step <= grown.span() + span(longer, i + 1)) return std::nullopt;
    Terms terms = longer;
    terms[i] = grown;
    return normal(std::move(terms));
}

}  // namespace dnnmove::view
