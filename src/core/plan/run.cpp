// Executes a plan: walks the loops around the kernel and calls it.
#include <algorithm>
#include <cstring>

#include "plan/plan.hpp"
#include "runtime/heap_bytes.hpp"

namespace dnnmove {

// The position of one unit in the outer loops, as an odometer.
class LoopCounter {
public:
    // Deep nests come from user shapes of at most 64 dimensions, each cut into a few digits.
    static constexpr std::size_t kMaxLoops = 256;

    // Position 0, without a division.
    explicit LoopCounter(const NestPlan& plan) : loops_(plan.outer_), src_(plan.src_offset_), dst_(plan.dst_offset_) {
        for (std::size_t k = 0; k < loops_.size(); ++k) {
            at_[k] = 0;
            if (loops_[k].table) move(k, 0, 1);
        }
    }
    LoopCounter(const NestPlan& plan, std::int64_t unit)
        : loops_(plan.outer_), src_(plan.src_offset_), dst_(plan.dst_offset_) {
        for (std::size_t k = loops_.size(); k-- > 0;) {
            at_[k] = unit % loops_[k].extent;
            unit /= loops_[k].extent;
            move(k, at_[k], 1);
        }
    }

    void next() {
        for (std::size_t k = loops_.size(); k-- > 0;) {
            const OuterLoop& loop = loops_[k];
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
    NestPlan::Unit unit(std::size_t rereading) const {
        bool fresh = true;
        for (std::size_t k = loops_.size() - rereading; k < loops_.size(); ++k) fresh = fresh && at_[k] == 0;
        return {src_, a_tile_, b_tile_, fresh};
    }

private:
    void step_tile(const OuterLoop& loop, std::int64_t tiles) {
        if (loop.role == OuterLoop::Role::tile_a) a_tile_ += tiles;
        if (loop.role == OuterLoop::Role::tile_b) b_tile_ += tiles;
    }
    void move(std::size_t k, std::int64_t position, std::int64_t sign) {
        const OuterLoop& loop = loops_[k];
        const auto index = static_cast<std::size_t>(position);
        src_ += sign * (loop.table ? loop.table->src[index] : position * loop.src_step);
        dst_ += sign * (loop.table ? loop.table->dst[index] : position * loop.dst_step);
        step_tile(loop, sign * position);
    }

    const std::vector<OuterLoop>& loops_;
    std::int64_t src_;
    std::int64_t dst_;
    std::int64_t a_tile_ = 0;
    std::int64_t b_tile_ = 0;
    std::int64_t at_[kMaxLoops];
};

namespace {

// Prefetch distances along the rows of a transpose's source. From memory: less far of many rows at once, as
// all that was asked for waits in the second-level cache. From the last-level cache: the end of the next
// tile, because the line of its start may have been read with this one.
constexpr std::int64_t kAheadBytes = 512;
constexpr std::int64_t kManyAheadBytes = 3 * 64 - 1;
constexpr std::int64_t kRowsAheadBytes = 1024;  // of elements that are rows
constexpr std::int64_t kCachedAheadBytes = 2 * 64 - 1;

std::int64_t steps_into_line(const std::byte* p, std::int64_t itemsize) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p) & 63) / itemsize;
}

// Source rows behind a tile that its last line, or a prefetch, may reach: as many as a line has bytes.
constexpr std::int64_t kMostExtraRows = 64;

int log2_of(std::int64_t width) { return __builtin_ctzll(static_cast<unsigned long long>(width)); }

}  // namespace

