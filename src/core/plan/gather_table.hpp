// Builds the permutation tables of the gather kernels.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "kernels/contract.hpp"
#include "plan/costs.hpp"
#include "plan/nest.hpp"

namespace dnnmove {

// An owned GatherBlock.
struct GatherTable {
    std::vector<GatherVector> vectors;
    std::vector<GatherStep> steps;
    std::vector<GatherIndex> indices;
    std::vector<std::int32_t> lines;
    std::int32_t vector_bytes = 0;
    std::int32_t window_bytes = 0;
    std::int32_t loop_steps = 1;
    std::int32_t even_steps = 0;
    std::int32_t network = 0;
    std::int32_t shared_windows = 0;
    bool one_window = false;
    bool zeroes = false;

    GatherBlock block() const {
        return {vectors.data(),
                steps.data(),
                indices.data(),
                lines.data(),
                static_cast<std::int32_t>(vectors.size()),
                static_cast<std::int32_t>(lines.size()),
                vector_bytes,
                window_bytes,
                loop_steps,
                even_steps,
                network,
                shared_windows,
                network != 0 || steps.size() >= 4 * vectors.size(),
                one_window,
                zeroes};
    }
    // Bytes that it holds besides itself.
    std::size_t memory() const;
    // Lines that a block reads little of, so that many blocks read them.
    double spare_lines() const;
    // Estimated cycles of one block; past the caches it gains nothing where permutes stay in registers.
    double cycles(const Costs::Gathers& costs, bool beyond_cache) const;
};

// The destination of a block: contiguous runs of `bytes` bytes each, at these offsets in bytes.
struct GatherRuns {
    std::int64_t bytes;
    std::vector<std::int64_t> offsets{0};
};

// The source of an element that is to become zero.
inline constexpr std::int64_t kNoSource = std::numeric_limits<std::int64_t>::min();

// More windows than these for one vector cost more than copying the elements one by one.
constexpr std::int64_t most_gather_windows(const Kernels& kernels) { return kernels.gather_bytes == 64 ? 24 : 8; }

// `sources`: for every element of the block, in order of the runs, its source offset in bytes from the
// block's source, or kNoSource. Empty where a vector would need more windows than pay.
std::optional<GatherTable> build_gather(const std::vector<std::int64_t>& sources, std::int64_t itemsize, const GatherRuns& runs,
                                        const Kernels& kernels);

// The permutes of a transpose of elements of `width` bytes in cells of `cell` bytes, by CellPermute.
std::vector<GatherIndex> cell_permutes(std::int64_t width, std::int64_t cell);

}  // namespace dnnmove
