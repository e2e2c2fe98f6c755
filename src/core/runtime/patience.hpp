// How long an idle worker of the pool spins for its next offer before it sleeps.
//
// A worker that sleeps comes in the middle of the next call, and takes a chunk that the others then wait for until they sleep,
// too: of sixteen threads half slept whenever calls of 0.1 ms followed each other. So it spins for as long as it has usually
// waited, and as long again, but not for many times as long as it works: the processor's time is not free where a quota counts
// it, and where the other thread of a core would use it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace dnnmove {

// All times in nanoseconds. The worker writes, callers read.
class Patience {
public:
    // At least, and at most; and where others want its processor, too.
    static constexpr std::int64_t kIdleSpin = 100'000;
    static constexpr std::int64_t kMostIdleSpin = 1'000'000;
    static constexpr std::int64_t kContendedSpin = 20'000;
    // Past the least it spins at most so many times what it did in its last call.
    static constexpr std::int64_t kSpinPerWork = 4;
    // So long a processor counts as one that others want. (Two processors, Linux 6.18, calls of 0.13 ms between those of PyTorch,
    // whose threads spin for some milliseconds after each: 0.24 ms without, 0.15 with this, with 50 ms 0.15 to 0.20.)
    static constexpr std::int64_t kContended = 500'000'000;

    // It has lost its processor to another thread.
    void note_contention(std::int64_t now) noexcept { contended_until_.store(now + kContended, std::memory_order_relaxed); }
    bool contended(std::int64_t now) const noexcept { return now < contended_until_.load(std::memory_order_relaxed); }
    // The time from the end of its work to an offer. What is too long to spin for says nothing of the next one.
    void note_idle(std::int64_t idle) noexcept {
        const std::int64_t usual = usual_idle_.load(std::memory_order_relaxed);
        const std::int64_t less = usual - usual / 8;
        usual_idle_.store(idle > kMostIdleSpin ? less : std::max(idle, less), std::memory_order_relaxed);
    }
    // What it has done in a call.
    void note_work(std::int64_t took) noexcept { work_.store(took, std::memory_order_relaxed); }
    // So long it spins.
    std::int64_t spin(std::int64_t now) const noexcept {
        if (contended(now)) return kContendedSpin;
        const std::int64_t worth = kSpinPerWork * std::min(work_.load(std::memory_order_relaxed), kMostIdleSpin);
        return std::clamp(std::min(2 * usual_idle_.load(std::memory_order_relaxed), worth), kIdleSpin, kMostIdleSpin);
    }

private:
    std::atomic<std::int64_t> usual_idle_{0};
    std::atomic<std::int64_t> work_{0};
    std::atomic<std::int64_t> contended_until_{0};
};

}  // namespace dnnmove
