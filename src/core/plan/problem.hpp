// A planning problem: a canonical nest, and what else decides how it is copied.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "kernels/contract.hpp"
#include "plan/context.hpp"
#include "plan/nest.hpp"

namespace dnnmove {

// Canonical loops, the last one innermost in the destination, around an element. Refers to what it is made of.
struct Problem {
    // What the innermost part of the nest is like, which decides what strategies there are for it.
    enum class Innermost {
        padding,  // some elements have no source
        listed,  // places that come with each run
        repeated,  // one element again and again, contiguously
        rows,  // long elements, or such that no stride describes
        elements,  // short ones, contiguous in the destination
        apart  // short ones with gaps between them in the destination
    };

    Problem(const std::vector<Loop>& nest_loops, std::int64_t element, const PlanContext& plan_context);

    const Kernels& kernels() const { return *context.kernels; }
    // Of the destination.
    std::int64_t bytes() const;
    // The position of the loop whose steps are `stride` bytes apart in the source; loops.size() where there is none.
    std::size_t source_loop(std::int64_t stride) const;

    const std::vector<Loop>& loops;
    std::int64_t itemsize;  // bytes
    const PlanContext& context;
    Innermost innermost;
};

inline constexpr std::int64_t kUnitWorthBytes = 8 * 1024;  // a kernel call on less is mostly the call

// Is `outer` the continuation of a destination run of `bytes` bytes?
inline bool continues(const Loop& outer, std::int64_t bytes) { return !outer.table && outer.dst_stride == bytes; }

inline bool power_of_two(std::int64_t n) { return (n & (n - 1)) == 0; }
// Of a power of two.
inline std::size_t log2_of(std::int64_t n) { return static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(n))); }

inline constexpr double kCallCycles = 70;  // of one kernel call and of the loops around it

// How much kernel calls on the loops `taken` move at a time, and how long the runs are that they read and write, with those of
// other calls that come within `soon` bytes. All in bytes.
struct Runs {
    std::int64_t bytes;
    std::int64_t read;
    std::int64_t written;
};
Runs runs_of_calls(const std::vector<std::size_t>& taken, const Problem& problem, std::int64_t soon);

// Cycles per byte for what kernel calls on the loops `taken` cost besides the kernel's work: the calls, and
// the lines at the ends of the runs that a call reads and writes, which other calls touch again.
double cost_of_calls(const std::vector<std::size_t>& taken, const Problem& problem);

// What the ends of runs cost besides, past the caches, where nests are compared with walks over blocks (plan/block_walk.hpp):
// in cycles per byte, of what comes soon and of what a single call writes.
double cost_of_far_runs(const Runs& soon, std::int64_t written_by_call);
double cost_of_far_runs(const std::vector<std::size_t>& taken, const Problem& problem);

// Cycles per byte for elements that are taken out of lines far apart along `loop`, beyond the caches: what the
// estimates of kernels that move element after element leave out.
double far_cost(const Problem& problem, const Loop& loop);

// Likewise for what is written into many places of a destination beyond the caches, unless it leaves by long runs: every line
// of it is read first, when it is needed.
inline double scatter_cost(const Problem& problem, bool streams) { return problem.context.beyond_cache && !streams ? 0.1 : 0; }

// Offsets, by `stride`, of every step of a chain of loops, the first innermost.
std::vector<std::int64_t> row_offsets(const std::vector<std::size_t>& positions, const std::vector<Loop>& loops,
                                      std::int64_t Loop::* stride);

}  // namespace dnnmove
