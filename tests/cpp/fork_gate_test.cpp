// A fork waits for the work that must not be cut in two by it.
#include "runtime/fork_gate.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "test.hpp"

using namespace dnnmove;

TEST_CASE("no child meets a lock that is held in such work") {
    // Another library's lock, with nothing of its own for forks.
    std::mutex foreign;
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int k = 0; k < 3; ++k) {
        threads.emplace_back([&] {
            while (!stop) {
                const HeldFork held;
                const std::lock_guard lock(foreign);
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            }
        });
    }
    int hung = 0;
    for (int round = 0; round < 100 && hung == 0; ++round) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(10);
            const HeldFork held;
            const std::lock_guard lock(foreign);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        hung += status != 0;
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
    CHECK(hung == 0);
}
