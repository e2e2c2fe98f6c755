// The chunks of one call: each of those who take part has a range of them, and helps the others when that is done.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dnnmove {

// What one participant has left, [head, tail). Its owner takes the first, others the last.
class ChunkRange {
public:
    // Before anyone takes part.
    void set(std::uint32_t head, std::uint32_t tail) noexcept {
        word_.store(pack(head, tail), std::memory_order_relaxed);
        owner_works_.store(false, std::memory_order_relaxed);
    }
    // Its owner has come.
    void begin() noexcept { owner_works_.store(true, std::memory_order_relaxed); }
    bool owner_works() const noexcept { return owner_works_.load(std::memory_order_relaxed); }

    bool take_first(std::uint32_t& chunk) noexcept {
        std::uint64_t word = word_.load(std::memory_order_relaxed);
        while (head(word) < tail(word)) {
            chunk = head(word);
            if (word_.compare_exchange_weak(word, pack(chunk + 1, tail(word)), std::memory_order_relaxed)) return true;
        }
        return false;
    }
    bool take_last(std::uint32_t& chunk) noexcept {
        std::uint64_t word = word_.load(std::memory_order_relaxed);
        while (head(word) < tail(word)) {
            chunk = tail(word) - 1;
            if (word_.compare_exchange_weak(word, pack(head(word), chunk), std::memory_order_relaxed)) return true;
        }
        return false;
    }
    std::uint32_t left() const noexcept {
        const std::uint64_t word = word_.load(std::memory_order_relaxed);
        return tail(word) - head(word);
    }

private:
    static std::uint64_t pack(std::uint32_t head, std::uint32_t tail) noexcept {
        return static_cast<std::uint64_t>(tail) << 32 | head;
    }
    static std::uint32_t head(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word); }
    static std::uint32_t tail(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word >> 32); }

    std::atomic<std::uint64_t> word_{0};
    std::atomic<bool> owner_works_{false};
};

// The chunks [0, count()) of one call. Neighbouring ones go to one participant, and to the same one when the call is
// repeated, so that it finds them in its caches; who has finished its own helps the others.
class Chunks {
public:
    // So long (ns) the others leave a participant at work its last chunk, in a brief call.
    static constexpr std::int64_t kSparing = 3'000;

    // `brief`: calls that take about as long as `kSparing`, and are repeated.
    Chunks(std::uint32_t count, bool brief) noexcept : count_(count), brief_(brief) {}

    // To the first `present` of `participants`, at most count() of them, as evenly as it goes; the others, who are to come later
    // if at all, help those. The ranges outlive the call.
    void deal(ChunkRange* const* ranges, std::size_t present, std::size_t participants) noexcept;
    // A chunk that `participant` is to do, its own or another's. False where all have been taken.
    bool take(std::size_t participant, std::uint32_t& chunk) noexcept {
        return ranges_[participant]->take_first(chunk) || take_others(participant, chunk);
    }

    std::uint32_t count() const noexcept { return count_; }
    // Not taken yet.
    std::uint32_t left() const noexcept;

private:
    bool take_others(std::size_t participant, std::uint32_t& chunk) noexcept;

    ChunkRange* const* ranges_ = nullptr;
    std::size_t dealt_ = 0;  // ranges that had chunks
    const std::uint32_t count_;
    const bool brief_;
};

}  // namespace dnnmove
