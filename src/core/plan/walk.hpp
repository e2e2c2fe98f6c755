// The walk over a plan's kernel calls: loops around the kernel, and where in them a call is.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "plan/shares.hpp"
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
    Sharing sharing;               // one unit is a position in the loops
    std::int64_t src_offset = 0;  // bytes
    std::int64_t dst_offset = 0;
    std::shared_ptr<const SourceBlocks> blocks = nullptr;  // that a staged walk asks for
    std::size_t along_rows = 0;  // the loop whose steps make them
};

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
