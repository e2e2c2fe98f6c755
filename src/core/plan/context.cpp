// From how much a program moves, and from how many nests: where its data lie, and what goes past the caches.
#include "plan/context.hpp"

#include <algorithm>
#include <limits>

namespace dnnmove {
namespace {

// More nests than these are not looked at for parts of the same rows.
constexpr std::size_t kMostSideBySide = 16;

// Of staged units: what several nests take turns in (plan/program.cpp), and the least and the most of one of them.
constexpr std::int64_t kSharedUnitBytes = 16 * 1024;
constexpr std::int64_t kLeastUnitBytes = 1024;
constexpr std::int64_t kMostUnitBytes = 4096;

// As much as lies in the second-level caches of two threads.
constexpr std::int64_t kNearBytes = 2 * 1024 * 1024;

// As much as any first-level cache holds at least. (Emerald Rapids, one thread: with claimed lines copies of 4 to 12 KB took 1.02
// to 1.04 times as long as without, of 12 to 36 KB 1.0 to 1.02, of 40 to 120 KB 0.85 to 0.89.)
constexpr std::int64_t kFirstLevelBytes = 32 * 1024;

// Where all of them read parts of the same rows of one source, by the same loops: how much of a row; else 0.
std::int64_t side_by_side(const std::vector<Transfer>& transfers) {
    if (transfers.size() < 2) return 0;
    const Transfer& first = transfers.front();
    const std::int64_t step = transfers[1].nest.src_offset - first.nest.src_offset;
    const auto same = [](const Loop& one, const Loop& other) {
        return !one.table && !other.table && one.extent == other.extent && one.src_stride == other.src_stride;
    };
    for (std::size_t k = 0; k < transfers.size(); ++k) {
        const Transfer& transfer = transfers[k];
        const std::vector<Loop>& loops = transfer.nest.loops;
        if (transfer.src != first.src || transfer.src < 0 || transfer.sink || transfer.repeats() ||
            transfer.nest.itemsize != first.nest.itemsize ||
            transfer.nest.src_offset - first.nest.src_offset != static_cast<std::int64_t>(k) * step ||
            !std::equal(loops.begin(), loops.end(), first.nest.loops.begin(), first.nest.loops.end(), same)) {
            return 0;
        }
    }
    return std::max<std::int64_t>(0, step * static_cast<std::int64_t>(transfers.size()));
}

}  // namespace

Traffic traffic_of(const std::vector<Transfer>& transfers) {
    Traffic traffic;
    for (const Transfer& transfer : transfers) {
        if (transfer.empty()) continue;
        std::int64_t bytes = transfer.dst_bytes() * transfer.repeat.count;
        double elements = 1;
        for (const Loop& loop : transfer.nest.loops) {
            bytes *= loop.extent;
            elements *= static_cast<double>(loop.extent);
        }
        for (const Loop& loop : transfer.nest.loops) {
            if (loop.table && loop.table->given()) traffic.listed += elements * static_cast<double>(loop.table->index_bytes);
        }
        // What no machine holds can be planned and explained all the same.
        if (__builtin_add_overflow(traffic.written, bytes, &traffic.written))
            traffic.written = std::numeric_limits<std::int64_t>::max();
        traffic.read += static_cast<double>(bytes_read(transfer.nest)) * static_cast<double>(transfer.repeat.count);
    }
    return traffic;
}

PlanContext context_of(const PlanOptions& options, const Traffic& traffic) {
    const std::int64_t cache = options.cache->usable(options.processor->shared_cache_bytes);
    const double touched = static_cast<double>(traffic.written) + traffic.read + traffic.listed;
    // Others use the last-level cache, too: what fills most of it is not found there by the next call. Ordinary
    // stores of whole lines in order are faster as long as a fair part of them is found in the cache by the next
    // call, or by whoever reads the result. The less is read, the longer: stores past the cache spare the reading
    // of what is overwritten, but not that of the source. Measured on Zen 4: fills up to twice the cache, streams up
    // to 1.25 times; gathers up to 0.8 of that, transposes up to half, on Zen 5 further.
    const double share_read = touched == 0 ? 0 : (traffic.read + traffic.listed) / touched;
    const auto filled = touched / (static_cast<double>(cache) * (2 - 1.5 * share_read));
    PlanContext context{&kernels_for(options.isa), filled > options.processor->transposes_stream_from, touched <= kNearBytes,
                        options.dst_alignment, 0};
    context.claims = options.processor->claims_lines && touched > kFirstLevelBytes;
    context.beyond_cache = filled >= 0.8;
    context.far_beyond_cache = filled >= 1;
    context.stream_rows = filled >= options.processor->rows_stream_from;
    context.variant = options.variant;
    context.processor = options.processor;
    if (options.variant.stores != Variant::Stores::automatic) {
        const bool past = options.variant.stores == Variant::Stores::nontemporal;
        context.large = context.beyond_cache = context.far_beyond_cache = context.stream_rows = past;
    }
    return context;
}

PlanContext with_neighbours(PlanContext context, const std::vector<Transfer>& transfers) {
    context.alone = transfers.size() == 1 && !transfers.front().repeats();
    const auto nests = static_cast<std::int64_t>(std::max<std::size_t>(1, transfers.size()));
    context.unit_bytes = std::clamp(kSharedUnitBytes / nests, kLeastUnitBytes, kMostUnitBytes);
    if (context.beyond_cache && transfers.size() <= kMostSideBySide) context.side_by_side_bytes = side_by_side(transfers);
    if (context.side_by_side_bytes != 0) context.side_by_side_from = transfers.front().nest.src_offset;
    return context;
}

}  // namespace dnnmove
