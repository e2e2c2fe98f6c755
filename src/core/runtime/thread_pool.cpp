// The worker threads of the process: a call offers them parts of its work, and never waits for one that has not begun.
//
// A worker has a state, through which one caller at a time deals with it:
//
//            offer                     begins                    done
//   awake ----------> offered ----------------------> running ----------> awake
//     |  ^               |  the caller has finished and takes the offer back
//     v  +---------------+
//   asleep: in a futex, until an offer wakes it. One whose offer was taken back before it came is coming, until it looks.
//
// The caller does chunks itself until none is left, takes back what no worker has begun, and waits only for chunks
// that are being done. Three things cost time all the same, and all are bounded here:
//
// - Waking a worker takes as long as a small call. Workers that are awake (they spin for a while after their work)
//   get their offer at once; so do those that sleep where the call is expected to last for much longer than waking them takes.
//   Else they get it when the call has lasted as long as that and is to go on, or when calls have followed each other for so
//   long that the next ones will gain by it.
// - A worker may wake on its caller's processor and wait there until the call is over: kernels that gather threads on few
//   processors put it there every time. It is kept off that processor then.
// - Where others want the processors, too, a worker may lose its own in the middle of a chunk, take the caller's, or
//   get none while the call lasts. Every worker has an account of that (worker_account.hpp), and rests out of credit.
#include "runtime/thread_pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "runtime/chunks.hpp"
#include "runtime/cpu_count.hpp"
#include "runtime/futex.hpp"
#include "runtime/patience.hpp"
#include "runtime/scheduling.hpp"

namespace dnnmove {
namespace {

enum State : std::uint32_t { kAwake, kAsleep, kComing, kOffered, kRunning };

// All times in nanoseconds.
// After so long an idle worker lets others have its processor between two looks.
constexpr std::int64_t kEagerSpin = 20'000;
// A worker that has lost so much of its processor's time has lost it to somebody who will want it again: shorter than a turn of
// any scheduler, longer than what the system does by the way.
constexpr std::int64_t kLostProcessor = 200'000;
// A worker that misses offers for so long has lost its processor once more.
constexpr std::int64_t kLostWorker = 500'000;
// A caller that takes so much longer than its workers for as much has lost its processor.
constexpr std::int64_t kLostCaller = 300'000;
// So long a caller spins for chunks that are being done before it sleeps until they are, and where nobody wants their workers'
// processors twice as long as its own took it, up to the second.
constexpr std::int64_t kFinishSpin = 15'000;
constexpr std::int64_t kMostFinishSpin = 200'000;
// What waking a worker takes, before it has been seen here, and the bounds of what is believed.
constexpr std::int64_t kWakeTime = 50'000;
constexpr std::int64_t kLeastWakeTime = 10'000;
constexpr std::int64_t kMostWakeTime = 500'000;

// Kernels keep a few tens of kilobytes on the stack, and strategies a stage of 160 at most: so does a calling thread.
constexpr std::size_t kStackBytes = 512 * 1024;

// The calls of one thread, as far as they followed each other without a pause.
struct Streak {
    std::int64_t end = 0;  // of the last call
    std::int64_t lacking = 0;  // time of calls that a sleeping worker would have shortened
    std::int64_t patience = 0;  // so long a pause such a worker would have waited
};
thread_local Streak streak;

}  // namespace

// The worker spins on the first line; what callers write about it, and what it writes itself, lies on others.
struct alignas(128) ThreadPool::Worker {
    std::atomic<std::uint32_t> state{kAwake};
    // Of the offer:
    alignas(64) Participant::Job* job = nullptr;
    std::size_t index = 0;  // as a participant
    bool was_asleep = false;
    bool was_coming = false;
    bool woken = false;  // for sure: by the caller itself
    int caller_cpu = -1;
    Worker* wakes[2] = {};  // who sleeps and has an offer, too: a tree, so that nobody wakes them all
    std::int64_t offered_at = 0;  // ns; of one that is coming, the first offer that it missed
    alignas(64) ChunkRange range;
    // Of the callers:
    alignas(64) std::atomic<bool> taken{false};  // by one caller, until its call returns
    // Some kernels wake it on its caller's processor, where it waits until the call is over. Once that has happened, it is
    // kept off that one while it is awake.
    bool misplaced = false;
    std::int64_t charged_at = 0;  // ns; when it was last booked for an offer that it missed
    WorkerAccount account;
    KeptOff kept_off;
    // The worker's own, of the call that has taken it:
    alignas(64) std::int64_t done = 0;  // chunks
    std::int64_t took = 0;  // ns
    Patience patience;

