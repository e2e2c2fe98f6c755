// The worker threads of the process: a call offers them parts of its work, and never waits for one that has not begun.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "runtime/worker_account.hpp"

namespace dnnmove {

class LostTime;

// One thread's part in a call.
class Participant {
public:
    // False when every chunk has been taken; else this thread has to do `chunk`, of chunks().
    bool take(std::uint32_t& chunk) noexcept;
    std::uint32_t chunks() const noexcept;

private:
    friend class ThreadPool;
    struct Job;
    Participant(Job& job, std::size_t index) noexcept;

    Job& job_;
    std::size_t index_;  // 0 is the caller
    std::int64_t done_ = 0;  // chunks taken
};

class ThreadPool {
public:
    // Calls participant.take() until it is false, doing each chunk; then fences its stores.
    using Body = void (*)(void* context, Participant& participant) noexcept;

    // Threads that another library keeps awake for its own operations, between which this library's are called: runs
    // part(begin, end, context) on ranges that make up [0, parts), that with 0 on this thread, and returns when all are
    // done. False, and nothing done, where the library has fewer threads.
    using Team = bool (*)(std::size_t parts, void (*part)(std::int64_t begin, std::int64_t end, void* context),
                          void* context) noexcept;

    static constexpr std::int64_t kLasting = 25'000;  // ns

    // Threads that take part in one call at most; tables of that size lie on the stack.
    static constexpr std::size_t kMaxParticipants = 256;

    // Starts no thread yet. Never more than `max_workers`, whatever the calls ask for.
    explicit ThreadPool(std::size_t max_workers) noexcept;
    // Waits until every worker has ended; no call may be running. (The process's own pool is never destroyed.)
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    // Runs `body` on this thread and on workers that are free, `threads` in all at most, and returns when all
    // `chunks` (at least one, in any order) are done. `expected`: what one thread would take, about, in nanoseconds. Work of
    // less than kLasting is too short to wake a worker for it alone; workers are woken at once for what takes those that are
    // awake one and a half times as long as waking more, else when as much time has passed. May be called from many threads at
    // once: each gets workers that no other has. Allocates only to start threads.
    void run(std::size_t threads, std::uint32_t chunks, std::int64_t expected, Body body, void* context) noexcept;

    // The same on another library's threads, with which workers would only compete for the processors. False, and
    // nothing done, where that library has fewer threads, or where callers have waited for them too long of late.
    bool run_on(Team team, std::size_t threads, std::uint32_t chunks, Body body, void* context) noexcept;

    std::size_t max_workers() const noexcept { return max_workers_; }
    // Threads started so far.
    std::size_t workers() const noexcept { return count_.load(std::memory_order_acquire); }

private:
    friend class Participant;
    struct Worker;
    struct Ending;

    // On this thread only, as one chunk.
    static void run_alone(Body body, void* context) noexcept;
    void reserve(Participant::Job& job, std::size_t wanted) noexcept;
    void finish(Participant::Job& job) noexcept;
    static std::uint32_t take_back(Participant::Job& job, Ending& ending) noexcept;
    static void wait(Participant::Job& job, Ending& ending, std::uint32_t pending) noexcept;
    void book(Participant::Job& job, const Ending& ending) noexcept;
    static void release(Participant::Job& job, std::size_t begin) noexcept;
    void note_wake_time(std::int64_t seen) noexcept;

    // pool_worker.cpp
    bool start_worker() noexcept;
    static void* thread_main(void* argument) noexcept;
    void serve(Worker& worker) noexcept;
    std::uint32_t spin(Worker& worker, LostTime& time) const noexcept;
    std::uint32_t sleep(Worker& worker) const noexcept;
    std::int64_t work(Worker& worker, std::int64_t idle_since) noexcept;

    const std::size_t max_workers_;
    std::atomic<std::size_t> count_{0};
    std::atomic<bool> ending_{false};
    std::atomic<bool> refused_{false};  // the system has no more threads for us
    std::atomic<std::int64_t> wake_time_;  // ns from an offer to a sleeping worker until it begins, as seen lately
    WorkerAccount team_account_;  // of all teams
    std::mutex starting_;  // held while a thread is started; never waited for
    std::atomic<Worker*> workers_[kMaxParticipants - 1] = {};
};

}  // namespace dnnmove
