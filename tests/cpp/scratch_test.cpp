// Room for large stages: one for each that is in use, kept by its thread, and there for calls behind the thread's end, too.
#include "runtime/scratch.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "test.hpp"

using namespace dnnmove;

namespace {

struct Stage {
    alignas(64) std::byte bytes[160 * 1024];
};

struct Counted {
    explicit Counted(int value) : first(value) {}
    int first;
};

bool holds(std::byte value) {
    bool right = false;
    with_stage<Stage>([&](Stage& stage) {
        std::memset(stage.bytes, static_cast<int>(value), sizeof stage.bytes);
        right = stage.bytes[0] == value && stage.bytes[sizeof stage.bytes - 1] == value;
    });
    return right;
}

// Behind the end of the first thread: the sanitizers see whether the room is still there.
void use_at_exit() {
    if (!holds(std::byte{7})) _exit(1);
}

}  // namespace

TEST_CASE("stages within stages have rooms of their own") {
    with_stage<Stage>([](Stage& outer) {
        outer.bytes[5] = std::byte{1};
        with_stage<Stage>([&](Stage& inner) {
            inner.bytes[5] = std::byte{2};
            CHECK(&inner != &outer);
        });
        CHECK(outer.bytes[5] == std::byte{1});
    });
    with_stage<Counted>([](Counted& stage) { CHECK(stage.first == 3); }, 3);
}

TEST_CASE("a thread keeps one room for its next stage") {
    std::uintptr_t first = 0;
    std::uintptr_t second = 0;
    std::thread([&] {
        with_stage<Stage>([&](Stage& stage) { first = reinterpret_cast<std::uintptr_t>(&stage); });
        with_stage<Stage>([&](Stage& stage) { second = reinterpret_cast<std::uintptr_t>(&stage); });
    }).join();
    CHECK(first != 0);
    CHECK(first == second);
}

TEST_CASE("exit handlers may still move data") {
    CHECK(std::atexit(use_at_exit) == 0);
    CHECK(holds(std::byte{9}));
}
