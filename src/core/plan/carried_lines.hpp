// Writes rows of the destination by whole lines, each stored once, past the caches.
//
//   blocks  aaaaaaaaaaaaa|bbbbbbbbbbbbb|ccccccccccccc   each brings a piece of every row
//   lines   aaaaaaaa|aaaaabbb|bbbbbbbb|bbcccccc|ccccc
//
// What a block leaves of a row's last line waits here until the next one brings the rest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "plan/lines.hpp"

namespace dnnmove {

class CarriedLines {
public:
    static constexpr std::int64_t kRows = 256;
    static constexpr std::int64_t kPieceBytes = 4096;

    // Where a piece may be made before it is put.
    std::byte* room() { return room_; }

    // Appends `bytes` bytes to row `row`, or begins it anew where it does not go on at `dst`.
    void put(std::int64_t row, const std::byte* src, std::byte* dst, std::int64_t bytes, const Kernels& kernels) noexcept {
        std::byte* const line = lines_[row];
        Row& state = rows_[row];
        const std::int64_t at = into_line(dst);
        if (state.end != dst) {
            finish(row, kernels);
            state.begin = at;
        }
        state.end = dst + bytes;
        if (at != 0) {
            const std::int64_t part = std::min(kLine - at, bytes);
            std::memcpy(line + at, src, static_cast<std::size_t>(part));
            if (at + part < kLine) return;
            store(line, dst - at, state.begin, kLine, kernels);
            src += part;
            dst += part;
            bytes -= part;
        }
        state.begin = 0;
        const std::int64_t whole = bytes & -kLine;
        if (whole != 0) kernels.stream(src, dst, whole);
        std::memcpy(line, src + whole, static_cast<std::size_t>(bytes - whole));
    }

    // Stores what waits.
    void finish(const Kernels& kernels) noexcept {
        for (std::int64_t row = 0; row < kRows; ++row) finish(row, kernels);
    }

private:
    struct Row {
        std::byte* end = nullptr;
        std::int64_t begin = 0;  // of what has not been stored yet, in the line of `end`
    };

    static void store(const std::byte* line, std::byte* dst, std::int64_t from, std::int64_t to,
                      const Kernels& kernels) noexcept {
        if (from == 0 && to == kLine) return kernels.stream(line, dst, kLine);
        std::memcpy(dst + from, line + from, static_cast<std::size_t>(to - from));
    }
    void finish(std::int64_t row, const Kernels& kernels) noexcept {
        const Row& state = rows_[row];
        const std::int64_t at = into_line(state.end);
        if (at > state.begin) store(lines_[row], state.end - at, state.begin, at, kernels);
    }

    alignas(kLine) std::byte room_[kPieceBytes];
    alignas(kLine) std::byte lines_[kRows][kLine];
    Row rows_[kRows];
};

}  // namespace dnnmove
