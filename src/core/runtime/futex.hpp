// Sleeping on a 32-bit word until another thread of this process wakes whoever sleeps there.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <thread>
#endif

namespace dnnmove {

#if defined(__linux__)

// Returns when woken, when `word` is not `expected`, or for no reason: the caller looks at the word again.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

// Only the address counts: the word may be gone already, and somebody woken for nothing looks again.
inline void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

#else

inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    if (word.load(std::memory_order_acquire) == expected) std::this_thread::yield();
}
inline void futex_wake_all(std::atomic<std::uint32_t>&) noexcept {}

#endif

// Tells the processor that this thread spins.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield" ::: "memory");
#endif
}

}  // namespace dnnmove
