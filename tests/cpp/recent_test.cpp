// The small caches: what they keep, with many threads, and in a child of fork.
#include "runtime/recent.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "check.hpp"

using dnnmove::Recent;

TEST(the_least_recently_used_value_goes_first) {
    Recent<int, int> cache(2);
    CHECK(cache.find(1) == nullptr);
    CHECK(*cache.insert(1, std::make_shared<int>(10)) == 10);
    cache.insert(2, std::make_shared<int>(20));
    CHECK(*cache.find(1) == 10);
    cache.insert(3, std::make_shared<int>(30));
    CHECK(cache.find(2) == nullptr);
    CHECK(*cache.find(1) == 10);
    CHECK(*cache.find(3) == 30);
}

TEST(the_first_of_two_values_for_a_key_stays) {
    Recent<int, int> cache(2);
    const auto first = cache.insert(1, std::make_shared<int>(10));
    CHECK(cache.insert(1, std::make_shared<int>(11)) == first);
    CHECK(cache.find(1) == first);
}

TEST(what_is_dropped_lives_while_it_is_held) {
    Recent<int, int> cache(1);
    const auto held = cache.insert(1, std::make_shared<int>(10));
    cache.insert(2, std::make_shared<int>(20));
    CHECK(*held == 10);
    CHECK(held.use_count() == 1);
}

TEST(a_fork_finds_no_lock_taken) {
    std::vector<std::unique_ptr<Recent<int, int>>> caches;
    for (int i = 0; i < 40; ++i) caches.push_back(std::make_unique<Recent<int, int>>(3));
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            for (int i = t; !done.load(); ++i) {
                auto& cache = *caches[static_cast<std::size_t>(i) % caches.size()];
                if (cache.find(i % 7) == nullptr) cache.insert(i % 7, std::make_shared<int>(i % 7));
            }
        });
    }
    int good = 0;
    for (int round = 0; round < 50; ++round) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);  // a lock that stays taken ends the child, not the test
            for (auto& cache : caches) {
                if (*cache->insert(1, std::make_shared<int>(1)) != 1) _exit(1);
            }
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    done = true;
    for (auto& thread : threads) thread.join();
    CHECK(good == 50);
}
