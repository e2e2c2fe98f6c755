// The walk over a plan's kernel calls: loops around the kernel, and where in them a call is.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "plan/strategy.hpp"

namespace dnnmove {

// A loop around the kernel calls. `role` says whose tiles it walks.
struct OuterLoop {
    enum class Role { plain, tile_a, tile_b, along_rows };
    std::int64_t extent;
    std::int64_t src_step;  // bytes
    std::int64_t dst_step;
    std::shared_ptr<const OffsetTable> table;
    Role role = Role::plain;
};

struct Walk {
    std::vector<OuterLoop> loops;  // outermost first
    std::size_t rereading = 0;     // how many of the innermost of them read the same lines again
    std::int64_t block_units = 1;  // units that read the same block of the source, and belong together
    std::int64_t row_units = 1;    // so many units, one after the other, write the same rows of the destination
    // Steps of the innermost loop, of which threads had better take a band each, at every step of the loops around it; 1: none.
    // `banded_steps` of those around write the same rows of the destination; where the others are many, threads share these.
    std::int64_t band_units = 1;
    std::int64_t banded_steps = 1;
    std::int64_t src_offset = 0;  // bytes
    std::int64_t dst_offset = 0;
    std::shared_ptr<const SourceBlocks> blocks = nullptr;  // that a staged walk asks for
    std::size_t along_rows = 0;  // the loop whose steps make them

    std::int64_t units() const {
        std::int64_t units = 1;
        for (const OuterLoop& loop : loops) units *= loop.extent;
        return units;
    }
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
inline std::int64_t bands_of(std::int64_t units, std::int64_t band_units, std::int64_t banded_steps, std::int64_t shares) {
    // Of a band: the lines at its edges are read twice. (Zen 5, AVX2, two threads that share a cache, against no bands: 1000x500
    // elements of 20 bytes with bands of three tiles 0.82 and 0.94 times as fast, of five 0.96 and 0.98; 552x112 of 12 bytes 0.94 and
    // 0.96, 0.99 and 1.01. Smaller rows gain by both: 200x200 of 12 bytes 1.37 and 1.39.)
    constexpr std::int64_t kLeastUnits = 5;
    if (2 * (units / (band_units * banded_steps)) > shares) return 1;
    std::int64_t bands = std::min(shares, band_units / kLeastUnits);
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

// Around the tiles of a scheduled strategy and the loops that it does not take, in the order that it wants.
Walk make_walk(const Problem& problem, const Strategy& strategy, const Schedule& schedule);

// The position of one unit in the loops of a walk, as an odometer.
class LoopCounter {
public:
    // Loops have two steps at least, and together fewer than 2^63.
    static constexpr std::size_t kMaxLoops = 256;

    // Position 0, without a division.
    explicit LoopCounter(const Walk& walk) : walk_(walk), src_(walk.src_offset), dst_(walk.dst_offset) {
        for (std::size_t k = 0; k < walk.loops.size(); ++k) {
            at_[k] = 0;
            if (walk.loops[k].table) move(k, 0, 1);
        }
    }
    LoopCounter(const Walk& walk, std::int64_t unit) : walk_(walk), src_(walk.src_offset), dst_(walk.dst_offset) {
        for (std::size_t k = walk.loops.size(); k-- > 0;) {
            at_[k] = unit % walk.loops[k].extent;
            unit /= walk.loops[k].extent;
            move(k, at_[k], 1);
        }
    }

    void next() {
        for (std::size_t k = walk_.loops.size(); k-- > 0;) {
            const OuterLoop& loop = walk_.loops[k];
            if (!loop.table && at_[k] + 1 < loop.extent) {
                ++at_[k];
                src_ += loop.src_step;
                dst_ += loop.dst_step;
                step_tile(loop, 1);
                return;
            }
            move(k, at_[k], -1);
            at_[k] = at_[k] + 1 < loop.extent ? at_[k] + 1 : 0;
            move(k, at_[k], 1);
            if (at_[k] != 0) return;
        }
    }

    std::int64_t dst() const { return dst_; }
    // Is this the first unit of a block? (Of a walk that has blocks.)
    bool starts_block() const {
        bool first = at_[walk_.along_rows] % walk_.blocks->steps == 0;
        for (std::size_t k = walk_.along_rows + 1; first && k < walk_.loops.size(); ++k) first = at_[k] == 0;
        return first;
    }
    // How far the next block is, from the first unit of one. After the last block along the rows comes the first one of the
    // loop around; 0 where there is none.
    std::int64_t to_next_block() const {
        const OuterLoop& along = walk_.loops[walk_.along_rows];
        const std::int64_t at = at_[walk_.along_rows];
        if (at + walk_.blocks->steps < along.extent) return walk_.blocks->steps * along.src_step;
        return walk_.along_rows == 0 ? 0 : walk_.loops[walk_.along_rows - 1].src_step - at * along.src_step;
    }
    Unit unit() const {
        bool fresh = true;
        for (std::size_t k = walk_.loops.size() - walk_.rereading; k < walk_.loops.size(); ++k) fresh = fresh && at_[k] == 0;
        return {src_, a_tile_, b_tile_, fresh};
    }

private:
    void step_tile(const OuterLoop& loop, std::int64_t tiles) {
        if (loop.role == OuterLoop::Role::tile_a) a_tile_ += tiles;
        if (loop.role == OuterLoop::Role::tile_b) b_tile_ += tiles;
    }
    void move(std::size_t k, std::int64_t position, std::int64_t sign) {
        const OuterLoop& loop = walk_.loops[k];
        const auto index = static_cast<std::size_t>(position);
        src_ += sign * (loop.table ? loop.table->src[index] : position * loop.src_step);
        dst_ += sign * (loop.table ? loop.table->dst[index] : position * loop.dst_step);
        step_tile(loop, sign * position);
    }

    const Walk& walk_;
    std::int64_t src_;
    std::int64_t dst_;
    std::int64_t a_tile_ = 0;
    std::int64_t b_tile_ = 0;
    std::int64_t at_[kMaxLoops];
};

}  // namespace dnnmove
