// How many threads a call uses, and the pool that runs it.
#include "runtime/threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "runtime/cpu_count.hpp"
#include "runtime/error.hpp"

namespace dnnmove {
namespace {

// Chunks that a thread's share is cut into, where they are of a sensible size: the more, the sooner others can
// help a thread that has lost its processor, and the more often a walk begins anew.
constexpr std::int64_t kChunksPerThread = 4;
constexpr std::int64_t kLeastChunkBytes = 96 * 1024;
constexpr std::int64_t kMostChunkBytes = 512 * 1024;
// What one thread writes in a nanosecond, about, in its own caches and past them: copies up to twice as much, others half.
constexpr std::int64_t kBytesPerNs = 40;
constexpr std::int64_t kFarBytesPerNs = 12;
constexpr std::int64_t kOwnCaches = 1024 * 1024;

// How long one thread would take to write `bytes` bytes, in nanoseconds.
std::int64_t time_alone(std::int64_t bytes) {
    return std::min(bytes, kOwnCaches) / kBytesPerNs + std::max<std::int64_t>(bytes - kOwnCaches, 0) / kFarBytesPerNs;
}

std::atomic<bool> in_forked_child{false};
std::atomic<ThreadPool*> process_threads{nullptr};
thread_local int thread_limit = 0;  // 0: the process's limit holds
// Whether any thread has ever had a limit of its own: until then none is looked for, which would take a call.
std::atomic<bool> threads_have_limits{false};
thread_local ThreadPool::Team thread_team = nullptr;

// -1 where the text is no whole number of at least 1; what is more than an int can hold counts as the largest.
int parse_count(const char* text, const char* end) {
    while (text != end && (*text == ' ' || *text == '\t')) ++text;
    while (text != end && (end[-1] == ' ' || end[-1] == '\t')) --end;
    int value = 0;
    const auto [stop, error] = std::from_chars(text, end, value);
    if (stop != end) return -1;
    if (error == std::errc::result_out_of_range) return *text == '-' ? -1 : std::numeric_limits<int>::max();
    return error == std::errc() && value >= 1 ? value : -1;
}

// 0 where the variable is not set.
int own_variable() {
    const char* text = std::getenv("DNNMOVE_NUM_THREADS");
    return text == nullptr || *text == '\0' ? 0 : parse_count(text, text + std::strlen(text));
}

// OpenMP's variable may be a list, one number per nested level; what is malformed is ignored, as OpenMP does.
int openmp_variable() {
    const char* text = std::getenv("OMP_NUM_THREADS");
    if (text == nullptr) return 0;
    const char* comma = std::strchr(text, ',');
    return std::max(0, parse_count(text, comma == nullptr ? text + std::strlen(text) : comma));
}

int initial_threads() {
    // The child starts with no workers, and makes a pool of its own when it needs one.
    pthread_atfork(nullptr, nullptr, [] {
        in_forked_child.store(true, std::memory_order_relaxed);
        process_threads.store(nullptr, std::memory_order_relaxed);
    });
    int threads = own_variable();
    if (threads <= 0) threads = openmp_variable();
    if (threads <= 0) threads = available_cpus();
    return std::clamp(threads, 1, kMaxThreads);
}

std::atomic<int>& limit_of_process() {
    static std::atomic<int> limit{initial_threads()};
    return limit;
}

// Registers the fork handler when the library is loaded, before anybody can fork.
[[maybe_unused]] const int kLoaded = limit_of_process().load();

// Null where there is no memory for it.
ThreadPool* pool() noexcept {
    ThreadPool* current = process_threads.load(std::memory_order_acquire);
    if (current != nullptr) return current;
    auto* made = new (std::nothrow) ThreadPool(static_cast<std::size_t>(affinity_cpus() - 1));
    if (made == nullptr || process_threads.compare_exchange_strong(current, made, std::memory_order_acq_rel)) return made;
    delete made;
    return current;
}

}  // namespace

void set_num_threads(int n) { limit_of_process().store(n, std::memory_order_relaxed); }

int get_num_threads() {
    if (threads_have_limits.load(std::memory_order_relaxed) && thread_limit > 0) return thread_limit;
    return limit_of_process().load(std::memory_order_relaxed);
}

int exchange_thread_limit(int n) {
    threads_have_limits.store(true, std::memory_order_relaxed);
    const int before = thread_limit;
    thread_limit = n;
    return before;
}

void check_thread_environment() {
    const int value = own_variable();
    if (value < 0 || value > kMaxThreads) {
        throw ValueError("DNNMOVE_NUM_THREADS (" + std::string(std::getenv("DNNMOVE_NUM_THREADS")) +
                         ") must be a number of threads in [1, " + std::to_string(kMaxThreads) + "]");
    }
}

bool forked() { return in_forked_child.load(std::memory_order_relaxed); }

bool parallel(int threads, std::int64_t bytes, ThreadPool::Body body, void* context) noexcept {
    ThreadPool* const workers = pool();
    if (workers == nullptr) return false;
    const std::int64_t chunk = std::clamp(bytes / (threads * kChunksPerThread), kLeastChunkBytes, kMostChunkBytes);
    // As many for each thread: with five chunks two threads take as long as with six.
    const auto chunks = static_cast<std::uint32_t>(std::clamp<std::int64_t>(bytes / chunk / threads, 1, 1 << 12) * threads);
    // (Small work is over before a thread that sleeps has come, and a team waits for all of its threads.)
    const std::int64_t expected = time_alone(bytes);
    if (expected >= ThreadPool::kLasting && thread_team != nullptr && !forked() &&
        workers->run_on(thread_team, static_cast<std::size_t>(threads), chunks, body, context)) {
        return true;
    }
    workers->run(static_cast<std::size_t>(threads), chunks, expected, body, context);
    return true;
}

ThreadPool::Team exchange_team(ThreadPool::Team team) noexcept { return std::exchange(thread_team, team); }

}  // namespace dnnmove