NestPlan::NestPlan(const Nest& nest, const PlanContext& context)
    : kernels_(context.kernels), near_(context.near), src_offset_(nest.src_offset), dst_offset_(nest.dst_offset) {
    bytes_ = nest.itemsize;
    for (const Loop& loop : nest.loops) bytes_ *= loop.extent;
    std::vector<Loop> loops;
    const auto choose = [&](const PlanContext& as) {
        loops = nest.loops;
        leaf_ = choose_leaf(loops, nest.itemsize, as);
        stores_ = choose_tiles(leaf_, loops, as);
    };
    choose(context);
    if (leaf_.kind == KernelKind::gather && stores_ == StoreMode::staged) {
        // What cannot be streamed by itself is faster stored ordinarily, and best as inside the caches.
        PlanContext inside = context;
        inside.beyond_cache = false;
        choose(inside);
    }
    if (leaf_.b_chained && !leaf_.transposes()) {
        const auto period = static_cast<std::size_t>(leaf_.b_period);
        for (std::size_t j = period; j < static_cast<std::size_t>(leaf_.b.tile); ++j) {
            leaf_.src_rows.push_back(leaf_.src_rows[j - period] + leaf_.b_period_stride);
        }
    }
    outer_ = order_loops(leaf_, loops, stores_, rereading_);
    src_offset_ += leaf_.src_shift;
    dst_offset_ += leaf_.dst_shift;
    if (leaf_.kind == KernelKind::transpose_cells) leaf_.block.indices = cell_permutes(leaf_.itemsize, leaf_.a.src_stride);
    // Rows of one tile where no chain gave the rows of the whole dimension.
    if (leaf_.transposes()) {
        if (!leaf_.a_chained) {
            for (std::int64_t i = 0; i < leaf_.a.tile; ++i) leaf_.dst_rows.push_back(i * leaf_.a.dst_stride);
        }
        if (!leaf_.b_chained) {
            const std::int64_t extra = leaf_.kind == KernelKind::transpose ? 0 : kMostExtraRows;
            for (std::int64_t j = 0; j < leaf_.b.tile + extra; ++j) leaf_.src_rows.push_back(j * leaf_.b.src_stride);
        } else {
            // A short last tile's rows are prefetched in as many steps as a whole tile's.
            leaf_.src_rows.resize(leaf_.src_rows.size() + static_cast<std::size_t>(leaf_.b.tile + kMostExtraRows));
        }
    }
    for (const OuterLoop& loop : outer_) units_ *= loop.extent;
}

std::size_t NestPlan::memory() const {
    const GatherTable& block = leaf_.block;
    return sizeof *this + heap_bytes(leaf_.src_rows) + heap_bytes(leaf_.dst_rows) + heap_bytes(outer_) +
           heap_bytes(block.vectors) + heap_bytes(block.steps) + heap_bytes(block.indices) + heap_bytes(block.lines);
}

bool NestPlan::complete() const {
    return std::none_of(outer_.begin(), outer_.end(), [](const OuterLoop& loop) { return loop.table && loop.table->pads(); });
}

