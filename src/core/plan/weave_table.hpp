// Streams of elements as the kernels weave interleaves them into records, or deals them out, and what that costs.
#pragma once

#include <vector>

#include "plan/problem.hpp"

namespace dnnmove {

class WeaveTable {
public:
    WeaveTable() = default;
    // Of `bytes` a stream: by lines where there is a kernel for so many streams of them.
    WeaveTable(std::int64_t width, std::int64_t streams, bool deals, std::int64_t bytes, const Kernels& kernels);

    // May there be a kernel? By lanes elements are shorter.
    static bool may_be(std::int64_t width, std::int64_t streams) {
        return streams >= 2 && streams <= kMostWoven && width <= kWeaveLane && power_of_two(width);
    }
    bool by_lines() const { return by_lines_; }
    // Bytes of a stream that are moved at once.
    std::int64_t vector_bytes() const { return by_lines_ ? kLine : kWeaveLane; }
    // Cycles per byte of rows of `steps` elements a stream (plan/costs.hpp).
    double cost(std::int64_t steps, const Kernels& kernels) const;
    // The permutes, once they are chosen.
    void make_permutes();
    void run(const Kernels& kernels, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t bytes,
             const KernelLoop& b, KernelStores stores) const noexcept;
    std::size_t memory() const;

private:
    double cost_by_lanes(std::int64_t steps, const Kernels& kernels) const;

    std::int64_t width_ = 0;
    std::int64_t streams_ = 0;
    bool deals_ = false;
    bool by_lines_ = false;
    std::vector<GatherIndex> permutes_;
};

// The permutes of a Weave (kernels/contract.hpp), of lanes or `by_lines`.
std::vector<GatherIndex> weave_permutes(std::int64_t width, std::int64_t streams, bool deals, bool by_lines);

}  // namespace dnnmove
