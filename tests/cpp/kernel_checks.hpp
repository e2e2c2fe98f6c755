// What tests of kernels share: source bytes, guarded destinations, and the count of calls that went wrong.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "kernels/contract.hpp"

namespace check {

using dnnmove::KernelLoop;
using dnnmove::Kernels;
using dnnmove::KernelStores;

inline constexpr std::int64_t kRoom = 1 << 17;  // bytes
inline constexpr std::int64_t kMargin = 4096;

// A destination inside a guarded room, `phase` bytes into a line, and what it should hold.
class Room {
public:
    explicit Room(std::int64_t phase) : bytes_(kRoom, std::byte{0xAB}), expected_(bytes_) {
        const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
        start_ = kMargin + static_cast<std::int64_t>(-address & 63) + phase;
    }
    std::byte* dst() { return bytes_.data() + start_; }
    std::byte* expected() { return expected_.data() + start_; }
    bool same() const { return bytes_ == expected_; }

private:
    std::vector<std::byte> bytes_;
    std::vector<std::byte> expected_;
    std::int64_t start_;
};

// The kernels of the best instruction set; a derived class calls them and says what they should have written.
class KernelChecks {
public:
    KernelChecks() : kernels_(dnnmove::kernels_for(dnnmove::best_isa())), source_(kRoom) {
        std::mt19937 random(1);
        for (std::byte& byte : source_) byte = static_cast<std::byte>(random());
    }

    // The program's exit code.
    int report() const {
        std::printf("%lld kernel calls, %lld wrong\n", static_cast<long long>(calls_), static_cast<long long>(wrong_));
        return wrong_ == 0 && calls_ > 0 ? 0 : 1;
    }

protected:
    static std::vector<KernelStores> all_stores() { return {{false, false}, {false, true}, {true, false}, {true, true}}; }

    static void put(Room& room, std::int64_t to, const std::byte* from, std::int64_t bytes) {
        std::memcpy(room.expected() + to, from, static_cast<std::size_t>(bytes));
    }

    void each_phase(const std::function<void(const std::byte*, Room&)>& call, const char* name) {
        for (const std::int64_t phase : {0, 1, 16, 63}) {
            Room& room = rooms_[static_cast<std::size_t>(phase % 5)];
            room = Room(phase);
            call(source_.data() + kMargin + phase / 3, room);
            count(room, name);
        }
    }
    void count(const Room& room, const char* name) {
        kernels_.fence();
        ++calls_;
        if (!room.same()) fail(name);
    }
    void fail(const char* what) {
        ++wrong_;
        if (wrong_ < 20) std::printf("WRONG: %s, call %lld\n", what, static_cast<long long>(calls_));
    }

    const Kernels& kernels_;
    std::vector<std::byte> source_;

private:
    std::vector<Room> rooms_ = std::vector<Room>(5, Room(0));
    std::int64_t calls_ = 0;
    std::int64_t wrong_ = 0;
};

}  // namespace check
