// How many threads a call uses, the parallel region itself, and what happens after a fork.
#include "runtime/threads.hpp"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>

namespace dnnmove {
namespace {

std::atomic<bool> in_forked_child{false};
thread_local int thread_limit = 0;  // 0: the process's limit holds

int initial_threads() {
    pthread_atfork(nullptr, nullptr, [] { in_forked_child.store(true, std::memory_order_relaxed); });
    // omp_get_max_threads honours OMP_NUM_THREADS and the affinity mask of the process.
    return std::clamp(omp_get_max_threads(), 1, kMaxThreads);
}

std::atomic<int>& process_limit() {
    static std::atomic<int> limit{initial_threads()};
    return limit;
}

// Registers the fork handler when the library is loaded, before anybody can fork.
[[maybe_unused]] const int kLoaded = process_limit().load();

}  // namespace

void set_num_threads(int n) { process_limit().store(n, std::memory_order_relaxed); }

int get_num_threads() {
    if (forked()) return 1;
    return thread_limit > 0 ? thread_limit : process_limit().load(std::memory_order_relaxed);
}

int exchange_thread_limit(int n) {
    const int before = thread_limit;
    thread_limit = n;
    return before;
}

bool forked() { return in_forked_child.load(std::memory_order_relaxed); }

ScopedOmpThreads::ScopedOmpThreads(int threads) noexcept : before_(omp_get_max_threads()) {
    if (threads != before_) omp_set_num_threads(threads);
}

ScopedOmpThreads::~ScopedOmpThreads() {
    if (omp_get_max_threads() != before_) omp_set_num_threads(before_);
}

void parallel(int threads, void (*body)(void*, int, int) noexcept, void* context) noexcept {
    if (threads <= 1 || forked()) {
        body(context, 0, 1);
        return;
    }
#pragma omp parallel num_threads(threads)
    body(context, omp_get_thread_num(), omp_get_num_threads());
}

}  // namespace dnnmove
