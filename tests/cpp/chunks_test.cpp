// The chunks of a call: every one is given out once, its own ones first, the others' when those are done.
#include "runtime/chunks.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/scheduling.hpp"
#include "test.hpp"

using namespace dnnmove;

namespace {

struct Dealt {
    Dealt(std::uint32_t count, std::size_t participants, bool brief, std::size_t late = 0)
        : chunks(count, brief), own(participants + late) {
        for (ChunkRange& range : own) ranges.push_back(&range);
        chunks.deal(ranges.data(), participants, participants + late);
    }
    // What `participant` gets until nothing is left.
    std::vector<std::uint32_t> rest_for(std::size_t participant) {
        std::vector<std::uint32_t> got;
        for (std::uint32_t chunk = 0; chunks.take(participant, chunk);) got.push_back(chunk);
        return got;
    }

    Chunks chunks;
    std::vector<ChunkRange> own;
    std::vector<ChunkRange*> ranges;
};

}  // namespace

TEST_CASE("one participant gets all chunks, its own first and in order") {
    for (const bool brief : {false, true}) {
        for (const std::uint32_t count : {4U, 5U, 64U}) {
            for (const std::size_t participants : {1, 2, 3, 4}) {
                for (std::size_t self = 0; self < participants; ++self) {
                    Dealt dealt(count, participants, brief);
                    CHECK(dealt.chunks.left() == count);
                    const std::uint32_t mine = dealt.own[self].left();
                    CHECK(mine >= count / participants);
                    std::vector<std::uint32_t> got = dealt.rest_for(self);
                    REQUIRE(got.size() == count);
                    for (std::uint32_t k = 0; k < mine; ++k) CHECK(got[k] == got[0] + k);
                    std::sort(got.begin(), got.end());
                    for (std::uint32_t k = 0; k < count; ++k) CHECK(got[k] == k);
                    CHECK(dealt.chunks.left() == 0);
                }
            }
        }
    }
}

TEST_CASE("who comes later has no chunks of its own, and helps those that have") {
    for (const bool brief : {false, true}) {
        for (const std::size_t participants : {1, 2, 3}) {
            constexpr std::uint32_t kCount = 12;
            Dealt dealt(kCount, participants, brief, 2);
            CHECK(dealt.chunks.left() == kCount);
            CHECK(dealt.own[participants].left() == 0);
            CHECK(dealt.own[participants + 1].left() == 0);
            std::uint32_t chunk = 0;
            REQUIRE(dealt.chunks.take(participants + 1, chunk));
            CHECK(chunk % (kCount / participants) == kCount / participants - 1);  // the last of somebody's
            std::vector<std::uint32_t> got = dealt.rest_for(participants);
            got.push_back(chunk);
            std::sort(got.begin(), got.end());
            REQUIRE(got.size() == kCount);
            for (std::uint32_t k = 0; k < kCount; ++k) CHECK(got[k] == k);
        }
    }
}

// It may have lost its processor: nobody waits for it.
TEST_CASE("the last chunk of a participant that stands still is done by another") {
    for (const bool brief : {false, true}) {
        for (const std::uint32_t count : {4U, 5U, 64U}) {
            Dealt dealt(count, 2, brief);
            std::uint32_t first = 0;
            dealt.own[1].begin();
            REQUIRE(dealt.chunks.take(1, first));
            CHECK(first == count / 2);
            const std::vector<std::uint32_t> others = dealt.rest_for(0);
            CHECK(others.size() == count - 1);
            CHECK(std::find(others.begin(), others.end(), first) == others.end());
        }
    }
}

TEST_CASE("in a brief call the last chunk of a participant at work stays its own for a while") {
    for (const bool works : {false, true}) {
        Dealt dealt(4, 2, true);
        if (works) dealt.own[1].begin();
        std::uint32_t chunk = 0;
        for (int k = 0; k < 3; ++k) REQUIRE(dealt.chunks.take(0, chunk));
        CHECK(dealt.own[1].left() == 1);
        const std::int64_t before = now_ns();
        REQUIRE(dealt.chunks.take(0, chunk));
        CHECK(chunk == 2);
        if (works) CHECK(now_ns() - before >= Chunks::kSparing);
    }
}
