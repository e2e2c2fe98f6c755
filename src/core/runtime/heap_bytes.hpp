// What containers hold on the heap: for caches that are bounded by bytes.
#pragma once

#include <cstddef>
#include <vector>

namespace dnnmove {

// Bytes; the allocator's own per block are guessed.
template <class T>
std::size_t heap_bytes(const std::vector<T>& items) {
    constexpr std::size_t kPerBlock = 16;
    return items.capacity() == 0 ? 0 : items.capacity() * sizeof(T) + kPerBlock;
}

}  // namespace dnnmove
