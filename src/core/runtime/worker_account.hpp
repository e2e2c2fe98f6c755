// What a worker of the pool, or a team of another library, has saved its callers and cost them, and how long it rests.
//
// A worker that others keep from its processor makes its callers wait. It has an account of the time that it has saved
// them and of the time that they have waited for it. Out of credit it rests for a multiple of what it owes, and is tried
// again now and then. All time counts as rest, so calls that come one by one pay more for a wait than calls in a loop.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace dnnmove {

// All times in nanoseconds. Any thread may ask and book; of two that book at once, one booking may be lost.
class WorkerAccount {
public:
    // What is booked for events that cost an unknown time: a worker that came to run on the caller's processor, one
    // that did not begin before the call was over, one that lost its processor to another thread.
    static constexpr std::int64_t kInTheWay = 10'000;
    static constexpr std::int64_t kMissed = 20'000;
    static constexpr std::int64_t kPreempted = 150'000;

    // Is it to be left alone?
    bool rests(std::int64_t now) const noexcept { return rest_until_.load(std::memory_order_relaxed) > now; }
    // `gain`: what the worker has saved its caller, less what the caller has waited for it.
    void book(std::int64_t gain, std::int64_t now) noexcept {
        const std::int64_t sum = credit_.load(std::memory_order_relaxed) + gain;
        if (sum < 0) {
            // Again in debt soon after a rest: nothing has changed, and the next rest is twice as long.
            const std::int64_t before = rest_until_.load(std::memory_order_relaxed);
            const int doublings = std::min(doublings_.load(std::memory_order_relaxed) + 1, kMostDoublings);
            const int level = now - before > kTrial ? 0 : doublings;
            doublings_.store(level, std::memory_order_relaxed);
            rest_until_.store(now + std::min((kRestPerDebt * -sum) << level, kMostRest), std::memory_order_relaxed);
        }
        credit_.store(std::clamp<std::int64_t>(sum, 0, kMostCredit), std::memory_order_relaxed);
    }

private:
    // A worker keeps that much credit at most, or good times would pay for long waits later: one tick of a host's scheduler.
    // (Two processors of a virtual machine: with 10 ms two and four processes at once have 0.88 to 1.00 of the rate of one
    // thread each, with 4 or less 0.94 to 1.03, in turns.)
    static constexpr std::int64_t kMostCredit = 4'000'000;
    // Rest per debt: waits cost at most one part in so many of all time, in the long run. (Measured on calls of 0.1 ms,
    // 1 ms apart, beside two busy processes: with 12, their mean was up to 2.0 times that of one thread; with 24, 1.5.)
    static constexpr std::int64_t kRestPerDebt = 24;
    static constexpr std::int64_t kMostRest = 200'000'000;
    static constexpr std::int64_t kTrial = 20'000'000;
    static constexpr int kMostDoublings = 5;

    std::atomic<std::int64_t> rest_until_{0};
    std::atomic<std::int64_t> credit_{kMostCredit / 2};
    std::atomic<int> doublings_{0};
};

}  // namespace dnnmove
