// An element or a row over and over, by string instructions: some processors write whole lines by them without reading
// those first. The same under every instruction set but for what is shorter.
#pragma once

#include "kernels/rows.hpp"

namespace dnnmove {
namespace {

// Of a run, at most so much is copied at a time: it stays in the second-level cache.
inline constexpr std::int64_t kRepeatedAtOnce = 128 * 1024;
// What is shorter is copied by vectors.
inline constexpr std::int64_t kLeastString = 4096;

inline void copy_string(const std::byte* src, std::byte* dst, std::int64_t bytes) {
#if defined(__x86_64__)
    asm volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(bytes) : : "memory");
#else
    std::memcpy(dst, src, static_cast<std::size_t>(bytes));
#endif
}

inline void store_string(std::uint64_t word, std::byte* dst, std::int64_t words) {
#if defined(__x86_64__)
    asm volatile("rep stosq" : "+D"(dst), "+c"(words) : "a"(word) : "memory");
#else
    for (std::int64_t k = 0; k < words; ++k) std::memcpy(dst + k * 8, &word, 8);
#endif
}

// `bytes` divides a word.
inline void repeat_word(const std::byte* src, std::int64_t bytes, std::byte* dst, std::int64_t total) {
    std::byte pattern[16];
    for (std::int64_t k = 0; k < 16; ++k) pattern[k] = src[k % bytes];
    const std::int64_t head = to_line(dst);
    for (std::int64_t k = 0; k < head; k += 8) move<8>(pattern, dst + k);
    std::uint64_t word = 0;
    std::memcpy(&word, pattern + head % bytes, sizeof word);
    store_string(word, dst + head, (total - head) / 8);
    move<8>(pattern, dst + total - 8);
}

template <class Simd>
void repeat(const std::byte* src, std::int64_t bytes, std::byte* dst, std::int64_t total) noexcept {
    if (8 % bytes == 0) return repeat_word(src, bytes, dst, total);
    const auto copy = [](const std::byte* from, std::byte* to, std::int64_t count) {
        if (count < kLeastString) {
            move_row<Simd>(from, to, count, 0);
        } else {
            copy_string(from, to, count);
        }
    };
    copy(src, dst, bytes);
    const std::int64_t most = bytes < kRepeatedAtOnce ? kRepeatedAtOnce / bytes * bytes : bytes;
    std::int64_t now = bytes;
    for (std::int64_t done = bytes; done < total; done += now) {
        now = done < most ? done : most;  // twice as much each time
        if (now > total - done) now = total - done;
        copy(dst, dst + done, now);
    }
}

}  // namespace
}  // namespace dnnmove
