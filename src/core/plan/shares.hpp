// How threads share the units of a walk: its kernel calls, or what else it does one after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace dnnmove {

// How many units there are, and which of them had better be one thread's.
struct Sharing {
    std::int64_t units = 1;
    std::int64_t block_units = 1;  // so many read the same block of the source: no share ends inside one
    std::int64_t row_units = 1;  // so many, one after the other, write the same rows of the destination
    // Steps of the innermost loop, of which threads had better take a band each, at every step of the loops around it; 1: none.
    // `banded_steps` of those around write the same rows of the destination; where the others are many, threads share these.
    std::int64_t band_units = 1;
    std::int64_t banded_steps = 1;
};

// What a thread runs at a time: a chunk, and of several walks a slice of it.
struct Part {
    std::int64_t chunk = 0;
    std::int64_t chunks = 1;
    std::int64_t threads = 1;  // that have as many of them each
    std::int64_t slice = 0;
    std::int64_t slices = 1;
};

// The first unit of a thread's part: one that begins rows, unless that would move a fifth of it.
inline std::int64_t begin_of_part(std::int64_t units, std::int64_t row_units, std::int64_t thread, std::int64_t threads) {
    const std::int64_t even = units * thread / threads;
    const std::int64_t rows = (even + row_units / 2) / row_units * row_units;
    return 5 * threads * std::abs(rows - even) <= units ? rows : even;
}

// The first unit of share `k` of `shares`, a multiple of `threads`: as many are a thread's part, one after the other. (Where
// they part among themselves costs nothing.)
inline std::int64_t begin_of_share(std::int64_t units, std::int64_t row_units, std::int64_t k, std::int64_t shares,
                                   std::int64_t threads) {
    const std::int64_t each = shares / threads;
    const std::int64_t first = begin_of_part(units, row_units, k / each, threads);
    if (k % each == 0) return first;
    return first + (begin_of_part(units, row_units, k / each + 1, threads) - first) * (k % each) / each;
}

// How many bands `shares` take: as many for each, of some units; 1: none.
inline std::int64_t bands_of(const Sharing& sharing, std::int64_t shares) {
    // Of a band: the lines at its edges are read twice. (Zen 5, AVX2, two threads that share a cache, against no bands: 1000x500
    // elements of 20 bytes with bands of three tiles 0.82 and 0.94 times as fast, of five 0.96 and 0.98; 552x112 of 12 bytes 0.94 and
    // 0.96, 0.99 and 1.01. Smaller rows gain by both: 200x200 of 12 bytes 1.37 and 1.39.)
    constexpr std::int64_t kLeastUnits = 5;
    if (2 * (sharing.units / (sharing.band_units * sharing.banded_steps)) > shares) return 1;
    std::int64_t bands = std::min(shares, sharing.band_units / kLeastUnits);
    while (bands > 1 && shares % bands != 0) --bands;
    return std::max<std::int64_t>(bands, 1);
}

// Calls run(begin, end) with the units of share `k` of `shares` of a walk of bands: its part of those that its band has of all
// steps of the loops around.
template <class Run>
void run_band(std::int64_t units, std::int64_t band_units, std::int64_t bands, std::int64_t k, std::int64_t shares,
              const Run& run) {
    const std::int64_t parts = shares / bands;
    const std::int64_t band = k / parts;
    const std::int64_t first = band_units * band / bands;
    const std::int64_t width = band_units * (band + 1) / bands - first;
    const std::int64_t all = units / band_units * width;
    const std::int64_t end = all * (k % parts + 1) / parts;
    for (std::int64_t unit = all * (k % parts) / parts; unit < end;) {
        const std::int64_t begin = unit / width * band_units + first + unit % width;
        const std::int64_t count = std::min(width - unit % width, end - unit);
        run(begin, begin + count);
        unit += count;
    }
}

// Calls run(begin, end) with the units of a part.
template <class Run>
void run_part(const Sharing& sharing, const Part& part, const Run& run) {
    const bool whole = part.slices == 1;
    const std::int64_t bands = whole ? bands_of(sharing, part.chunks) : 1;
    if (bands > 1) return run_band(sharing.units, sharing.band_units, bands, part.chunk, part.chunks, run);
    const std::int64_t together = sharing.block_units;
    const std::int64_t units = sharing.units / together;
    const std::int64_t of_rows = whole ? sharing.row_units : 1;  // (What has blocks has no such rows.)
    const std::int64_t begin = begin_of_share(units, of_rows, part.chunk, part.chunks, part.threads);
    const std::int64_t share = begin_of_share(units, of_rows, part.chunk + 1, part.chunks, part.threads) - begin;
    run((begin + share * part.slice / part.slices) * together, (begin + share * (part.slice + 1) / part.slices) * together);
}

}  // namespace dnnmove
