// Builds the permutation tables by which records are exchanged with their fields.
#pragma once

#include <optional>
#include <vector>

#include "kernels/contract.hpp"

namespace dnnmove {

// Does a kernel keep so many vectors of a block on a side in registers?
constexpr bool few_vectors(std::int64_t vectors, std::int64_t vector_bytes) {
    return vectors <= ExchangeBlock::few_vectors(vector_bytes);
}
// Is a table surely small enough whose blocks have so many vectors, each made of at most so many elements?
bool fits_exchange(std::int64_t vectors, std::int64_t elements, std::int64_t vector_bytes);
// Estimated cycles per line of either side with everything in the second-level cache.
double exchange_cycles(std::int64_t vectors, std::int64_t steps, std::int64_t vector_bytes);

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
                src_moves.data(), dst_moves.data(),    static_cast<std::int32_t>(sources.size()),
                records};
    }
    bool few() const { return few_vectors(static_cast<std::int64_t>(destinations.size()), vector_bytes); }
    double cycles_per_line() const {
        return exchange_cycles(static_cast<std::int64_t>(destinations.size()), static_cast<std::int64_t>(steps.size()),
                               vector_bytes);
    }
    // Bytes that it holds.
    std::size_t memory() const;
};

// Records of consecutive fields of `widths` bytes each, without gaps. `split`: from the records, which
// are source buffer 0, to the fields, which are destination buffers 0 on; else the other way round.
// `vector_bytes`: of the kernel. Empty where the tables would be large.
std::optional<ExchangeTable> build_exchange(const std::vector<std::int64_t>& widths, bool split, std::int64_t vector_bytes);

}  // namespace dnnmove
