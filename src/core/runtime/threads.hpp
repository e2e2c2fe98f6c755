// How many threads a call uses, the parallel region itself, and what happens after a fork.
#pragma once

namespace dnnmove {

// OpenMP's runtime ends the process where it cannot start a team, and keeps the team on the stack.
inline constexpr int kMaxThreads = 4096;

// Process-wide limit; n in [1, kMaxThreads]. Initially the CPUs of this process's affinity mask, or
// OMP_NUM_THREADS where it is set. In a forked child always 1.
void set_num_threads(int n);
// The limit of this thread: the innermost scoped value, else the process's.
int get_num_threads();
// Limit of the calling thread until reset; 0 means none. Returns the value before.
int exchange_thread_limit(int n);
// True in a child of a process that had used threads: it runs single-threaded (libgomp's pool does
// not survive a fork).
bool forked();

// While it lives, OpenMP regions of *other* code that this thread calls (oneDNN) use `threads`
// threads; the setting before is restored.
class ScopedOmpThreads {
public:
    explicit ScopedOmpThreads(int threads) noexcept;
    ~ScopedOmpThreads();
    ScopedOmpThreads(const ScopedOmpThreads&) = delete;
    ScopedOmpThreads& operator=(const ScopedOmpThreads&) = delete;

private:
    int before_;
};

// Calls body(context, thread, threads) on `threads` threads at once and waits. Never changes an
// OpenMP setting that other libraries share.
void parallel(int threads, void (*body)(void* context, int thread, int threads) noexcept, void* context) noexcept;

}  // namespace dnnmove
