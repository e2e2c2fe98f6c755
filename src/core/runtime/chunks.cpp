#include "runtime/chunks.hpp"

#include "runtime/futex.hpp"
#include "runtime/scheduling.hpp"

namespace dnnmove {

void Chunks::deal(ChunkRange* const* ranges, std::size_t present, std::size_t participants) noexcept {
    ranges_ = ranges;
    dealt_ = present;
    const auto first = [&](std::size_t k) { return static_cast<std::uint32_t>(std::uint64_t{count_} * k / present); };
    for (std::size_t k = 0; k < present; ++k) ranges[k]->set(first(k), first(k + 1));
    for (std::size_t k = present; k < participants; ++k) ranges[k]->set(0, 0);
}

std::uint32_t Chunks::left() const noexcept {
    std::uint32_t left = 0;
    for (std::size_t k = 0; k < dealt_; ++k) left += ranges_[k]->left();
    return left;
}

// A participant at work soon comes to the last of its chunks, which it has in its caches where small calls are repeated:
// that one is its own for a while.
bool Chunks::take_others(std::size_t participant, std::uint32_t& chunk) noexcept {
    std::int64_t end = 0;
    for (bool spares = brief_;;) {
        bool waits = false;
        for (std::size_t k = 1; k <= dealt_; ++k) {
            ChunkRange& range = *ranges_[(participant + k) % dealt_];
            if (spares && range.left() == 1 && range.owner_works()) {
                waits = true;
            } else if (range.take_last(chunk)) {
                return true;
            }
        }
        if (!waits) return false;
        spin_pause();
        const std::int64_t now = now_ns();
        if (end == 0) end = now + kSparing;
        spares = now < end;
    }
}

}  // namespace dnnmove
