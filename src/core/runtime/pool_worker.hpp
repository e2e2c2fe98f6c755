// A worker of the pool and a call that offers it a part: what the two sides share.
//
// A worker has a state, through which one caller at a time deals with it:
//
//            offer                     begins                    done
//   awake ----------> offered ----------------------> running ----------> awake
//     |  ^               |  the caller has finished and takes the offer back
//     v  +---------------+
//   asleep: in a futex, until an offer wakes it. One whose offer was taken back before it came is coming, until it looks.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/chunks.hpp"
#include "runtime/futex.hpp"
#include "runtime/patience.hpp"
#include "runtime/scheduling.hpp"
#include "runtime/thread_pool.hpp"

namespace dnnmove {

enum WorkerState : std::uint32_t { kAwake, kAsleep, kComing, kOffered, kRunning };

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
    void offer(std::size_t end, std::int64_t now) noexcept;
    // Between chunks of the caller: are the sleeping workers worth waking by now?
    void look() noexcept;
    // The last thing that a worker does with a job: the caller may return at once.
    void leave() noexcept {
        const std::uint32_t before = pending.fetch_sub(1, std::memory_order_acq_rel);
        if (before == (kSleeps | 1)) futex_wake_all(pending);
    }
};

}  // namespace dnnmove
