// Whether two strided arrays share a byte, and whether one array meets itself.
//
// Both questions ask for a solution of sum(stride_i * x_i) = target with 0 <= x_i <= limit_i, the
// bounded Diophantine equation of NumPy's shares_memory. Terms that tile one another are merged
// first, which leaves one or two terms for ordinary arrays; what remains is searched depth first,
// pruned by range and by greatest common divisors, within a budget.
#include "array/overlap.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "array/term.hpp"

namespace dnnmove {
namespace {

using Wide = __int128;  // sums of products of 64-bit numbers

constexpr int kBudget = 10000;  // nodes of the search before it gives up

Wide gcd(Wide a, Wide b) {
    while (b != 0) {
        const Wide rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

Wide floor_div(Wide a, Wide b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }

// The inverse of a modulo m, for coprime a and m >= 1.
Wide inverse(Wide a, Wide m) {
    Wide r0 = m, r1 = ((a % m) + m) % m, t0 = 0, t1 = 1;
    while (r1 != 0) {
        const Wide q = r0 / r1;
        const Wide r2 = r0 - q * r1;
        const Wide t2 = t0 - q * t1;
        r0 = r1;
        r1 = r2;
        t0 = t1;
        t1 = t2;
    }
    return ((t0 % m) + m) % m;
}

class Search {
public:
    explicit Search(std::vector<Term> terms) : terms_(merged(std::move(terms))) {
        reach_.resize(terms_.size() + 1, 0);
        divisor_.resize(terms_.size() + 1, 0);
        for (std::size_t i = terms_.size(); i-- > 0;) {
            reach_[i] = reach_[i + 1] + Wide{terms_[i].stride} * terms_[i].limit;
            divisor_[i] = gcd(divisor_[i + 1], terms_[i].stride);
        }
    }

    // True where the equation has a solution or the budget is spent.
    bool solvable(Wide target) { return visit(0, target); }
    int visited() const { return visited_; }

private:
    bool visit(std::size_t i, Wide target) {
        if (target < 0 || target > reach_[i]) return false;
        if (target == 0) return true;
        if (divisor_[i] == 0 || target % divisor_[i] != 0) return false;
        if (++visited_ > kBudget) return true;
        const Wide stride = terms_[i].stride;
        Wide first = -floor_div(reach_[i + 1] - target, stride);  // the rest can no longer reach the target below it
        if (first < 0) first = 0;
        const Wide last = std::min(target / stride, Wide{terms_[i].limit});
        Wide step = 1;
        if (divisor_[i + 1] != 0) {
            // stride * x must equal target modulo the divisor of the rest: every step-th x does.
            const Wide common = gcd(stride, divisor_[i + 1]);
            step = divisor_[i + 1] / common;
            const Wide residue = step == 1 ? 0 : (target / common % step) * inverse(stride / common, step) % step;
            first += ((residue - first) % step + step) % step;
        }
        for (Wide x = first; x <= last; x += step) {
            if (visit(i + 1, target - x * stride)) return true;
        }
        return false;
    }

    std::vector<Term> terms_;
    std::vector<Wide> reach_;    // largest sum of the terms from i on
    std::vector<Wide> divisor_;  // greatest common divisor of the strides from i on
    int visited_ = 0;
};

}  // namespace

std::vector<Term> merged(std::vector<Term> terms) {
    std::erase_if(terms, [](const Term& term) { return term.limit == 0; });
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.stride < b.stride; });
    std::vector<Term> kept;
    for (const Term& term : terms) {
        if (!kept.empty()) {
            Term& low = kept.back();
            const std::int64_t ratio = term.stride / low.stride;
            std::int64_t added = 0;
            std::int64_t limit = 0;
            if (term.stride % low.stride == 0 && ratio - 1 <= low.limit && !__builtin_mul_overflow(ratio, term.limit, &added) &&
                !__builtin_add_overflow(low.limit, added, &limit)) {
                low.limit = limit;
                continue;
            }
        }
        kept.push_back(term);
    }
    std::reverse(kept.begin(), kept.end());
    return kept;
}

void append_terms(std::vector<Term>& terms, const Footprint& array) {
    for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
        if (array.strides[axis] != 0) terms.push_back({std::abs(array.strides[axis]), array.shape[axis] - 1});
    }
    terms.push_back({1, array.itemsize - 1});
}

Extent extent_of(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides, std::int64_t itemsize) {
    // The strides of empty arrays may be any: they lead nowhere.
    if (itemsize == 0 || std::find(shape.begin(), shape.end(), 0) != shape.end()) return {};
    Extent extent{0, itemsize};
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::int64_t span = (shape[axis] - 1) * strides[axis];
        (span < 0 ? extent.low : extent.high) += span;
    }
    return extent;
}

bool overlap(const Footprint& a, const Footprint& b) {
    std::int64_t nodes = 0;
    return overlap(a, b, nodes);
}

bool overlap(const Footprint& a, const Footprint& b, std::int64_t& nodes) {
    const Extent in_a = extent_of(a.shape, a.strides, a.itemsize);
    const Extent in_b = extent_of(b.shape, b.strides, b.itemsize);
    if (in_a.low == in_a.high || in_b.low == in_b.high) return false;
    const auto at = [](const Footprint& array, std::int64_t offset) {
        return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(array.base)) + offset;
    };
    if (at(a, in_a.high) <= at(b, in_b.low) || at(b, in_b.high) <= at(a, in_a.low)) return false;

    // low(a) + sum(a) + byte(a) = low(b) + sum(b) + byte(b); x -> limit - x turns b's terms positive.
    std::vector<Term> terms;
    append_terms(terms, a);
    append_terms(terms, b);
    Search search(std::move(terms));
    const bool found = search.solvable(Wide{at(b, in_b.high)} - 1 - at(a, in_a.low));
    nodes += search.visited();
    return found;
}

bool overlaps_itself(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides, std::int64_t itemsize) {
    std::vector<Term> terms;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] == 0) return false;
        if (shape[axis] > 1) terms.push_back({std::abs(strides[axis]), shape[axis] - 1});
    }
    if (itemsize == 0) return false;
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.stride < b.stride; });
    if (!terms.empty() && terms.front().stride == 0) return true;

    // No two elements meet where each stride clears all that the smaller ones span.
    Wide span = itemsize;
    bool nested = true;
    for (const Term& term : terms) {
        nested = nested && term.stride >= span;
        span += Wide{term.stride} * term.limit;
    }
    if (nested) return false;

    // Two elements that meet differ by d with sum(stride * d) = byte difference. Take the largest
    // stride k with d != 0, let it be positive, and shift every d to start at 0.
    for (std::size_t k = terms.size(); k-- > 0;) {
        std::vector<Term> shifted{{1, 2 * (itemsize - 1)}, {terms[k].stride, terms[k].limit - 1}};
        Wide target = Wide{itemsize} - 1 - terms[k].stride;
        for (std::size_t i = 0; i < k; ++i) {
            shifted.push_back({terms[i].stride, 2 * terms[i].limit});
            target += Wide{terms[i].stride} * terms[i].limit;
        }
        if (Search(std::move(shifted)).solvable(target)) return true;
    }
    return false;
}

}  // namespace dnnmove
