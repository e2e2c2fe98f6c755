// The workers' side of the pool: a thread spins for an offer, sleeps, does its part of a call.
#include <sched.h>
#include <signal.h>

#include <new>

#include "runtime/cpu_count.hpp"
#include "runtime/pool_worker.hpp"

namespace dnnmove {
namespace {

// All times in nanoseconds.
// After so long an idle worker lets others have its processor between two looks.
constexpr std::int64_t kEagerSpin = 20'000;
// A worker that has lost so much of its processor's time has lost it to somebody who will want it again: shorter than a turn of
// any scheduler, longer than what the system does by the way.
constexpr std::int64_t kLostProcessor = 200'000;

// Kernels keep a few tens of kilobytes on the stack, and strategies a stage of 160 at most: so does a calling thread.
constexpr std::size_t kStackBytes = 512 * 1024;

}  // namespace

// False where the system has no thread for us, or another caller is starting one. The worker sleeps.
bool ThreadPool::start_worker() noexcept {
    const std::unique_lock lock(starting_, std::try_to_lock);
    const std::size_t position = count_.load(std::memory_order_relaxed);
    if (!lock || position >= max_workers_) return false;
    auto* worker = new (std::nothrow) Worker;
    if (worker == nullptr) return false;
    worker->pool = this;
    worker->state.store(kAsleep, std::memory_order_relaxed);
    // Signals are for the threads of the program.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    bool started = pthread_attr_init(&attributes) == 0;
    if (started) {
        pthread_attr_setstacksize(&attributes, kStackBytes);
        started = pthread_create(&worker->thread, &attributes, thread_main, worker) == 0;
        pthread_attr_destroy(&attributes);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!started) {
        delete worker;
        refused_.store(true, std::memory_order_relaxed);
        return false;
    }
    workers_[position].store(worker, std::memory_order_release);
    count_.store(position + 1, std::memory_order_release);
    return true;
}

void* ThreadPool::thread_main(void* argument) noexcept {
    Worker& worker = *static_cast<Worker*>(argument);
#if defined(__linux__)
    // Not the mask of the thread that happened to start this one, which may be bound to one processor.
    cpu_set_t cpus;
    if (process_cpus(cpus)) pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
    pthread_setname_np(pthread_self(), "dnnmove");
#endif
    worker.pool->serve(worker);
    return nullptr;
}

void ThreadPool::serve(Worker& worker) noexcept {
    std::int64_t idle_since = now_ns();
    LostTime time;
    time.restart(idle_since);
    while (!ending_.load(std::memory_order_acquire)) {
        std::uint32_t state = spin(worker, time);
        if (state == kAsleep) {
            state = sleep(worker);
            time.restart(now_ns());
        }
        if (state == kComing && worker.state.compare_exchange_strong(state, kAwake, std::memory_order_acq_rel)) {
            idle_since = now_ns();
        }
        if (state != kOffered || !worker.state.compare_exchange_strong(state, kRunning, std::memory_order_acq_rel)) continue;
        idle_since = work(worker, idle_since);
    }
}

// Looks for an offer as long as its patience lasts; returns another state than awake, or any where the pool ends.
std::uint32_t ThreadPool::spin(Worker& worker, LostTime& time) const noexcept {
    std::uint32_t state = worker.state.load(std::memory_order_acquire);
    const std::int64_t begin = now_ns();
    std::int64_t last = begin;
    std::int64_t check = begin + Patience::kIdleSpin / 4;
    while (state == kAwake && !ending_.load(std::memory_order_relaxed)) {
        for (int k = 0; k < 16 && state == kAwake; ++k) {
            spin_pause();
            state = worker.state.load(std::memory_order_acquire);
        }
        if (state != kAwake) break;
        std::int64_t now = now_ns();
        const std::int64_t patience = worker.patience.spin(now);
        if (now - begin > kEagerSpin && now - begin <= patience) {
            // Whoever waits for this processor gets it.
            last = now;
            sched_yield();
            now = now_ns();
        }
        // (A clock that jumps for no other thread may have been stopped with the processor, by a virtual machine's host.)
        bool lost = now - last > kLostProcessor;
        if (lost || now > check) {
            check = INT64_MAX;
            const auto [to_others, elapsed] = time.take(now);
            if (to_others > kLostProcessor && to_others > elapsed / 16) {
                lost = true;
                worker.patience.note_contention(now);
            }
        }
        if (lost) worker.account.book(-WorkerAccount::kPreempted, now);
        if (lost || now - begin > patience) {
            worker.kept_off.end();
            worker.state.compare_exchange_strong(state, kAsleep, std::memory_order_acq_rel);
        }
        last = now;
        state = worker.state.load(std::memory_order_acquire);
    }
    return state;
}

// Until an offer wakes it, or the pool ends.
std::uint32_t ThreadPool::sleep(Worker& worker) const noexcept {
    std::uint32_t state = kAsleep;
    while (state == kAsleep && !ending_.load(std::memory_order_relaxed)) {
        futex_wait(worker.state, kAsleep);
        state = worker.state.load(std::memory_order_acquire);
    }
    return state;
}

// Does its part of the call whose offer it has begun, and wakes those whom it has to wake; returns when it was done.
std::int64_t ThreadPool::work(Worker& worker, std::int64_t idle_since) noexcept {
    Participant::Job& job = *worker.job;
    for (Worker* other : worker.wakes) {
        if (other != nullptr) futex_wake_all(other->state);
    }
    worker.done = 0;
    worker.patience.note_idle(worker.offered_at - idle_since);
    bool welcome = true;
    if (worker.was_asleep || worker.was_coming) {
        const std::int64_t now = now_ns();
        if (worker.was_asleep) note_wake_time(now - worker.offered_at);
        // On the caller's processor it would only be in the caller's way.
        welcome = worker.caller_cpu < 0 || current_cpu() != worker.caller_cpu;
        if (!welcome) {
            worker.misplaced = true;
            worker.account.book(-WorkerAccount::kInTheWay, now);
        }
    }
    if (welcome) {
        const std::int64_t start = now_ns();
        Participant self(job, worker.index);
        job.body(job.context, self);
        worker.done = self.done_;
        worker.took = now_ns() - start;
        if (worker.done > 0) worker.patience.note_work(worker.took);
    }
    const int caller_cpu = worker.caller_cpu;
    const std::int64_t end = now_ns();
    worker.state.store(kAwake, std::memory_order_release);
    job.leave();
    if (!welcome) worker.kept_off.keep(worker.thread, caller_cpu);
    return end;
}

}  // namespace dnnmove
