// Division of a set of positions by a length: how an axis, cut anyhow before, becomes two axes.
//
// A term of step p falls into rows of `low` positions. Where p divides `low` it fills head, whole
// rows and tail; otherwise its place within a row repeats every low / gcd(p, low) steps:
//
//      low = 4, p = 1, start = 2, 9 steps        . . x x | x x x x | x x x .    head, 1 row, tail
//      low = 4, p = 3, start = 0, 8 steps        x . . x | . . x . | . x . . |  the same again
//
// Steps that stay within one row form a run; each run becomes a box, and runs of whole periods
// become one box that repeats.
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "view/positions.hpp"
#include "view/work.hpp"
#include "runtime/error.hpp"

namespace dnnmove::view {
namespace {

// Steps [first, first + count) of a term, all within one row unless `straddles` (then count is 1
// and the terms below reach into the next row).
struct Run {
    std::int64_t first = 0;
    std::int64_t count = 0;
    bool straddles = false;
};
using Runs = ShortList<Run, 8>;

struct Divider {
    Terms terms;  // whose steps `low` does not divide, by falling step
    std::int64_t low;
    std::size_t limit;
    std::vector<std::pair<Positions, Positions>>& out;
    Work& work = Work::of_thread();

    std::int64_t span(std::size_t from) const {
        std::int64_t sum = 0;
        for (std::size_t i = from; i < terms.size(); ++i) sum += terms[i].span();
        return sum;
    }

    [[noreturn]] void fail() const { throw TooManyBoxes("more than " + std::to_string(limit) + " nests"); }

    // `second` starts inside its row; both hold what the terms before `level` became.
    void walk(const Positions& first, const Positions& second, std::size_t level) {
        if (second.start + span(level) < low) return emit(first, second, level);
        const Term& term = terms[level];
        const std::int64_t period = low / std::gcd(term.step, low);
        const std::int64_t reach = span(level + 1);

        // The fewest runs of: no repetition, periods from the first step, periods from the first
        // step of the second row.
        std::optional<Runs> best;
        std::int64_t from = 0, periods = 0;
        const auto consider = [&](std::int64_t start) {
            const std::int64_t whole = start < 0 ? 0 : (term.extent - start) / period;
            if (start >= 0 && whole < 2) return;
            Runs found;
            const std::int64_t begin = std::max<std::int64_t>(start, 0);
            const bool fits = whole == 0 ? append(found, term, second.start, reach, 0, term.extent)
                                         : append(found, term, second.start, reach, 0, begin) &&
                                               append(found, term, second.start, reach, begin, begin + period) &&
                                               append(found, term, second.start, reach, begin + whole * period, term.extent);
            if (fits && (!best || found.size() < best->size())) {
                best = std::move(found);
                from = begin;
                periods = whole;
            }
        };
        if (!term.listing) {
            consider(0);
            consider(next_row(term, second.start));
        }
        consider(-1);
        if (!best) fail();

        for (const Run& run : *best) {
            const std::int64_t position = second.start + term.position(run.first);
            Positions high = first;
            Positions row = second;
            high.start += position / low;
            high.offset += term.offset(run.first);
            row.start = position % low;
            if (periods > 0 && run.first >= from && run.first < from + period) {
                high.terms.push_back(Term{periods, term.step * period / low, term.stride * period});
            }
            row.terms.push_back(term.part(run.first, run.count));
            if (run.straddles) {
                walk(high, row, level + 1);
            } else {
                emit(high, row, level + 1);
            }
        }
    }

    // The first step that lies in the row after the first one.
    std::int64_t next_row(const Term& term, std::int64_t start) const { return (low - start + term.step - 1) / term.step; }

    // Appends the runs of steps [begin, end); false where there are more than `limit` in all.
    bool append(Runs& runs, const Term& term, std::int64_t start, std::int64_t reach, std::int64_t begin,
                std::int64_t end) const {
        for (std::int64_t k = begin; k < end;) {
            if (runs.size() == limit) return false;
            const std::int64_t place = (term.position(k) + start) % low;
            const std::int64_t room = low - 1 - place - reach;
            const std::int64_t count = room < 0 ? 1 : std::min(end, term.first_from(term.position(k) + room + 1)) - k;
            runs.push_back(Run{k, count, room < 0});
            k += count;
        }
        return true;
    }

    void emit(Positions first, Positions second, std::size_t level) {
        if (out.size() == limit || ++work.done > work.most) fail();
        second.terms.append(terms.begin() + level, terms.end());
        normalize(first);
        normalize(second);
        out.emplace_back(std::move(first), std::move(second));
    }
};

}  // namespace

void divide(const Positions& set, std::int64_t low_length, std::size_t limit,
            std::vector<std::pair<Positions, Positions>>& out) {
    out.clear();
    Positions high{set.start / low_length, set.offset, {}};
    const Positions low{set.start % low_length, 0, {}};
    Divider divider{.terms = {}, .low = low_length, .limit = limit, .out = out};
    for (const Term& term : set.terms) {
        if (term.step % low_length == 0) {
            high.terms.push_back(term.divided(low_length));
        } else {
            divider.terms.push_back(term);
        }
    }
    divider.walk(high, low, 0);
}

}  // namespace dnnmove::view
