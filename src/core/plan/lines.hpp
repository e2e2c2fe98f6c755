// Lines and pages of memory: where in one an address lies, and how what is made in pieces leaves by whole ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/contract.hpp"

namespace dnnmove {

// Past the caches the two partial lines of a run are worth it, from so many bytes on: where the kernel makes it of elements,
// and where it is copied as it is.
inline constexpr std::int64_t kLeastStreamedRun = 1024;
inline constexpr std::int64_t kLeastStreamedRow = 192;

// Bytes of a page of memory. Large arrays begin at the same place of one.
inline constexpr std::int64_t kPage = 4096;

// Bytes from the begin of its line to `address`.
inline std::int64_t into_line(const std::byte* address) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) & (kLine - 1));
}

// Counts lines by the set of a first-level cache that they lie in: one of 64 sets, as all have, by the place of a line in its
// page.
class LinesInSets {
public:
    // Adds the line at this offset, and the one behind it where what is there is not aligned. Returns how many lie in one set
    // with them. (Unsigned: of a result that no memory has room for only the plan is asked, and offsets may wrap around.)
    std::int64_t add(std::uint64_t offset, bool aligned = true) {
        const std::uint64_t line = offset / kLine;
        const std::int64_t lines = ++lines_[line % kSets];
        return aligned ? lines : std::max(lines, ++lines_[(line + 1) % kSets]);
    }

private:
    static constexpr std::uint64_t kSets = kPage / kLine;
    std::int64_t lines_[kSets] = {};
};

// How many of the lines that `rows` rows with this pitch have at one place, a line of each or, where rows are not aligned, two,
// lie in the same set.
inline std::int64_t lines_in_one_set(std::int64_t pitch, std::int64_t rows, bool aligned) {
    LinesInSets sets;
    std::int64_t most = 0;
    std::uint64_t offset = 0;
    for (std::int64_t row = 0; row < rows; ++row, offset += static_cast<std::uint64_t>(pitch)) {
        most = std::max(most, sets.add(offset, aligned));
    }
    return most;
}

// Collects bytes that follow each other in the destination; whole lines leave past the caches, each stored once.
//
//   units   aaaaaaaaaaaaa|bbbbbbbbbbbbb|ccccccccccccc
//   lines   aaaaaaaa|aaaaabbb|bbbbbbbb|bbcccccc|ccccc
//
// The bytes of the last, partial line wait here for those that follow. Lines match: what waits lies as far inside one as in
// the destination. At most `room` bytes may wait and be made at a time. (Many rows side by side: plan/carried_lines.hpp.)
template <std::int64_t room>
class LineStage {
public:
    explicit LineStage(const Kernels& kernels) : kernels_(kernels) {}

    // Where the bytes of `dst` and on are to be made. What waits and does not go on there leaves first.
    std::byte* place(std::byte* dst) noexcept {
        if (dst != to_ + filled_) {
            finish();
            to_ = dst;
        }
        return bytes_ + into_line(to_) + filled_;
    }
    void add(std::int64_t bytes) noexcept { filled_ += bytes; }
    std::int64_t filled() const noexcept { return filled_; }
    // send(from, to, bytes) moves what waits, up to the last whole line.
    template <class Send>
    void send_lines(const Send& send) noexcept {
        const std::byte* const from = bytes_ + into_line(to_);
        const std::int64_t rest = into_line(to_ + filled_);
        const std::int64_t whole = filled_ - rest;
        send(from, to_, whole);
        std::memcpy(bytes_, from + whole, static_cast<std::size_t>(rest));
        to_ += whole;
        filled_ = rest;
    }
    // What waits leaves.
    void finish() noexcept {
        if (filled_ != 0) kernels_.stream(bytes_ + into_line(to_), to_, filled_);
        filled_ = 0;
    }

private:
    const Kernels& kernels_;
    std::byte* to_ = nullptr;  // where the first byte that waits goes
    std::int64_t filled_ = 0;  // bytes that wait
    alignas(kLine) std::byte bytes_[room + 2 * kLine];
};

}  // namespace dnnmove
