// What the strategies have in common that interleave streams of elements into a run of the destination, or deinterleave them.
#pragma once

#include "plan/row_strategy.hpp"

namespace dnnmove {

// a walks the streams, b is the loop around them.
struct StreamStrategy : RowStrategy {
    using RowStrategy::RowStrategy;

    StrategyWords describe() const final {
        return {deals ? "deinterleave" : "interleave", "elements", "rows", std::to_string(streams) + " streams"};
    }

    bool deals = false;  // deinterleaves
    std::int64_t streams = 0;
    std::int64_t pitch = 0;  // bytes from stream to stream, on the side where they are separate

protected:
    // Takes the loops of the streams and the one around them; false where there are none. `may_be_streams` says how many
    // of them the kernel knows, a stream has `least_bytes` and more.
    bool take_streams(const Problem& problem, bool (*may_be_streams)(std::int64_t), std::int64_t least_bytes);
};

}  // namespace dnnmove
