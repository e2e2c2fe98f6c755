// Row panels: a transpose of elements that are rows of bytes, beyond the caches, by way of a stage.
#include "plan/chains.hpp"
#include "plan/lines.hpp"
#include "plan/strategies.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kLeastRow = 17;    // bytes: shorter ones are transposed in registers
// Bytes: longer ones are as fast in the destination's order. (Zen 5, 60 to 90 MB in rows that end inside lines, of 520 to 1028
// bytes 1.06 to 1.5 times as fast by panels, of 1152 bytes 0.93 and 1.0, of 1200 and 2000 0.6 to 0.87.)
constexpr std::int64_t kMostRow = 1088;
constexpr std::int64_t kLeastSources = 8;
constexpr double kCyclesPerByte = 0.04;  // by way of the stage
// A panel of rows: so much of a destination row, out of so many source rows, each read so far in a kernel call. (48
// to 83 MB of rows of 32 to 256 bytes, Zen 5: 8 to 16 rows with prefetches of 1 KB ahead reach 0.7 to 0.97 of the copy
// ceiling; 32 rows, or no prefetches, 0.5 to 0.7 of it.)
constexpr std::int64_t kRowPanelBytes = 1536;
constexpr std::int64_t kLeastPanelRows = 4;
constexpr std::int64_t kMostPanelRows = 16;
constexpr std::int64_t kRowPanelRun = 8 * 1024;  // bytes
constexpr std::int64_t kAheadBytes = 1024;

// How many streams with this pitch may be read side by side: those that a set of the first-level cache has ways for.
std::int64_t streams_in_cache(std::int64_t pitch) {
    constexpr std::int64_t kSetsBytes = 4096;
    const std::int64_t step = pitch & -pitch;
    return 8 * std::max<std::int64_t>(1, kSetsBytes / std::max(step, kLine));
}

struct RowPanels final : ChainedTranspose {
    using ChainedTranspose::ChainedTranspose;

    bool match(const Problem& problem) {
        using enum Problem::Innermost;
        if (problem.innermost != rows && problem.innermost != elements) return false;
        const bool fits = itemsize >= kLeastRow && itemsize <= kMostRow && problem.loops.size() >= 2;
        // Rows of whole lines, two and more, need no stage.
        if (!problem.context.beyond_cache || !fits || (itemsize > 64 && follows_source(problem))) return false;
        const std::size_t inner = problem.source_loop(itemsize);
        if (inner + 1 >= problem.loops.size() || !take_chains(problem, inner)) return false;
        // Short runs of the destination must follow each other, for whole lines to be made of them, and come from so
        // many places that rows in the destination's order are read slowly.
        const bool dense = !a_chained && a.dst_stride == b.extent * itemsize && b.extent >= kLeastSources;
        return streams() || dense;
    }
    double cycles(std::int64_t, std::int64_t, const Kernels&) const override { return kCyclesPerByte; }
    void run(const Call& call) const noexcept override {
        const Panel panel = panel_of(call, kAheadBytes);
        call.kernels.transpose_rows(call.src(), panel.src_rows, call.dst, panel.dst_rows, panel.rows_out, panel.readable,
                                    panel.owned, panel.first, itemsize, call.stores_ahead(), panel.ahead);
    }
    StrategyWords describe() const override { return {"transpose of rows", "destination rows", "source rows"}; }

protected:
    StoreMode size(const Problem& problem) override {
        if (!streams()) {
            b.tile = b.extent;
            a.tile = std::min(a.extent, steps_for(problem.context.unit_bytes, b.extent * itemsize));
            return StoreMode::staged;
        }
        const std::int64_t most = std::min(kMostPanelRows, streams_in_cache(pitches()));
        b.tile = std::min({b.extent, most, std::max(kLeastPanelRows, kRowPanelBytes / itemsize)});
        a.tile = std::min(a.extent, steps_for(kRowPanelRun, itemsize));
        return StoreMode::nontemporal;
    }

private:
    // Are rows of the destination long enough to be streamed by themselves?
    bool streams() const { return b.extent * itemsize >= kLeastStreamedRun; }
};

}  // namespace

std::unique_ptr<Strategy> match_row_panels(const Problem& problem) { return matched<RowPanels>(problem); }

}  // namespace dnnmove