void NestPlan::run_leaf(const std::byte* base, std::byte* dst, const Unit& unit, const Unit& next) const noexcept {
    const Leaf& leaf = leaf_;
    const std::byte* src = base + unit.src;
    const std::int64_t a_steps = leaf.a.steps(unit.a_tile);
    std::int64_t b_steps = leaf.b.steps(unit.b_tile);
    const KernelLoop a{a_steps, leaf.a.src_stride, leaf.a.dst_stride};
    // A single step has no stride: what a kernel prefetches behind it is the next unit.
    const std::int64_t b_stride = b_steps == 1 ? next.src - unit.src : leaf.b.src_stride;
    const KernelLoop b{b_steps, b_stride, leaf.b.dst_stride,
                       leaf.b_chained ? leaf.src_rows.data() : nullptr};
    const KernelStores stores{stores_ == StoreMode::nontemporal, stores_ != StoreMode::cached && unit.fresh};
    switch (leaf.kind) {
        case KernelKind::rows: kernels_->copy_rows(src, dst, a_steps, b, stores); return;
        case KernelKind::runs:
            if (leaf.turned) {
                kernels_->turn_runs(src, dst, leaf.itemsize, a, b, {stores.nontemporal, !near_});
            } else {
                kernels_->copy_runs(src, dst, leaf.itemsize, a, b, stores);
            }
            return;
        case KernelKind::fill: kernels_->fill(src, dst, leaf.itemsize, a, b, stores); return;
        case KernelKind::gather: kernels_->gather(leaf.block.block(), src, dst, a, b, stores); return;
        case KernelKind::weave:
        case KernelKind::deal:
            kernels_->weave(src, dst, static_cast<int>(leaf.itemsize), leaf.streams, leaf.kind == KernelKind::deal,
                            leaf.block.indices.data(), a_steps * leaf.itemsize, leaf.stream_pitch, b, stores);
            return;
        case KernelKind::transpose_cells:
        case KernelKind::transpose_rows: {
            const std::int64_t left = leaf.b.extent - unit.b_tile * leaf.b.tile;
            const std::int64_t readable = stores.nontemporal ? std::min(left, leaf.b.tile + extra_rows(leaf.itemsize)) : b_steps;
            // The row tables of a chain hold all rows, others a tile's.
            const auto rows_of = [&](std::int64_t b_tile) { return leaf.src_rows.data() + (leaf.b_chained ? b_tile * leaf.b.tile : 0); };
            const bool of_rows = leaf.kind == KernelKind::transpose_rows;
            const std::int64_t distance = of_rows ? kRowsAheadBytes : kAheadBytes;
            const bool along = a_steps * leaf.a.src_stride > 2 * distance;
            const RowsAhead ahead = along ? RowsAhead{src + distance, rows_of(unit.b_tile)}
                                          : RowsAhead{base + next.src, rows_of(next.b_tile)};
            const std::int64_t* dst_rows = leaf.dst_rows.data() + (leaf.a_chained ? unit.a_tile * leaf.a.tile : 0);
            if (of_rows) {
                kernels_->transpose_rows(src, rows_of(unit.b_tile), dst, dst_rows, a_steps, readable, b_steps, unit.b_tile == 0,
                                         leaf.itemsize, {stores.nontemporal, !near_}, ahead);
                return;
            }
            kernels_->transpose_cells(src, rows_of(unit.b_tile), dst, dst_rows, a_steps, readable, b_steps,
                                      unit.b_tile == 0, {leaf.itemsize, leaf.a.src_stride, leaf.block.indices.data()}, {stores.nontemporal, !near_}, ahead);
            return;
        }
        case KernelKind::transpose:
        case KernelKind::transpose_lines: {
            // Where shifted tiles start, and how far that is from where the loops have put them.
            const std::int64_t line_steps = 64 / leaf.itemsize;
            const std::byte* row = dst - unit.b_tile * leaf.b.tile * leaf.itemsize;
            const std::int64_t into_line = leaf.shift_to_lines ? steps_into_line(row, leaf.itemsize) : 0;
            const std::int64_t shift = into_line == 0 ? 0 : leaf.b.tile - (line_steps - into_line);
            const auto start_of = [&](std::int64_t b_tile) { return std::max<std::int64_t>(0, b_tile * leaf.b.tile - shift); };
            const auto moved = [&](std::int64_t b_tile) { return start_of(b_tile) - b_tile * leaf.b.tile; };
            const std::int64_t b_start = start_of(unit.b_tile);
            b_steps = std::min((unit.b_tile + 1) * leaf.b.tile - shift, leaf.b.extent) - b_start;
            if (b_steps <= 0) return;
            src += moved(unit.b_tile) * leaf.b.src_stride;
            dst += moved(unit.b_tile) * leaf.itemsize;
            const auto rows_of = [&](std::int64_t b_tile) {
                return leaf.src_rows.data() + (leaf.b_chained ? std::min(start_of(b_tile), leaf.b.extent) : 0);
            };
            const std::int64_t* src_rows = rows_of(unit.b_tile);
            const std::int64_t* dst_rows = leaf.dst_rows.data() + (leaf.a_chained ? unit.a_tile * leaf.a.tile : 0);
            const int width = log2_of(leaf.itemsize);
            // Long source rows are prefetched along; of short ones the next unit's.
            const bool cached = stores_ == StoreMode::cached;
            const std::int64_t far = leaf.b.tile > kManyRows ? kManyAheadBytes : kAheadBytes;
            const std::int64_t distance = cached ? kCachedAheadBytes : far;
            const bool continued = next.a_tile == unit.a_tile + 1 && next.b_tile == unit.b_tile;
            const bool along = continued || a_steps * leaf.itemsize > 2 * (cached ? kCachedAheadBytes : kAheadBytes);
            const RowsAhead ahead = along ? RowsAhead{src + distance, src_rows}
                                          : RowsAhead{base + next.src + moved(next.b_tile) * leaf.b.src_stride, rows_of(next.b_tile)};
            if (leaf.kind == KernelKind::transpose) {
                // What lies before a row's first line must not be streamed: a vector there is not aligned.
                const bool prefetch = !near_ && leaf.b_group == 0;
                const KernelStores of_tile{stores.nontemporal && (into_line == 0 || b_start != 0), prefetch};
                const std::int64_t group = leaf.b_group == 0 ? b_steps : leaf.b_group;
                for (std::int64_t j = 0; j < b_steps;) {
                    const std::int64_t rows = b_steps - j < 2 * group ? b_steps - j : group;  // what is left goes with the last
                    kernels_->transpose[width](src, src_rows + j, dst + j * leaf.itemsize, dst_rows, a_steps, rows, of_tile,
                                               {ahead.src, ahead.rows + j});
                    j += rows;
                }
                return;
            }
            const std::int64_t left = leaf.b.extent - unit.b_tile * leaf.b.tile;
            const std::int64_t readable = std::min(left, leaf.b.tile + extra_rows(leaf.itemsize));
            kernels_->transpose_lines[width](src, src_rows, dst, dst_rows, a_steps, readable, b_steps,
                                             unit.b_tile == 0, stores, ahead);
            return;
        }
    }
}

