// What the strategies have in common that interleave streams of elements into a run of the destination, or deinterleave them.
#pragma once

#include "plan/row_strategy.hpp"

namespace dnnmove {

// a walks the streams, b is the loop around them.
struct StreamStrategy : RowStrategy {
    using RowStrategy::RowStrategy;

    void run(const Call& call) const noexcept final;
    StrategyWords describe() const final {
        return {deals ? "deinterleave" : "interleave", "elements", "rows",
                std::to_string(streams) + " streams" + (by_pieces ? ", each staged" : "")};
    }

    bool deals = false;      // deinterleaves
    bool by_pieces = false;  // past the caches, a piece of each stream at a time, by way of a stage of their own
    std::int64_t streams = 0;
    std::int64_t pitch = 0;  // bytes from stream to stream, on the side where they are separate

protected:
    // Takes the loops of the streams and the one around them; false where there are none. `may_be_streams` says how many
    // of them the kernel knows, a stream has `least_bytes` and more.
    bool take_streams(const Problem& problem, bool (*may_be_streams)(std::int64_t), std::int64_t least_bytes);
    // May units collect in the stage? What is interleaved makes one piece of the destination; what is dealt out does where all
    // streams of a step of b, and its steps, follow each other without gaps, and a unit holds a whole one.
    bool stages() const {
        const std::int64_t row = streams * a.extent * itemsize;
        return !deals || (pitch == a.extent * itemsize && b.extent > 1 && b.dst_stride == row && row <= kMaxUnitBytes / 2);
    }
    // The tiles, a multiple of `step` elements of a stream long.
    StoreMode size_streams(const Problem& problem, std::int64_t step);
    // `count` elements of every stream of a unit, from `src` to `dst`; on the side where the streams are separate they lie
    // `apart` bytes from each other.
    virtual void move(const Call& call, const std::byte* src, std::byte* dst, std::int64_t count, std::int64_t apart,
                      KernelStores stores) const noexcept = 0;

private:
    void run_pieces(const Call& call) const noexcept;
};

}  // namespace dnnmove
