// Builds the permutation tables by which records are exchanged with their fields.
#pragma once

#include <optional>
#include <vector>

#include "kernels/contract.hpp"

namespace dnnmove {

// An owned ExchangeBlock: as few records as make whole lines of every field.
struct ExchangeTable {
    std::vector<ExchangeVector> sources;
    std::vector<ExchangeVector> destinations;
    std::vector<ExchangeStep> steps;
    std::vector<std::int64_t> src_moves;
    std::vector<std::int64_t> dst_moves;
    std::int64_t records = 0;
    std::int64_t vector_bytes = 0;

    ExchangeBlock block() const {
        return {sources.data(),   destinations.data(), steps.data(),
                src_moves.data(), dst_moves.data(),    static_cast<std::int32_t>(sources.size())};
    }
    // Does a kernel keep the vectors of a block in registers?
    bool few() const { return destinations.size() <= 4; }
    // Estimated cycles per line of either side with everything in the first-level cache.
    double cycles_per_line() const;
    // Bytes that it holds.
    std::size_t memory() const;
};

// Records of consecutive fields of `widths` bytes each, without gaps. `split`: from the records, which
// are source buffer 0, to the fields, which are destination buffers 0 on; else the other way round.
// `vector_bytes`: of the kernel. Empty where the tables would be large.
std::optional<ExchangeTable> build_exchange(const std::vector<std::int64_t>& widths, bool split, std::int64_t vector_bytes);

}  // namespace dnnmove
