// Listed elements: elements or rows, each from where the table of a loop says, to places that follow each other.
#include "plan/costs.hpp"
#include "plan/lines.hpp"
#include "plan/strategies.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kListedBytes = 64 * 1024;  // of a unit of rows
constexpr std::int64_t kShortBytes = 16 * 1024;   // and of shorter elements
// Found at a time, of a list that comes with the call; past the caches the indices of the next as many are asked for first, which
// come late beside elements that come from anywhere. (Zen 5, one thread, 7 million indices of 5 million bytes, ns for each: 1.0; of 8 bytes
// asked for 256 ahead 0.73, 512 0.64, 1024 0.86, 2048 0.79; of 4 bytes 0.85, and 0.62, 0.58, 0.61, 0.71.)
constexpr std::int64_t kPlaces = 512;
// Cycles: of a short element and of a list of them, of a byte of a row, of a line that is read or written in parts.
constexpr double kElement = 2;
constexpr double kList = 8;
constexpr double kRowByte = 0.05;
constexpr double kPartialLine = 4;

// Bytes from step to step in the destination, where they are all alike; else 0.
std::int64_t dst_step(const Loop& loop) {
    const OffsetTable& table = *loop.table;
    if (table.given()) return loop.dst_stride;
    const std::int64_t step = table.dst.size() > 1 ? table.dst[1] - table.dst[0] : 0;
    for (std::size_t k = 1; k < table.dst.size(); ++k) {
        if (table.dst[k] - table.dst[k - 1] != step) return 0;
    }
    return step;
}

struct ListedElements final : Strategy {
    using Strategy::Strategy;

    // The table's loop is the innermost of the destination.
    bool match(const Problem& problem) {
        if (problem.innermost == Problem::Innermost::padding) return false;
        const std::vector<Loop>& loops = problem.loops;
        std::size_t found = loops.size();
        for (std::size_t k = 0; k < loops.size(); ++k) {
            const std::int64_t step = loops[k].table ? dst_step(loops[k]) : 0;
            if (step < itemsize || (found < loops.size() && step > b.dst_stride)) continue;
            found = k;
            b = {loops[k].extent, loops[k].extent, 0, step};
        }
        const auto around = [&](const Loop& loop) { return loop.table || std::abs(loop.dst_stride) > b.dst_stride; };
        if (found == loops.size() || !std::all_of(loops.begin(), loops.end(), around)) return false;
        table = loops[found].table;
        taken = {found};
        // Of short lists the next loop's come in the same call.
        if (itemsize > kLine || run() >= kUnitWorthBytes) return true;
        for (std::size_t k = 0; k < loops.size(); ++k) {
            if (loops[k].table || loops[k].dst_stride < run() || (taken.size() > 1 && loops[k].dst_stride > a.dst_stride))
                continue;
            a = TiledLoop::covering(loops[k]);
            taken = {found, k};
        }
        return true;
    }
    double cost(const Problem&) const override {
        const auto bytes = static_cast<double>(itemsize);
        return itemsize > kLine ? kRowByte + kPartialLine / bytes : kElement / bytes + kList / static_cast<double>(run());
    }
    double call_cost(const Problem&) const override {
        const std::int64_t bytes = run() * a.extent;
        return kCallCycles / static_cast<double>(std::min(bytes, kUnitWorthBytes)) + kPartialLine / static_cast<double>(run());
    }
    Schedule schedule(const Problem& problem) override {
        const PlanContext& context = problem.context;
        far = context.beyond_cache;
        const bool dense = b.dst_stride == itemsize && (a.extent == 1 || a.dst_stride == run());
        std::int64_t bits = context.dst_alignment | context.dst_offset | first_dst() | b.dst_stride;
        for (std::size_t k = 0; k < problem.loops.size(); ++k) {
            if (!takes(k)) bits |= problem.loops[k].table ? 1 : problem.loops[k].dst_stride;
        }
        const bool lines = itemsize % kLine == 0 && line_part(bits) == kLine;
        StoreMode stores = StoreMode::cached;
        // (Short elements are written by ordinary stores.)
        if (context.stream_rows && itemsize > kLine && (lines || itemsize >= kLeastStreamedRow)) {
            stores = StoreMode::nontemporal;
        } else if (context.beyond_cache && dense && itemsize < kLeastStreamedRow) {
            stores = StoreMode::staged;
        }
        const std::int64_t unit = stores == StoreMode::staged ? context.unit_bytes
                                  : itemsize > kLine          ? kListedBytes
                                                              : kShortBytes;
        b.tile = even_tile(b.extent, steps_for(unit, itemsize));
        a.tile = b.tile == b.extent ? even_tile(a.extent, steps_for(unit, run())) : 1;
        return {stores, WalkOrder::b_outside, 0, first_dst()};
    }
    void run(const Call& call) const noexcept override {
        const std::int64_t first = call.unit.b_tile * b.tile;
        const std::int64_t steps = b.steps(call.unit.b_tile);
        if (!table->given()) return copy(call, table->src.data() + first, steps, call.dst);
        const std::int64_t bytes = table->index_bytes;
        std::int64_t places[kPlaces];
        for (std::int64_t k = 0; k < steps; k += kPlaces) {
            const std::int64_t count = std::min(kPlaces, steps - k);
            const std::byte* const list = call.list + (first + k) * bytes;
            const std::int64_t left = b.extent - (first + k + count);
            for (std::int64_t at = 0; at < std::min(kPlaces, left) * bytes && far; at += kLine)
                __builtin_prefetch(list + count * bytes + at);
            call.kernels.find_places[index_width(bytes)](list, count, table->length, table->stride, places);
            copy(call, places, count, call.dst + k * b.dst_stride);
        }
    }
    void copy(const Call& call, const std::int64_t* places, std::int64_t count, std::byte* dst) const noexcept {
        const KernelLoop rows{count, 0, b.dst_stride, places};
        if (itemsize > kLine) {
            call.kernels.copy_rows(call.src(), dst, itemsize, rows, call.stores_ahead());
        } else {
            call.kernels.copy_runs(call.src(), dst, itemsize, {a.steps(call.unit.a_tile), a.src_stride, a.dst_stride}, rows,
                                   call.stores_ahead());
        }
    }
    StrategyWords describe() const override { return {"listed elements", "rows", "elements"}; }

    std::int64_t first_dst() const { return table->given() ? 0 : table->dst[0]; }
    // Bytes of a whole list.
    std::int64_t run() const { return itemsize * b.extent; }

    std::shared_ptr<const OffsetTable> table;  // the nest's
    bool far = false;  // what is touched does not fit into the caches
};

}  // namespace

std::unique_ptr<Strategy> match_listed_elements(const Problem& problem) { return matched<ListedElements>(problem); }

}  // namespace dnnmove
