// The clock, and the processors that threads run on.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <atomic>
#include <cstdint>

namespace dnnmove {

inline std::int64_t now_ns() noexcept {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// -1 where the system does not say.
inline int current_cpu() noexcept {
#if defined(__linux__)
    return sched_getcpu();
#else
    return -1;
#endif
}

// Keeps a thread off a processor. Any thread may call; of two at once one does nothing.
class KeptOff {
public:
    void keep(pthread_t thread, int cpu) noexcept {
#if defined(__linux__)
        if (cpu < 0 || cpu >= CPU_SETSIZE || busy_.exchange(true, std::memory_order_acquire)) return;
        const bool off = kept_ && !CPU_ISSET(static_cast<std::size_t>(cpu), &others_);
        if (!off && (kept_ || pthread_getaffinity_np(thread, sizeof before_, &before_) == 0)) {
            cpu_set_t others = before_;
            CPU_CLR(cpu, &others);
            if (CPU_COUNT(&others) != 0 && pthread_setaffinity_np(thread, sizeof others, &others) == 0) {
                kept_ = true;
                others_ = others;
            }
        }
        busy_.store(false, std::memory_order_release);
#else
        static_cast<void>(thread);
        static_cast<void>(cpu);
#endif
    }
    // By the thread: it may run again wherever it might before, unless somebody else has set that meanwhile.
    void end() noexcept {
#if defined(__linux__)
        if (!kept_.load(std::memory_order_relaxed) || busy_.exchange(true, std::memory_order_acquire)) return;
        cpu_set_t now;
        const bool ours = sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &others_);
        if (ours) sched_setaffinity(0, sizeof before_, &before_);
        kept_ = false;
        busy_.store(false, std::memory_order_release);
#endif
    }

private:
#if defined(__linux__)
    std::atomic<bool> busy_{false};
    std::atomic<bool> kept_{false};
    cpu_set_t before_;
    cpu_set_t others_;
#endif
};

// How much of its processor's time a thread has lost to others. By the thread itself. (What the host of a virtual machine takes
// counts where the system accounts for it; waits of its own, for a page say, only where it has lost the processor, too.)
class LostTime {
public:
    struct Span {
        std::int64_t lost;  // ns
        std::int64_t elapsed;  // ns
    };

    // From now on: it has slept.
    void restart(std::int64_t now) noexcept {
        began_ = now;
        ran_ = own_ns();
        switches_ = preemptions();
    }
    // Since the last restart, which this is, too.
    Span take(std::int64_t now) noexcept {
        const LostTime before = *this;
        restart(now);
        const std::int64_t elapsed = now - before.began_;
        return {switches_ == before.switches_ ? 0 : elapsed - (ran_ - before.ran_), elapsed};
    }

private:
    static std::int64_t own_ns() noexcept {
        timespec time;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    }
    // Where the system does not count them, nothing is ever lost.
    static long preemptions() noexcept {
#if defined(RUSAGE_THREAD)
        rusage usage;
        if (getrusage(RUSAGE_THREAD, &usage) == 0) return usage.ru_nivcsw;
#endif
        return 0;
    }

    std::int64_t began_ = 0;
    std::int64_t ran_ = 0;
    long switches_ = 0;
};

}  // namespace dnnmove
