// The indices of a take, as an array of the caller's has them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dnnmove {

struct IndexList {
    const std::byte* data;
    std::int64_t count;
    std::int64_t index_bytes;  // 4 or 8: of a signed integer

    std::int64_t bytes() const { return count * index_bytes; }
    // Is each of them an index of an axis of `length` places, from its end where it is negative? At most so many threads read
    // them.
    bool within(std::int64_t length, int threads) const noexcept;
};

}  // namespace dnnmove
