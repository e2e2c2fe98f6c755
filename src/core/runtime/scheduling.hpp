// The clock, and the processors that threads run on.
#pragma once

#include <pthread.h>
#include <sched.h>
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

// How much of its processor's time a thread has lost to others. (What the host of a virtual machine takes does not count:
// this system knows nothing of it.) By the thread itself.
class LostTime {
public:
    struct Span {
        std::int64_t lost;     // ns
        std::int64_t elapsed;  // ns
    };

    // From now on: it has slept.
    void restart(std::int64_t now) noexcept {
        began_ = now;
        ran_ = own_ns();
    }
    // Since the last restart, which this is, too.
    Span take(std::int64_t now) noexcept {
        const std::int64_t began = began_;
        const std::int64_t ran = ran_;
        restart(now);
        return {now - began - (ran_ - ran), now - began};
    }

private:
    static std::int64_t own_ns() noexcept {
        timespec time;
        if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return 0;
        return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    }

    std::int64_t began_ = 0;
    std::int64_t ran_ = 0;
};

}  // namespace dnnmove
