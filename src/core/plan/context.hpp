// What decides the plan of a nest besides the nest: the machine, and how much the program that it belongs to moves.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/contract.hpp"
#include "plan/processor.hpp"
#include "plan/transfer.hpp"
#include "plan/variant.hpp"
#include "runtime/cpu.hpp"
#include "runtime/isa.hpp"

namespace dnnmove {

// What decides the plans of a program besides its nests.
struct PlanOptions {
    Isa isa = best_isa();
    std::int64_t dst_alignment = 1;  // a power of two (bytes, at most 64) that divides every destination base
    Variant variant = {};            // where a measurement has overruled the planner
    const Processor* processor = &this_processor();
    const LastLevelCache* cache = &last_level_cache();
};

// And that of one of them.
struct PlanContext {
    const Kernels* kernels;
    bool large;                  // the program's data would fill most of the last-level cache
    bool near;                   // they fit into the second-level caches
    std::int64_t dst_alignment;  // of every destination base: a power of two, at most 64 bytes
    std::int64_t dst_offset;     // of this nest, bytes
    std::int64_t unit_bytes = 4096;  // of a staged unit: less where many nests share a source
    // Transposes go past the caches where the data are large, gathers beyond the cache; streams, records and fills, which
    // ordinary stores suit best, where they are far beyond it, as do short rows by way of a stage; other rows where the
    // processor says.
    bool beyond_cache = false;  // source and destination do not fit into the last-level cache
    bool far_beyond_cache = false;  // nor would a fair part of them
    bool stream_rows = false;
    Variant variant = {};  // where a measurement has overruled the planner
    const Processor* processor = &kManyStreams;
    // Nests of the same loops that lie side by side in the rows of one source: where the first of them begins, and how
    // much of a row they read together.
    std::int64_t side_by_side_from = 0;  // bytes
    std::int64_t side_by_side_bytes = 0;  // 0: a nest by itself
    bool claims = false;  // ordinary stores: kernels ask for the lines of the destination
    bool alone = false;  // the nest is all of a program: threads divide it among themselves
    bool far_source = false;  // the source comes from beyond the caches, though the destination lies in one

    bool reads_far() const { return beyond_cache || far_source; }
};

// What a program moves.
struct Traffic {
    std::int64_t written = 0;  // bytes
    double read = 0;           // bytes; not exact, but never more than it can hold
    double listed = 0;         // bytes of indices that come with each run, as often as they are read
};

Traffic traffic_of(const std::vector<Transfer>& transfers);

// What follows from how much there is: where data lie, and what goes past the caches.
PlanContext context_of(const PlanOptions& options, const Traffic& traffic);

// What follows from how many nests there are, and from how they lie.
PlanContext with_neighbours(PlanContext context, const std::vector<Transfer>& transfers);

}  // namespace dnnmove
