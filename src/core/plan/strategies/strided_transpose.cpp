// Strided transpose: elements of odd sizes, or with gaps between them, one chain of loops against another.
#include "plan/chains.hpp"
#include "plan/strategies.hpp"
#include "plan/costs.hpp"
#include "plan/gather_table.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxPitch = 16;       // bytes from element to element
constexpr std::int64_t kPanelBytes = 256;    // of a destination row, per pass over the source rows
constexpr std::int64_t kAheadBytes = 512;    // along the rows of the source

struct StridedTranspose final : ChainedTranspose {
    using ChainedTranspose::ChainedTranspose;

    bool match(const Problem& problem) {
        const auto& [loops, size, context, innermost] = problem;
        const Kernels& kernels = *context.kernels;
        if (innermost != Problem::Innermost::elements || itemsize > kMaxPitch || loops.size() < 2) return false;
        std::size_t inner = loops.size();
        pitch = kMaxPitch + 1;
        for (std::size_t k = 0; k + 1 < loops.size(); ++k) {
            const std::int64_t stride = std::abs(loops[k].src_stride);
            if (loops[k].table || stride < itemsize || stride >= pitch) continue;
            inner = k;
            pitch = stride;
        }
        // Elements without gaps are what the ordinary tiles of 64 bytes are better at.
        const bool gaps = pitch > itemsize || !power_of_two(itemsize);
        if (inner == loops.size() || (!gaps && kernels.vector_bytes == 64)) return false;
        return take_chains(problem, inner);
    }
    double cycles(std::int64_t columns, std::int64_t rows, const Kernels& kernels) const override {
        const std::int64_t cell = cell_bytes();
        const std::int64_t per_lane = 16 / cell;
        const std::int64_t side = kernels.vector_bytes / cell;
        // A tile, as many columns as a lane holds; then the rows of a panel leave the stage. The kernel has more to
        // prepare than others.
        const double piece = 6.0 / static_cast<double>(std::min<std::int64_t>(rows * itemsize, 256)) + 0.03;
        if (one_by_one(kernels)) {
            return factor(kernels) *
                   ((1.7 + 60.0 / static_cast<double>(rows * columns)) / static_cast<double>(itemsize) + piece);
        }
        const double partial = rows < side ? 2.0 : 1.0;
        const double tile = partial * (1.2 * static_cast<double>(side) + 6.0 * static_cast<double>(per_lane));
        const auto tiles = static_cast<double>(((rows + side - 1) / side) * ((columns + per_lane - 1) / per_lane));
        return factor(kernels) * ((tile * tiles + 60.0) / static_cast<double>(rows * columns * itemsize) + piece);
    }
    // Besides, each row of the source, however little is taken of it. (Chains are compared without this: with few columns they make
    // long rows of the destination.)
    double cost(const Problem& problem) const override {
        const double row = factor(problem.kernels()) * (3.0 + 0.5 * static_cast<double>(cell_bytes()));
        return ChainedTranspose::cost(problem) + row / static_cast<double>(a.extent * itemsize);
    }
    void run(const Call& call) const noexcept override {
        const Panel panel = panel_of(call, kAheadBytes);
        call.kernels.transpose_cells(call.src(), panel.src_rows, call.dst, panel.dst_rows, panel.rows_out, panel.readable,
                                     panel.owned, panel.first, {itemsize, pitch, permutes.data()}, call.stores_ahead(),
                                     panel.ahead);
    }
    StrategyWords describe() const override { return {"transpose of strided elements", "destination rows", "source rows"}; }
    std::size_t memory() const override { return ChainedTranspose::memory() + heap_bytes(permutes); }

    std::int64_t pitch = 0;  // bytes from element to element along a source row
    std::vector<GatherIndex> permutes;

protected:
    StoreMode size(const Problem& problem) override {
        permutes = cell_permutes(itemsize, pitch);
        const bool stream = problem.context.large && b.extent * itemsize >= 2 * kLine;
        // Whole tiles, with the rows that a streamed panel's last line needs of its neighbour; as few panels as may be, and as even as
        // these tiles make them, since a short one is as slow to begin and to end. (Zen 5, AVX2, 40 MB, rows of 279 and 297 bytes, of
        // which 252 were a panel: 2.7 and 2.3 times as fast; others of 300 to 900 bytes 1.01 to 1.19.)
        const std::int64_t side = tile_side(problem.kernels());
        const std::int64_t extra = stream ? extra_rows(itemsize) : 0;
        const auto whole = [&](std::int64_t rows) {
            return std::max<std::int64_t>(1, (rows + extra + side - 1) / side * side - extra);
        };
        const bool one_panel = b.extent * itemsize <= kMaxCellPanelBytes;
        b.tile = one_panel ? b.extent : std::min(b.extent, whole(even_tile(b.extent, whole(kPanelBytes / itemsize))));
        // Stored ordinarily, pieces of rows end inside lines: few rows at a time keep those lines near until the next
        // piece completes them.
        a.tile = std::min(a.extent, (stream ? 4096 : 1024) / pitch);
        return stream ? StoreMode::nontemporal : StoreMode::cached;
    }

private:
    std::int64_t cell_bytes() const {
        std::int64_t cell = 2;
        while (cell < pitch) cell *= 2;
        return cell;
    }
    double factor(const Kernels& kernels) const { return costs_of(kernels).cells[log2_of(cell_bytes()) - 1]; }
    // Whether the kernel makes no tiles: elements that fill more than half a lane.
    bool one_by_one(const Kernels& kernels) const { return !kernels.packs_cells && cell_bytes() == 16; }
    std::int64_t tile_side(const Kernels& kernels) const {
        if (one_by_one(kernels)) return 1;
        std::int64_t element = packed_element(itemsize);
        while (!kernels.packs_cells && (element < 2 || element < pitch)) element *= 2;
        return kernels.vector_bytes / element;
    }
};

}  // namespace

std::unique_ptr<Strategy> match_strided_transpose(const Problem& problem) { return matched<StridedTranspose>(problem); }

}  // namespace dnnmove
