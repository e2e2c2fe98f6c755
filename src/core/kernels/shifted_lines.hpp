// Writes vectors of a line that follow each other in memory, from a place inside a line on: each line is stored once, of two
// vectors, for vectors of a line.
//
//   vectors      aaaaaaaa|bbbbbbbb|cccccccc
//   lines   ..aaaaaa|aabbbbbb|bbcccccc|cc......
#pragma once

#include <immintrin.h>

#include "kernels/contract.hpp"
#include "kernels/rows.hpp"

namespace dnnmove {
namespace {

class ShiftedLines {
public:
    explicit ShiftedLines(std::byte* to) : phase_(-to_line(to) & (kLine - 1)), line_(to - phase_) {
        alignas(kLine) std::int8_t places[kLine];
        for (int k = 0; k < kLine; ++k) places[k] = static_cast<std::int8_t>(kLine - phase_ + k);
        index_ = _mm512_load_si512(places);
    }

    // Appends a vector, which leaves past the caches.
    void put(__m512i vector) {
        const __m512i line = _mm512_permutex2var_epi8(before_, index_, vector);
        if (first_) {
            _mm512_mask_storeu_epi8(line_, ~0ULL << phase_, line);
            first_ = false;
        } else {
            _mm512_stream_si512(reinterpret_cast<__m512i*>(line_), line);
        }
        before_ = vector;
        line_ += kLine;
    }

    // Stores what the last vector has in a line of its own.
    void finish() const {
        if (first_) return;
        _mm512_mask_storeu_epi8(line_, (1ULL << phase_) - 1, _mm512_permutex2var_epi8(before_, index_, before_));
    }

private:
    std::int64_t phase_;  // bytes of the first line that belong to others
    std::byte* line_;
    __m512i index_;
    __m512i before_{};
    bool first_ = true;
};

}  // namespace
}  // namespace dnnmove
