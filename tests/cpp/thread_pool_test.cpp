// The pool of worker threads: every chunk once, from many callers, with workers that are late, blocked or refused.
#include "runtime/thread_pool.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "test.hpp"
#include "runtime/cpu_count.hpp"
#include "runtime/futex.hpp"
#include "runtime/patience.hpp"
#include "runtime/scheduling.hpp"
#include "runtime/worker_account.hpp"

using namespace dnnmove;
using namespace std::chrono_literals;

namespace {

// Counts how often each chunk is done; plain integers, so that a thread sanitizer sees what the pool orders.
struct Tally {
    explicit Tally(std::size_t chunks) : counts(chunks) {}

    static void body(void* context, Participant& participant) noexcept {
        auto& tally = *static_cast<Tally*>(context);
        const std::size_t per_chunk = tally.counts.size() / participant.chunks();
        for (std::uint32_t chunk = 0; participant.take(chunk);) {
            for (std::size_t k = 0; k < per_chunk; ++k) ++tally.counts[chunk * per_chunk + k];
        }
    }
    bool each(int times) const {
        for (const int count : counts) {
            if (count != times) return false;
        }
        return true;
    }

    std::vector<int> counts;
};

// Waits for `flag`, but not for ever: a failing test must not hang.
bool wait_for(const std::atomic<bool>& flag, std::chrono::milliseconds most = 10s) {
    const auto end = std::chrono::steady_clock::now() + most;
    while (!flag.load() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return flag.load();
}

}  // namespace

TEST_CASE("every chunk is done once whatever the numbers") {
    for (const std::size_t workers : {0, 1, 3, 7}) {
        ThreadPool pool(workers);
        for (const std::size_t threads : {1, 2, 5, 64}) {
            for (const std::uint32_t chunks : {1U, 2U, 16U, 240U}) {
                Tally tally(240);
                for (int round = 1; round <= 20; ++round) {
                    pool.run(threads, chunks, round % 2 == 0 ? ThreadPool::kLasting : 0, Tally::body, &tally);
                    CHECK(tally.each(round));
                }
            }
        }
        CHECK(pool.workers() <= workers);
    }
}

TEST_CASE("results are visible to the caller after many calls in a row") {
    ThreadPool pool(3);
    Tally tally(480);
    for (int round = 1; round <= 3000; ++round) {
        pool.run(4, 48, ThreadPool::kLasting, Tally::body, &tally);
        CAPTURE(round);
        REQUIRE(tally.each(round));
    }
}

TEST_CASE("many callers share one pool") {
    ThreadPool pool(3);
    std::vector<std::thread> callers;
    std::atomic<int> wrong{0};
    for (int caller = 0; caller < 8; ++caller) {
        callers.emplace_back([&] {
            Tally tally(96);
            for (int round = 1; round <= 400; ++round) {
                pool.run(4, 32, round % 3 != 0 ? ThreadPool::kLasting : 0, Tally::body, &tally);
                wrong += tally.each(round) ? 0 : 1;
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    CHECK(wrong.load() == 0);
    CHECK(pool.workers() <= 3);
}

namespace {

struct Blocked {
    std::atomic<bool> entered{false};
    std::atomic<bool> open{false};
    std::thread::id caller;

    // A worker that takes part stays in its first chunk until it is let go; the caller gives it time to come.
    static void body(void* context, Participant& participant) noexcept {
        auto& self = *static_cast<Blocked*>(context);
        const bool worker = std::this_thread::get_id() != self.caller;
        for (std::uint32_t chunk = 0; participant.take(chunk);) {
            if (worker) {
                self.entered.store(true);
                wait_for(self.open);
            } else {
                wait_for(self.entered, 1ms);
            }
        }
    }
};

}  // namespace

// (A worker goes away again where it would share the caller's processor.)
TEST_CASE("a call waits for no worker of another call" * doctest::skip(available_cpus() < 2)) {
    ThreadPool pool(1);
    Blocked blocked;
    std::thread other([&] {
        blocked.caller = std::this_thread::get_id();
        // A worker may sleep, or rest from having been late: more than one call may be needed.
        const auto end = std::chrono::steady_clock::now() + 60s;
        while (!blocked.entered.load() && std::chrono::steady_clock::now() < end) {
            pool.run(2, 64, ThreadPool::kLasting, Blocked::body, &blocked);
        }
    });
    const bool entered = wait_for(blocked.entered, 60s);
    Tally tally(64);
    if (entered) {
        pool.run(2, 64, ThreadPool::kLasting, Tally::body, &tally);
        CHECK(tally.each(1));
        CHECK(!blocked.open.load());
    }
    blocked.open.store(true);
    other.join();
    CHECK(entered);
}

namespace {

// Whoever takes a worker's first chunk goes on when all others are done; the caller gives the worker some time to come.
struct StandsStill {
    std::atomic<std::uint32_t> chunks{0};
    std::atomic<std::uint32_t> done{0};
    std::atomic<bool> entered{false};
    std::atomic<bool> all_but_one{false};
    std::atomic<bool> in_time{true};
    std::thread::id caller;

    static void body(void* context, Participant& participant) noexcept {
        auto& call = *static_cast<StandsStill*>(context);
        call.chunks.store(participant.chunks());
        const bool worker = std::this_thread::get_id() != call.caller;
        bool first = worker;
        for (std::uint32_t chunk = 0; participant.take(chunk); first = false) {
            if (first) {
                call.entered.store(true);
                if (!wait_for(call.all_but_one)) call.in_time.store(false);
            } else if (!worker && participant.chunks() > 1) {
                wait_for(call.entered, 1ms);
            }
            if (++call.done == participant.chunks() - 1) call.all_but_one.store(true);
        }
        // Alone: there is nobody to wait for.
        call.all_but_one.store(true);
    }
};

}  // namespace

// Whether the worker comes is the system's to say; chunks_test has the same without threads.
TEST_CASE("the last chunk of a worker that stands still is done by the caller") {
    ThreadPool pool(1);
    for (const std::int64_t expected : {ThreadPool::kLasting, std::int64_t{0}}) {
        for (const std::uint32_t chunks : {2U, 4U, 5U, 64U}) {
            for (int round = 0; round < 20; ++round) {
                StandsStill call;
                call.caller = std::this_thread::get_id();
                pool.run(2, chunks, expected, StandsStill::body, &call);
                CHECK(call.done.load() == call.chunks.load());
                CHECK(call.in_time.load());
            }
        }
    }
}

// Threads of another library: `parts` of them, of which the first is the caller.
bool with_threads(std::size_t parts, void (*part)(std::int64_t, std::int64_t, void*), void* context) noexcept {
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < parts; ++i) {
        others.emplace_back([=] { part(static_cast<std::int64_t>(i), static_cast<std::int64_t>(i + 1), context); });
    }
    part(0, 1, context);
    for (std::thread& other : others) other.join();
    return true;
}

TEST_CASE("another library's threads do every chunk once") {
    for (const std::size_t threads : {1, 2, 5, 64}) {
        for (const std::uint32_t chunks : {1U, 2U, 16U, 240U}) {
            ThreadPool pool(7);
            Tally tally(240);
            CHECK(pool.run_on(with_threads, threads, chunks, Tally::body, &tally));
            CHECK(tally.each(1));
            // A library may run all parts on the caller, one after the other.
            const auto in_turn = [](std::size_t parts, auto part, void* context) noexcept {
                part(0, static_cast<std::int64_t>(parts), context);
                return true;
            };
            ThreadPool other(7);
            CHECK(other.run_on(in_turn, threads, chunks, Tally::body, &tally));
            CHECK(tally.each(2));
            CHECK(pool.workers() + other.workers() == 0);
        }
    }
}

TEST_CASE("nothing is done where another library has no threads") {
    ThreadPool pool(3);
    Tally tally(16);
    const auto none = [](std::size_t, auto, void*) noexcept { return false; };
    CHECK(!pool.run_on(none, 4, 16, Tally::body, &tally));
    CHECK(tally.each(0));
}

TEST_CASE("another library that keeps its callers waiting is left alone") {
    ThreadPool pool(3);
    Tally tally(16);
    const auto late = [](std::size_t parts, auto part, void* context) noexcept {
        part(0, static_cast<std::int64_t>(parts), context);
        std::this_thread::sleep_for(20ms);
        return true;
    };
    CHECK(pool.run_on(late, 4, 16, Tally::body, &tally));
    CHECK(!pool.run_on(with_threads, 4, 16, Tally::body, &tally));
    CHECK(tally.each(1));
    // And tried again after a while.
    bool again = false;
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!again && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(5ms);
        again = pool.run_on(with_threads, 4, 16, Tally::body, &tally);
    }
    CHECK(again);
}

TEST_CASE("a pool ends while its workers spin or sleep") {
    for (int k = 0; k < 30; ++k) {
        ThreadPool pool(3);
        Tally tally(64);
        for (int round = 1; round <= 1 + k; ++round) pool.run(4, 64, ThreadPool::kLasting, Tally::body, &tally);
        CHECK(tally.each(1 + k));
        if (k % 3 == 0) std::this_thread::sleep_for(1ms);
    }
}

TEST_CASE("no work is lost where no thread can be started") {
    ThreadPool pool(0);
    Tally tally(64);
    pool.run(16, 64, ThreadPool::kLasting, Tally::body, &tally);
    CHECK(tally.each(1));
    CHECK(pool.workers() == 0);
}

TEST_CASE("a worker in debt rests longer each time") {
    constexpr std::int64_t kMilli = 1'000'000;
    WorkerAccount account;
    std::int64_t now = 1000 * kMilli;
    account.book(50 * kMilli, now);  // credit is bounded
    account.book(-4 * kMilli, now);
    CHECK(!account.rests(now));
    const auto rest_after_debt = [&](std::int64_t debt) {
        account.book(-debt, now);
        std::int64_t rest = 0;
        while (account.rests(now + rest)) rest += kMilli;
        return rest;
    };
    const std::int64_t first = rest_after_debt(kMilli);
    CHECK(first >= 10 * kMilli);
    CHECK(first <= 100 * kMilli);
    now += first;
    CHECK(rest_after_debt(kMilli) == 2 * first);
    now += 2 * first;
    CHECK(rest_after_debt(100 * kMilli) == 200 * kMilli);
    // Long after a rest nothing is held against it.
    now += 1000 * kMilli;
    CHECK(rest_after_debt(kMilli) == first);
}

TEST_CASE("a worker waits as long as it usually has to, within bounds, and less where others want its processor") {
    constexpr std::int64_t kMicro = 1000;
    Patience patience;
    CHECK(patience.spin(0) == Patience::kIdleSpin);
    patience.note_work(1000 * kMicro);
    patience.note_idle(10 * kMicro);
    CHECK(patience.spin(0) == Patience::kIdleSpin);
    patience.note_idle(200 * kMicro);
    CHECK(patience.spin(0) == 400 * kMicro);
    patience.note_idle(900 * kMicro);
    CHECK(patience.spin(0) == Patience::kMostIdleSpin);
    // Its time is not free: short work is not worth a long wait.
    patience.note_work(50 * kMicro);
    CHECK(patience.spin(0) == 200 * kMicro);
    patience.note_work(5 * kMicro);
    CHECK(patience.spin(0) == Patience::kIdleSpin);
    patience.note_work(1000 * kMicro);
    // Pauses that it would have slept through all the same are no reason to wait long.
    for (int k = 0; k < 100; ++k) patience.note_idle(5000 * kMicro);
    CHECK(patience.spin(0) == Patience::kIdleSpin);
    patience.note_contention(0);
    CHECK(patience.spin(1) == Patience::kContendedSpin);
    patience.note_idle(900 * kMicro);
    CHECK(patience.spin(1) == Patience::kContendedSpin);
    CHECK(!patience.contended(Patience::kContended));
    CHECK(patience.spin(Patience::kContended) == Patience::kMostIdleSpin);
}

#if defined(__linux__)
namespace {

cpu_set_t mask_of(pthread_t thread) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CHECK(pthread_getaffinity_np(thread, sizeof mask, &mask) == 0);
    return mask;
}

bool same(const cpu_set_t& one, const cpu_set_t& other) { return CPU_EQUAL(&one, &other) != 0; }

}  // namespace

TEST_CASE("a thread knows what others have taken of its processor, and that it has only slept") {
    const pthread_t self = pthread_self();
    const cpu_set_t before = mask_of(self);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
        if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
    }
    REQUIRE(pthread_setaffinity_np(self, sizeof one, &one) == 0);
    std::atomic<bool> over{false};
    std::thread other([&] {
        while (!over.load(std::memory_order_relaxed)) spin_pause();
    });
    LostTime time;
    time.restart(now_ns());
    const std::int64_t end = now_ns() + 5'000'000'000;
    LostTime::Span span{};
    while (span.lost < 1'000'000 && now_ns() < end) {
        for (const std::int64_t until = now_ns() + 20'000'000; now_ns() < until;) spin_pause();
        span = time.take(now_ns());
        CHECK(span.lost <= span.elapsed);
    }
    over.store(true);
    other.join();
    CHECK(span.lost >= 1'000'000);
    CHECK(pthread_setaffinity_np(self, sizeof before, &before) == 0);
    // (Now and then a thread of the system's takes its turn.)
    bool slept = false;
    for (int k = 0; k < 50 && !slept; ++k) {
        time.restart(now_ns());
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        span = time.take(now_ns());
        slept = span.elapsed >= 2'000'000 && span.lost == 0;
    }
    CHECK(slept);
}

TEST_CASE("a thread is kept off a processor until it says so") {
    const pthread_t self = pthread_self();
    const cpu_set_t before = mask_of(self);
    if (CPU_COUNT(&before) < 2) return;
    KeptOff kept;
    kept.end();
    kept.keep(self, -1);
    CHECK(same(before, mask_of(self)));
    for (int round = 0; round < 3; ++round) {
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (!CPU_ISSET(static_cast<std::size_t>(cpu), &before)) continue;
            kept.keep(self, cpu);
            cpu_set_t others = before;
            CPU_CLR(static_cast<std::size_t>(cpu), &others);
            CHECK(same(others, mask_of(self)));
            CHECK(current_cpu() != cpu);
        }
        kept.end();
        CHECK(same(before, mask_of(self)));
    }
    // What somebody else has set meanwhile stays.
    const int cpu = current_cpu();
    kept.keep(self, cpu);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(cpu), &one);
    CHECK(pthread_setaffinity_np(self, sizeof one, &one) == 0);
    kept.end();
    CHECK(same(one, mask_of(self)));
    // The last processor that a thread has is not taken.
    kept.keep(self, cpu);
    CHECK(same(one, mask_of(self)));
    CHECK(pthread_setaffinity_np(self, sizeof before, &before) == 0);
}
#endif
