// Chooses the two chains of loops that a transpose turns against each other.
#include <algorithm>

#include "plan/candidate.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kLongRunBytes = 512;  // a longer run gains nothing

// A chain of loops as one dimension, the first innermost.
struct Chain {
    std::vector<std::size_t> positions;
    std::int64_t length = 1;

    bool has(std::size_t position) const { return std::find(positions.begin(), positions.end(), position) != positions.end(); }
    void add(std::size_t position, const std::vector<Loop>& loops) {
        positions.push_back(position);
        length *= loops[position].extent;
    }
    // Ends it before `position`, which it has.
    void cut(std::size_t position, const std::vector<Loop>& loops) {
        bool all = false;
        while (!all) {
            all = positions.back() == position;
            length /= loops[positions.back()].extent;
            positions.pop_back();
        }
    }
};

// The loop at `inner` and those that continue it in the source, until the run is long.
Chain source_chain(const std::vector<Loop>& loops, std::size_t inner, std::int64_t most_rows) {
    Chain a;
    a.add(inner, loops);
    const std::int64_t step = loops[inner].src_stride;
    while (step > 0 && a.length * step < kLongRunBytes) {
        const std::size_t position = source_loop(loops, a.length * step);
        if (position == loops.size() || a.length * loops[position].extent > most_rows) break;
        a.add(position, loops);
    }
    return a;
}

}  // namespace

void take_chains(Candidate& candidate, const std::vector<Loop>& loops, std::int64_t itemsize, std::size_t inner,
                 const Kernels& kernels, TransposeCost cost_of) {
    const std::int64_t most_rows = max_table_rows(loops, itemsize);
    const std::int64_t step = loops[inner].src_stride;
    Chain run_a = source_chain(loops, inner, most_rows);
    Chain run_b;
    Chain a;
    Chain b;
    double least = std::numeric_limits<double>::infinity();
    const auto consider = [&](Chain one, Chain other) {
        std::vector<std::size_t> taken = one.positions;
        taken.insert(taken.end(), other.positions.begin(), other.positions.end());
        const double cost = cost_of(one.length, other.length, {itemsize, std::abs(step)}, kernels);
        const double whole_cost = cost + cost_of_calls(taken, loops, itemsize, kernels);
        if (whole_cost > least) return;
        least = whole_cost;
        candidate.cost = cost;
        candidate.taken = std::move(taken);
        a = std::move(one);
        b = std::move(other);
    };
    // Destination-contiguous loops, until the run is long or reaches the source's innermost loop. One that
    // continues the source, too, ends that run here: is it the better one without?
    for (std::size_t position = loops.size(); position-- > 0;) {
        const Loop& loop = loops[position];
        if (position == inner || !continues(loop, run_b.length * itemsize)) break;
        if (run_b.length * itemsize >= kLongRunBytes || (run_b.length > 1 && run_b.length * loop.extent > most_rows)) break;
        if (run_a.has(position)) {
            if (!run_b.positions.empty()) consider(run_a, run_b);
            run_a.cut(position, loops);
        }
        run_b.add(position, loops);
    }
    if (run_b.positions.empty()) return;
    consider(std::move(run_a), std::move(run_b));
    Leaf& leaf = candidate.leaf;
    leaf.a_chained = a.positions.size() > 1;
    leaf.b_chained = b.positions.size() > 1;
    leaf.a = {a.length, a.length, step, leaf.a_chained ? 0 : loops[inner].dst_stride};
    leaf.b = {b.length, b.length, leaf.b_chained ? 0 : loops[b.positions[0]].src_stride, itemsize};
    if (step < 0) leaf.turn_a_round();
    candidate.columns = a.positions.size();
}

void tabulate_chains(Candidate& candidate, const std::vector<Loop>& loops) {
    const auto b = candidate.taken.begin() + static_cast<std::ptrdiff_t>(candidate.columns);
    Leaf& leaf = candidate.leaf;
    if (leaf.a_chained) leaf.dst_rows = row_offsets({candidate.taken.begin(), b}, loops, &Loop::dst_stride);
    if (leaf.b_chained) leaf.src_rows = row_offsets({b, candidate.taken.end()}, loops, &Loop::src_stride);
}

}  // namespace dnnmove