    ThreadPool* pool = nullptr;
    pthread_t thread{};
};

struct Participant::Job {
    Job(std::uint32_t count, bool brief) noexcept : chunks(count, brief) { ranges[0] = &own; }

    ThreadPool* pool = nullptr;
    ThreadPool::Body body = nullptr;
    void* context = nullptr;
    Chunks chunks;
    std::size_t participants = 1;
    std::size_t awake = 1;  // participants [1, awake) were awake when the call began
    std::size_t offered = 1;  // participants [1, offered) have an offer
    std::int64_t began = 0;  // ns
    std::int64_t look_at = INT64_MAX;  // when to see whether sleeping workers are worth waking
    ChunkRange own;  // of the caller
    std::int64_t done = 0;  // chunks that the caller has done
    // Workers that have an offer or run; the upper bit says that the caller sleeps.
    std::atomic<std::uint32_t> pending{0};
    ThreadPool::Worker* workers[ThreadPool::kMaxParticipants];  // [1, participants): those awake first
    ChunkRange* ranges[ThreadPool::kMaxParticipants];  // [0, participants)

    static constexpr std::uint32_t kSleeps = 1U << 31;

    // Offers to participants [offered, end).
    void offer(std::size_t end, std::int64_t now) noexcept {
        pending.fetch_add(static_cast<std::uint32_t>(end - offered), std::memory_order_relaxed);
        const int cpu = current_cpu();
        // Workers [offered, end) are places 1, 2 ... of a tree below this thread; from the last to the first, so that
        // a worker's two are known when its own offer goes out.
        const auto sleeper = [&](std::size_t place) -> ThreadPool::Worker* {
            const std::size_t i = offered - 1 + place;
            return i < end && workers[i]->was_asleep ? workers[i] : nullptr;
        };
        for (std::size_t i = end; i-- > offered;) {
            ThreadPool::Worker& worker = *workers[i];
            const std::size_t place = i - offered + 1;
            worker.job = this;
            worker.index = i;
            worker.caller_cpu = cpu;
            worker.wakes[0] = sleeper(2 * place + 1);
            worker.wakes[1] = sleeper(2 * place + 2);
            worker.woken = place <= 2;
            const std::uint32_t before = worker.state.load(std::memory_order_acquire);
            worker.was_asleep = before == kAsleep;
            worker.was_coming = before == kComing;
            if (!worker.was_coming) worker.offered_at = now;
            if (worker.was_asleep && worker.misplaced) worker.kept_off.keep(worker.thread, cpu);
        }
        // (Only now: each exchange waits for all that has been written.)
        for (std::size_t i = end; i-- > offered;) {
            ThreadPool::Worker& worker = *workers[i];
            // One that falls asleep just now counts as awake, and is woken here.
            if (worker.state.exchange(kOffered, std::memory_order_acq_rel) == kAsleep && !worker.was_asleep) {
                futex_wake_all(worker.state);
            }
        }
        for (const std::size_t place : {std::size_t{1}, std::size_t{2}}) {
            if (ThreadPool::Worker* const first = sleeper(place)) futex_wake_all(first->state);
        }
        offered = end;
    }
    // Between chunks of the caller: are the sleeping workers worth waking by now?
    void look() noexcept {
        const std::int64_t now = now_ns();
        if (now < look_at) return;
        const std::int64_t elapsed = now - began;
        const std::int64_t left = chunks.left();
        const std::int64_t gone = std::max<std::int64_t>(1, chunks.count() - left);
        const std::int64_t wake_time = pool->wake_time_.load(std::memory_order_relaxed);
        const bool worth = elapsed >= wake_time && elapsed * left / gone > 2 * wake_time;
        if (worth) offer(participants, now);
        look_at = worth || left == 0 ? INT64_MAX : now + wake_time / 4;
    }
    // The last thing that a worker does with a job: the caller may return at once.
    void leave() noexcept {
        const std::uint32_t before = pending.fetch_sub(1, std::memory_order_acq_rel);
        if (before == (kSleeps | 1)) futex_wake_all(pending);
    }
};

Participant::Participant(Job& job, std::size_t index) noexcept : job_(job), index_(index) { job.ranges[index]->begin(); }

bool Participant::take(std::uint32_t& chunk) noexcept {
    if (index_ == 0 && job_.look_at != INT64_MAX) job_.look();
    const bool found = job_.chunks.take(index_, chunk);
    done_ += found ? 1 : 0;
    return found;
}

std::uint32_t Participant::chunks() const noexcept { return job_.chunks.count(); }

ThreadPool::ThreadPool(std::size_t max_workers) noexcept
    : max_workers_(std::min(max_workers, kMaxParticipants - 1)), wake_time_(kWakeTime) {}

ThreadPool::~ThreadPool() {
    ending_.store(true);
    for (std::size_t i = 0; i < workers(); ++i) {
        Worker* worker = workers_[i].load();
        worker->state.store(kAwake);
        futex_wake_all(worker->state);
        pthread_join(worker->thread, nullptr);
        delete worker;
    }
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

void ThreadPool::serve(Worker& worker) noexcept {
    std::int64_t idle_since = now_ns();
    LostTime time;
    time.restart(idle_since);
    while (!ending_.load(std::memory_order_acquire)) {
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
        const bool sleeps = state == kAsleep;
        while (state == kAsleep && !ending_.load(std::memory_order_relaxed)) {
            futex_wait(worker.state, kAsleep);
            state = worker.state.load(std::memory_order_acquire);
        }
        if (sleeps) time.restart(now_ns());
        if (state == kComing && worker.state.compare_exchange_strong(state, kAwake, std::memory_order_acq_rel)) {
            idle_since = now_ns();
        }
        if (state != kOffered || !worker.state.compare_exchange_strong(state, kRunning, std::memory_order_acq_rel)) continue;
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
        idle_since = now_ns();
        worker.state.store(kAwake, std::memory_order_release);
        job.leave();
        if (!welcome) worker.kept_off.keep(worker.thread, caller_cpu);
    }
}

void ThreadPool::note_wake_time(std::int64_t seen) noexcept {
    const std::int64_t before = wake_time_.load(std::memory_order_relaxed);
    const std::int64_t bounded = std::clamp(seen, kLeastWakeTime, kMostWakeTime);
    wake_time_.store(before + (bounded - before) / 8, std::memory_order_relaxed);
}

// Workers that are free, those first that are awake or about to be.
void ThreadPool::reserve(Participant::Job& job, std::size_t wanted) noexcept {
    for (const bool awake : {true, false}) {
        const std::size_t count = workers();
        for (std::size_t i = 0; i < count && job.participants <= wanted; ++i) {
            Worker& worker = *workers_[i].load(std::memory_order_acquire);
            if (worker.taken.load(std::memory_order_relaxed)) continue;
            const std::uint32_t state = worker.state.load(std::memory_order_relaxed);
            if (awake != (state == kAwake || state == kComing)) continue;
            if (worker.account.rests(job.began)) continue;
            if (worker.taken.exchange(true, std::memory_order_acquire)) continue;
            job.workers[job.participants++] = &worker;
        }
        if (awake) job.awake = job.participants;
    }
}

void ThreadPool::run_alone(Body body, void* context) noexcept {
    Participant::Job job(1, false);
    job.chunks.deal(job.ranges, 1, 1);
    Participant self(job, 0);
    body(context, self);
}

void ThreadPool::run(std::size_t threads, std::uint32_t chunks, std::int64_t expected, Body body, void* context) noexcept {
    const bool lasting = expected >= kLasting;
    const std::size_t wanted = std::min({threads, std::size_t{chunks}, max_workers_ + 1}) - 1;
    if (wanted == 0) {
        run_alone(body, context);
        return;
    }
    Participant::Job job(chunks, !lasting);
    job.pool = this;
    job.body = body;
    job.context = context;
    job.began = now_ns();
    const std::int64_t wake_time = wake_time_.load(std::memory_order_relaxed);
    if (job.began - streak.end > streak.patience) streak.lacking = 0;
    const bool invest = streak.lacking > 2 * wake_time;
    if (invest) streak.lacking = 0;
    if (lasting || invest) {
        while (workers() < std::min(wanted, max_workers_) && !refused_.load(std::memory_order_relaxed) && start_worker()) {
        }
    }
    reserve(job, wanted);
    // A worker that rests is not lacking, nor is one that another call has.
    const bool more = workers() < std::min(wanted, max_workers_) && !refused_.load(std::memory_order_relaxed);
    const bool lacks = more || job.awake < job.participants;
    streak.patience = more ? Patience::kIdleSpin : 0;
    for (std::size_t i = job.awake; i < job.participants; ++i) {
        streak.patience = std::max(streak.patience, job.workers[i]->patience.spin(job.began));
    }
    if (!lasting && !invest) release(job, job.awake);
    if (job.participants == 1) {
        run_alone(body, context);
    } else {
        for (std::size_t i = 1; i < job.participants; ++i) job.ranges[i] = &job.workers[i]->range;
        const bool long_enough = 2 * expected > 3 * wake_time * static_cast<std::int64_t>(job.awake);
        const std::size_t now = invest || long_enough ? job.participants : job.awake;
        job.chunks.deal(job.ranges, now, job.participants);
        job.look_at = now < job.participants ? job.began + wake_time : INT64_MAX;
        if (now > 1) job.offer(now, job.began);
        Participant self(job, 0);
        body(context, self);
        job.done = self.done_;
        finish(job);
    }
    streak.end = now_ns();
    if (lacks && !invest) streak.lacking += streak.end - job.began;
}

bool ThreadPool::run_on(Team team, std::size_t threads, std::uint32_t chunks, Body body, void* context) noexcept {
    Participant::Job job(chunks, false);
    job.began = now_ns();
    if (team_account_.rests(job.began)) return false;
    ChunkRange guests[kMaxParticipants];
    job.pool = this;
    job.body = body;
    job.context = context;
    job.participants = std::min({threads, std::size_t{chunks}, kMaxParticipants});
    for (std::size_t i = 1; i < job.participants; ++i) job.ranges[i] = &guests[i];
    job.chunks.deal(job.ranges, job.participants, job.participants);
    struct Call {
        Participant::Job& job;
        std::int64_t own_end;  // ns
    } call{job, 0};
    const auto part = [](std::int64_t begin, std::int64_t end, void* opaque) noexcept {
        auto& [shared, own_end] = *static_cast<Call*>(opaque);
        for (std::int64_t i = begin; i < end; ++i) {
            Participant self(shared, static_cast<std::size_t>(i));
            shared.body(shared.context, self);
            if (i > 0) continue;
            shared.done = self.done_;
            own_end = now_ns();
        }
    };
    if (!team(job.participants, part, &call)) return false;
    const std::int64_t end = now_ns();
    const std::int64_t per_chunk = (call.own_end - job.began) / std::max<std::int64_t>(job.done, 1);
    team_account_.book((chunks - job.done) * per_chunk - (end - call.own_end), end);
    return true;
}

// Lets workers [begin, participants) go, to whom nothing was offered.
void ThreadPool::release(Participant::Job& job, std::size_t begin) noexcept {
    for (std::size_t i = begin; i < job.participants; ++i) job.workers[i]->taken.store(false, std::memory_order_release);
    job.participants = begin;
}

// Takes back the offers that nobody has begun, waits for the others, and lets the workers go.
void ThreadPool::finish(Participant::Job& job) noexcept {
    enum class Part : std::uint8_t { begun, missed, late };
    Part parts[kMaxParticipants];
    std::uint32_t taken_back = 0;
    for (std::size_t i = 1; i < job.offered; ++i) {
        Worker& worker = *job.workers[i];
        // One that is awake, or has been woken, may be in time for the next call.
        const State after = worker.was_asleep && !worker.woken ? kAsleep : kComing;
        std::uint32_t state = worker.state.load(std::memory_order_acquire);
        const bool missed = state == kOffered && worker.state.compare_exchange_strong(state, after, std::memory_order_acq_rel);
        parts[i] = missed ? Part::missed : Part::begun;
        taken_back += missed ? 1 : 0;
    }
    std::uint32_t pending = job.pending.fetch_sub(taken_back, std::memory_order_acq_rel) - taken_back;
    const std::int64_t own_end = now_ns();
    std::int64_t end = own_end;
    const std::int64_t own = own_end - job.began;
    std::int64_t per_chunk = own / std::max<std::int64_t>(job.done, 1);
    std::int64_t spin = std::clamp(2 * per_chunk, kFinishSpin, kMostFinishSpin);
    for (std::size_t i = 1; i < job.offered && pending != 0; ++i) {
        if (parts[i] == Part::begun && job.workers[i]->patience.contended(own_end)) spin = kFinishSpin;
    }
    while (pending != 0 && end - own_end < spin) {
        for (int k = 0; k < 16 && pending != 0; ++k) {
            spin_pause();
            pending = job.pending.load(std::memory_order_acquire);
        }
        end = now_ns();
    }
    if (pending != 0) {
        for (std::size_t i = 1; i < job.offered; ++i) {
            const bool running = job.workers[i]->state.load(std::memory_order_relaxed) == kRunning;
            if (parts[i] == Part::begun && running) parts[i] = Part::late;
        }
        pending = job.pending.fetch_or(Participant::Job::kSleeps, std::memory_order_acq_rel) | Participant::Job::kSleeps;
        while (pending != Participant::Job::kSleeps) {
            futex_wait(job.pending, pending);
            pending = job.pending.load(std::memory_order_acquire);
        }
        end = now_ns();
    }
    // A chunk of a worker's is one that the caller need not do: it would have taken as long as its own ones, where it has
    // kept its processor. Threads that others make room for elsewhere may cost it that; it shows in how long workers take.
    for (std::size_t i = 1; i < job.offered; ++i) {
        const Worker& worker = *job.workers[i];
        if (parts[i] != Part::missed && worker.done > 0) per_chunk = std::min(per_chunk, worker.took / worker.done);
    }
    const std::int64_t without = own - job.done * per_chunk;
    const std::int64_t lost = without > kLostCaller && 2 * without > own ? without : 0;
    for (std::size_t i = 1; i < job.offered; ++i) {
        Worker& worker = *job.workers[i];
        switch (parts[i]) {
            case Part::begun: worker.account.book(worker.done * per_chunk - lost, end); break;
            case Part::late: worker.account.book(worker.done * per_chunk - (end - own_end) - lost, end); break;
            case Part::missed: {
                if (worker.was_asleep && !worker.woken) break;
                const bool waited = own_end - worker.offered_at > wake_time_.load(std::memory_order_relaxed);
                if (worker.was_asleep && waited) note_wake_time(own_end - worker.offered_at);
                if (waited) {
                    // It may stand in this processor's queue.
                    worker.misplaced = true;
                    worker.kept_off.keep(worker.thread, current_cpu());
                }
                // Nobody waits for it: short calls that follow each other until it comes pay now and then.
                if (!worker.was_coming || end - worker.charged_at > kLostWorker) {
                    worker.account.book(-WorkerAccount::kMissed, end);
                    worker.charged_at = end;
                }
                break;
            }
        }
    }
    release(job, 1);
}

}  // namespace dnnmove