void NestPlan::run(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) const noexcept {
    if (begin >= end) return;
    if (stores_ == StoreMode::staged) {
        run_staged(src, dst, begin, end);
        return;
    }
    LoopCounter at = begin == 0 ? LoopCounter(*this) : LoopCounter(*this, begin);
    for (std::int64_t k = begin; k < end; ++k) {
        const Unit unit = at.unit(rereading_);
        std::byte* to = dst + at.dst();
        if (k + 1 < end) at.next();
        run_leaf(src, to, unit, at.unit(rereading_));
    }
}

// Streams a unit out of the stage, and meanwhile asks for the next one's lines: as much is read as is written. A row of the
// source may end inside a line, whose begin was asked for with the unit before it.
void NestPlan::stream_asking(const std::byte* stage, std::byte* to, std::int64_t bytes, const std::byte* next) const noexcept {
    constexpr std::int64_t kLine = 64;
    const std::int64_t run = leaf_.a.tile * leaf_.itemsize;
    for (std::size_t j = 0; bytes > 0; ++j) {
        if (j < static_cast<std::size_t>(leaf_.b.extent)) {
            for (std::int64_t k = kLine - 1; k < run + kLine - 1; k += kLine) __builtin_prefetch(next + leaf_.src_rows[j] + k, 0, 2);
        }
        const std::int64_t now = std::min(run, bytes);
        kernels_->stream(stage, to, now);
        stage += now;
        to += now;
        bytes -= now;
    }
}

// Units that follow each other in the destination collect in the stage; whole lines leave it, and the
// bytes of the last, partial line stay for the next units.
void NestPlan::run_staged(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) const noexcept {
    constexpr std::int64_t kLine = 64;
    alignas(64) std::byte stage[std::max(2 * kMaxUnitBytes, kFlushBytes + kMaxGroupedBytes) + 2 * kLine];
    // Bytes of the destination per step of a and b. (Gathers are never staged.)
    const bool weaves = leaf_.kind == KernelKind::weave;
    const std::int64_t step_bytes = leaf_.kind == KernelKind::rows ? 1 : weaves ? leaf_.a.dst_stride : leaf_.itemsize;
    const auto phase_of = [](const std::byte* p) {
        return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p) & (kLine - 1));
    };
    std::byte* to = nullptr;  // where the stage goes; stage + phase_of(to) is its first byte, so that lines match
    std::int64_t filled = 0;
    LoopCounter at(*this, begin);
    for (std::int64_t k = begin; k < end; ++k) {
        const Unit unit = at.unit(rereading_);
        std::byte* next = dst + at.dst();
        if (k + 1 < end) at.next();
        if (next != to + filled) {
            if (filled != 0) kernels_->stream(stage + phase_of(to), to, filled);
            to = next;
            filled = 0;
        }
        run_leaf(src, stage + phase_of(to) + filled, unit, at.unit(rereading_));
        filled += leaf_.a.steps(unit.a_tile) * leaf_.b.steps(unit.b_tile) * step_bytes;
        if (filled >= kFlushBytes) {
            const std::int64_t rest = phase_of(to + filled);
            const std::int64_t whole = filled - rest;
            if (leaf_.b_group != 0 && k + 1 < end) {
                stream_asking(stage + phase_of(to), to, whole, src + at.unit(rereading_).src);
            } else {
                kernels_->stream(stage + phase_of(to), to, whole);
            }
            std::memcpy(stage, stage + phase_of(to) + whole, static_cast<std::size_t>(rest));
            to += whole;
            filled = rest;
        }
    }
    if (filled != 0) kernels_->stream(stage + phase_of(to), to, filled);
}

}  // namespace dnnmove
