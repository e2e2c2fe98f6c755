// The worker threads of the process: a call offers them parts of its work, and never waits for one that has not begun.
//
// This is the callers' side (pool_worker.cpp: the workers'). The caller does chunks itself until none is left, takes back what no
// worker has begun, and waits only for chunks that are being done. Three things cost time all the same, and all are bounded here:
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

#include <algorithm>

#include "runtime/pool_worker.hpp"

namespace dnnmove {
namespace {

// All times in nanoseconds.
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

// The calls of one thread, as far as they followed each other without a pause.
struct Streak {
    std::int64_t end = 0;  // of the last call
    std::int64_t lacking = 0;  // time of calls that a sleeping worker would have shortened
    std::int64_t patience = 0;  // so long a pause such a worker would have waited
};
thread_local Streak streak;

}  // namespace

void Participant::Job::offer(std::size_t end, std::int64_t now) noexcept {
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

void Participant::Job::look() noexcept {
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

// How a call ended: what became of the workers' parts.
struct ThreadPool::Ending {
    enum class Part : std::uint8_t { begun, missed, late };

    Part parts[kMaxParticipants];  // [1, offered)
    std::int64_t own_end;  // ns; when the caller had no more to do
    std::int64_t end;  // and when all was done
};

// Takes back the offers that nobody has begun, waits for the others, and lets the workers go.
void ThreadPool::finish(Participant::Job& job) noexcept {
    Ending ending;
    const std::uint32_t pending = take_back(job, ending);
    ending.end = ending.own_end = now_ns();
    if (pending != 0) wait(job, ending, pending);
    book(job, ending);
    release(job, 1);
}

// Returns how many workers have begun and not yet ended.
std::uint32_t ThreadPool::take_back(Participant::Job& job, Ending& ending) noexcept {
    std::uint32_t taken_back = 0;
    for (std::size_t i = 1; i < job.offered; ++i) {
        Worker& worker = *job.workers[i];
        // One that is awake, or has been woken, may be in time for the next call.
        const WorkerState after = worker.was_asleep && !worker.woken ? kAsleep : kComing;
        std::uint32_t state = worker.state.load(std::memory_order_acquire);
        const bool missed = state == kOffered && worker.state.compare_exchange_strong(state, after, std::memory_order_acq_rel);
        ending.parts[i] = missed ? Ending::Part::missed : Ending::Part::begun;
        taken_back += missed ? 1 : 0;
    }
    return job.pending.fetch_sub(taken_back, std::memory_order_acq_rel) - taken_back;
}

// Spins, then sleeps, until all that was begun is done.
void ThreadPool::wait(Participant::Job& job, Ending& ending, std::uint32_t pending) noexcept {
    const std::int64_t own = ending.own_end - job.began;
    const std::int64_t per_chunk = own / std::max<std::int64_t>(job.done, 1);
    std::int64_t spin = std::clamp(2 * per_chunk, kFinishSpin, kMostFinishSpin);
    for (std::size_t i = 1; i < job.offered; ++i) {
        if (ending.parts[i] == Ending::Part::begun && job.workers[i]->patience.contended(ending.own_end)) spin = kFinishSpin;
    }
    while (pending != 0 && ending.end - ending.own_end < spin) {
        for (int k = 0; k < 16 && pending != 0; ++k) {
            spin_pause();
            pending = job.pending.load(std::memory_order_acquire);
        }
        ending.end = now_ns();
    }
    if (pending == 0) return;
    for (std::size_t i = 1; i < job.offered; ++i) {
        const bool running = job.workers[i]->state.load(std::memory_order_relaxed) == kRunning;
        if (ending.parts[i] == Ending::Part::begun && running) ending.parts[i] = Ending::Part::late;
    }
    pending = job.pending.fetch_or(Participant::Job::kSleeps, std::memory_order_acq_rel) | Participant::Job::kSleeps;
    while (pending != Participant::Job::kSleeps) {
        futex_wait(job.pending, pending);
        pending = job.pending.load(std::memory_order_acquire);
    }
    ending.end = now_ns();
}

// What the workers have saved this call and cost it.
void ThreadPool::book(Participant::Job& job, const Ending& ending) noexcept {
    const std::int64_t own_end = ending.own_end;
    const std::int64_t end = ending.end;
    const std::int64_t own = own_end - job.began;
    std::int64_t per_chunk = own / std::max<std::int64_t>(job.done, 1);
    // A chunk of a worker's is one that the caller need not do: it would have taken as long as its own ones, where it has
    // kept its processor. Threads that others make room for elsewhere may cost it that; it shows in how long workers take.
    for (std::size_t i = 1; i < job.offered; ++i) {
        const Worker& worker = *job.workers[i];
        if (ending.parts[i] != Ending::Part::missed && worker.done > 0)
            per_chunk = std::min(per_chunk, worker.took / worker.done);
    }
    const std::int64_t without = own - job.done * per_chunk;
    const std::int64_t lost = without > kLostCaller && 2 * without > own ? without : 0;
    for (std::size_t i = 1; i < job.offered; ++i) {
        Worker& worker = *job.workers[i];
        switch (ending.parts[i]) {
            case Ending::Part::begun: worker.account.book(worker.done * per_chunk - lost, end); break;
            case Ending::Part::late: worker.account.book(worker.done * per_chunk - (end - own_end) - lost, end); break;
            case Ending::Part::missed: {
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
}

}  // namespace dnnmove
