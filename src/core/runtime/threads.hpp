// How many threads a call uses, and the pool that runs it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/thread_pool.hpp"

namespace dnnmove {

inline constexpr int kMaxThreads = 4096;

// Process-wide limit; n in [1, kMaxThreads]. Initially DNNMOVE_NUM_THREADS, else OMP_NUM_THREADS, else the CPUs
// that affinity mask and cgroup leave to this process. (Never more threads run than the process has CPUs.)
void set_num_threads(int n);
// The limit of this thread: the innermost scoped value, else the process's.
int get_num_threads();
// Limit of the calling thread until reset; 0 means none. Returns the value before.
int exchange_thread_limit(int n);
// ValueError where DNNMOVE_NUM_THREADS is no number of threads: for the import, so that no later call fails.
void check_thread_environment();

// True in a child of a fork: OpenMP's threads, which oneDNN may have started, are gone there and cannot be
// started again. Our own pool can.
bool forked();

// How many of `threads` threads have enough to do where `bytes` bytes are to be written: at least 1.
inline int useful_threads(int threads, std::int64_t bytes) noexcept {
    // Less is done sooner without one more thread.
    constexpr std::int64_t kBytesPerThread = 96 * 1024;
    return static_cast<int>(std::clamp<std::int64_t>(bytes / kBytesPerThread, 1, std::max(threads, 1)));
}

// Runs `body`, which writes `bytes` bytes, in chunks: on this thread and on workers of the process's pool
// (ThreadPool::run), at most `threads` in all. False, and nothing done, where this process has no workers to offer.
bool parallel(int threads, std::int64_t bytes, ThreadPool::Body body, void* context) noexcept;

// Another library's threads, for the calls of this thread that move enough bytes; null for none. Returns what was set.
ThreadPool::Team exchange_team(ThreadPool::Team team) noexcept;

}  // namespace dnnmove
