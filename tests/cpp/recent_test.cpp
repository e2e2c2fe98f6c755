// The small caches: what they keep, with many threads, and in a child of fork.
#include "runtime/recent.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "test.hpp"

using dnnmove::Recent;

TEST_CASE("the least recently used value goes first") {
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

TEST_CASE("the first of two values for a key stays") {
    Recent<int, int> cache(2);
    const auto first = cache.insert(1, std::make_shared<int>(10));
    CHECK(cache.insert(1, std::make_shared<int>(11)) == first);
    CHECK(cache.find(1) == first);
}

TEST_CASE("what is dropped lives while it is held") {
    Recent<int, int> cache(1);
    const auto held = cache.insert(1, std::make_shared<int>(10));
    cache.insert(2, std::make_shared<int>(20));
    CHECK(*held == 10);
    CHECK(held.use_count() == 1);
}

TEST_CASE("a fork finds no lock taken") {
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
