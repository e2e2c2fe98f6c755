// What tests of kernels share: source bytes, guarded destinations, and one check per kernel call.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <random>
#include <vector>

#include "kernels/contract.hpp"
#include "test.hpp"

namespace testing {

using dnnmove::KernelLoop;
using dnnmove::Kernels;
using dnnmove::KernelStores;

inline constexpr std::int64_t kRoom = 1 << 17;  // bytes
inline constexpr std::int64_t kMargin = 4096;

// A destination inside a guarded room, `phase` bytes into a line, and what it should hold.
class Room {
public:
    explicit Room(std::int64_t phase) : bytes_(kRoom), expected_(kRoom) { clear(phase); }
    // Nothing of what was written stays.
    void clear(std::int64_t phase) {
        std::memset(bytes_.data(), 0xAB, bytes_.size());
        std::memset(expected_.data(), 0xAB, expected_.size());
        const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
        start_ = kMargin + static_cast<std::int64_t>(-address & 63) + phase;
    }
    std::byte* dst() { return bytes_.data() + start_; }
    std::byte* expected() { return expected_.data() + start_; }
    std::int64_t start() const { return start_; }
    std::string difference() const { return testing::difference(bytes_, expected_); }

private:
    std::vector<std::byte> bytes_;
    std::vector<std::byte> expected_;
    std::int64_t start_ = 0;
};

// The kernels of the best instruction set; test cases call them and say what they should have written.
class KernelChecks {
public:
    KernelChecks() : kernels_(dnnmove::kernels_for(dnnmove::best_isa())) {
        std::mt19937 random(1);
        source_ = random_bytes(kRoom, random);
    }

protected:
    static std::vector<KernelStores> cached_stores() {
        return {{}, {.prefetch = true}, {.claim = true}, {.prefetch = true, .claim = true}};
    }
    static std::vector<KernelStores> all_stores() {
        std::vector<KernelStores> all = cached_stores();
        all.push_back({.nontemporal = true});
        all.push_back({.nontemporal = true, .prefetch = true});
        return all;
    }

    static void put(Room& room, std::int64_t to, const std::byte* from, std::int64_t bytes) {
        std::memcpy(room.expected() + to, from, static_cast<std::size_t>(bytes));
    }

    // The numbers of a call: what a failure prints of it, after its name.
    using Sizes = std::initializer_list<std::int64_t>;

    // It is used again: new rooms took longer than the kernels.
    Room& cleared_room(std::int64_t phase) {
        Room& room = rooms_[static_cast<std::size_t>(phase % 5)];
        room.clear(phase);
        return room;
    }
    void each_phase(const std::function<void(const std::byte*, Room&)>& call, const char* name, Sizes sizes) {
        for (const std::int64_t phase : {0, 1, 16, 63}) {
            Room& room = cleared_room(phase);
            call(source_.data() + kMargin + phase / 3, room);
            INFO("destination ", phase, " bytes into a line, source ", kMargin + phase / 3, " into its room");
            count(room, name, sizes);
        }
    }
    void count(const Room& room, const char* name, Sizes sizes) {
        kernels_.fence();
        ++calls_;
        INFO(name, " of ", dnnmove::to_string(dnnmove::Dims(sizes)), ", call ", calls_, "; byte 0 of the destination is byte ",
             room.start(), " of its room");
        CHECK(room.difference() == "");
    }

    const Kernels& kernels_;
    Bytes source_;

private:
    std::vector<Room> rooms_ = std::vector<Room>(5, Room(0));
    std::int64_t calls_ = 0;
};

}  // namespace testing
