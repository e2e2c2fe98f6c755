// The clock, and the processor that the calling thread runs on.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

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

// Moves this thread off a processor, if it may run elsewhere; it may come back later. A kernel that keeps a thread where
// it ran last would otherwise wake it on its caller's processor every time.
inline void move_off(int cpu) noexcept {
#if defined(__linux__)
    cpu_set_t mask;
    if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof mask, &mask) != 0) return;
    cpu_set_t others = mask;
    CPU_CLR(cpu, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
    sched_setaffinity(0, sizeof mask, &mask);
#else
    static_cast<void>(cpu);
#endif
}

// How often this thread has lost its processor to another.
inline long times_preempted() noexcept {
#if defined(RUSAGE_THREAD)
    rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
#else
    return 0;
#endif
}

}  // namespace dnnmove
