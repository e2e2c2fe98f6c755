// Sizes the tiles of a plan, decides how its stores go to memory, and orders the loops around it.
#include <algorithm>
#include <cstdlib>

#include "plan/plan.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kUnitBytes = 16 * 1024;
constexpr std::int64_t kLongRowBytes = 64 * 1024;
constexpr std::int64_t kFillBytes = 64 * 1024;
constexpr std::int64_t kTurnedPiece = 512;  // of a destination row, in a block that is turned
constexpr std::int64_t kLeastTurned = 8;      // bytes of a run
constexpr std::int64_t kMinStreamedRow = 192;  // a shorter contiguous row is not worth its two partial lines
constexpr std::int64_t kShortRowBytes = 1024;  // likewise of rows made of elements
// Of a destination row, per pass over the source rows. Little where rows are short: more short rows of the
// destination make a page, and of the source whole tiles are prefetched.
constexpr std::int64_t kPanelBytes = 512;
constexpr std::int64_t kSmallPanelBytes = 128;
constexpr std::int64_t kShortPanelRow = 4096;
constexpr std::int64_t kShortSourceRow = 1024;
// Panels whose rows end inside a line read up to a line's worth of rows that their neighbours read, too.
constexpr std::int64_t kUnevenPanelBytes = kMaxPanelBytes - kLine;
constexpr std::int64_t kCellPanelBytes = 256;
// A panel of rows: so much of a destination row, out of so many source rows, each read so far in a kernel call. (48
// to 83 MB of rows of 32 to 256 bytes, Zen 5: 8 to 16 rows with prefetches of 1 KB ahead reach 0.7 to 0.97 of the copy
// ceiling; 32 rows, or no prefetches, 0.5 to 0.7 of it.)
constexpr std::int64_t kRowPanelBytes = 1536;
constexpr std::int64_t kLeastPanelRows = 4;
constexpr std::int64_t kMostPanelRows = 16;
constexpr std::int64_t kRowPanelRun = 8 * 1024;
constexpr std::int64_t kMaxStagedRowBytes = 2048;
// Source rows that are read by groups: so many at a time, and so many bytes along each.
constexpr std::int64_t kRowGroup = 16;
constexpr std::int64_t kLeastGroupedRun = 256;
constexpr std::int64_t kMostGroupedRun = 512;
constexpr std::int64_t kHugePage = 2 << 20;
constexpr std::int64_t kMaxStridedRows = 64;   // source lines in use at once, all perhaps in few cache sets

// Whole steps that make about `bytes` bytes, a multiple of `step` of them.
std::int64_t steps_for(std::int64_t bytes, std::int64_t bytes_per_step, std::int64_t step = 1) {
    return std::max<std::int64_t>(1, bytes / (bytes_per_step * step)) * step;
}

// The power of two, at most a line, that divides the destination of every kernel call's rows.
std::int64_t row_alignment(const Leaf& leaf, const std::vector<Loop>& rest, const PlanContext& context) {
    std::int64_t bits = context.dst_alignment | context.dst_offset | kLine;
    if (leaf.b.extent > 1) bits |= leaf.b.dst_stride;
    for (const Loop& loop : rest) {
        bits |= loop.dst_stride;
        if (loop.table) bits = 1;
    }
    return bits & -bits;
}

// a inside, b around it: as much of both as makes a unit of `unit` bytes, but of a chained b at least a period
// (less than kUnitWorthBytes). `contiguous`: a unit must be one piece of the destination.
void size_inside_out(Leaf& leaf, std::int64_t a_bytes, std::int64_t unit, std::int64_t a_step, bool contiguous) {
    const std::int64_t row = leaf.a.extent * a_bytes;
    if (row > unit && leaf.b_period == 1) {
        leaf.a.tile = std::min(leaf.a.extent, steps_for(unit, a_bytes, a_step));
        leaf.b.tile = 1;
        return;
    }
    leaf.a.tile = leaf.a.extent;
    const bool dense = leaf.b.dst_stride == row;
    leaf.b.tile = contiguous && !dense ? 1 : std::min(leaf.b.extent, steps_for(unit, row, leaf.b_period));
}

// How many rows with this pitch fit into the second-level cache, one line each: a multiple of a large
// power of two leaves them few sets. 16 ways of 64 KiB, as small as any; a quarter is left for others.
std::int64_t rows_in_cache(std::int64_t pitch) {
    const std::int64_t step = pitch & -pitch;
    return 12 * std::max<std::int64_t>(1, 64 * 1024 / std::max(step, kLine));
}

// Bytes that a staged unit reads along each source row where it reads them by groups; 0 where it does not. A line of every
// row at a time is as good, and needs less of a stage, unless each row has a page to itself and there are more rows than
// the first-level TLB has entries, or they share few cache sets. (Zen 5, 65 to 250 rows of elements of 4 bytes and more,
// 40 to 800 MB: by groups 0.7 to 1.06 of the time from a pitch of 2 MB on, more at 1.0 to 1.3 MB, more of narrower elements,
// whose tiles are 32 rows and more, and more by vectors of half a line.)
std::int64_t grouped_run(const Leaf& leaf, std::int64_t row, const Kernels& kernels) {
    if (leaf.b.extent <= kManyRows || leaf.itemsize < 4 || kernels.vector_bytes < kLine) return 0;
    const std::int64_t pitch = std::abs(leaf.b_chained ? leaf.src_rows[1] - leaf.src_rows[0] : leaf.b.src_stride);
    if (pitch < kHugePage && rows_in_cache(pitch) >= leaf.b.extent) return 0;
    for (std::int64_t run = kMostGroupedRun; run >= kLeastGroupedRun; run /= 2) {
        if (run / leaf.itemsize * row <= kMaxGroupedBytes) return run;
    }
    return 0;
}

StoreMode size_transpose(Leaf& leaf, const std::vector<Loop>& rest, const PlanContext& context) {
    const std::int64_t width = leaf.itemsize;
    const std::int64_t side = context.kernels->vector_bytes / width;
    const std::int64_t row = leaf.b.extent * width;  // contiguous bytes of a destination row
    const std::int64_t asked = context.variant.panel / kLine * kLine;
    const auto panel = [&](std::int64_t bytes) { return std::max(side, bytes / width); };
    // Rows that all start at the same place of a line let tiles be shifted onto the lines.
    std::int64_t phases = leaf.a.dst_stride | kLine;
    for (const std::int64_t offset : leaf.dst_rows) phases |= offset;
    for (const Loop& loop : rest) phases |= loop.table ? 1 : loop.dst_stride;
    const bool lines = phases % kLine == 0 && (context.dst_alignment | context.dst_offset) % width == 0;
    const bool aligned = lines && (context.dst_alignment | context.dst_offset) % kLine == 0;
    const bool dense_rows = !leaf.a_chained && leaf.a.dst_stride == row;
    if (context.large && dense_rows && row <= kMaxStagedRowBytes && !aligned) {
        leaf.b.tile = leaf.b.extent;
        if (const std::int64_t run = grouped_run(leaf, row, *context.kernels); run != 0) {
            leaf.b_group = kRowGroup;
            leaf.a.tile = std::min(leaf.a.extent, run / width);
            return StoreMode::staged;
        }
        leaf.a.tile = std::min(leaf.a.extent, steps_for(context.unit_bytes, row, side));
        if (leaf.a.tile * row <= kMaxUnitBytes) return StoreMode::staged;
    }
    // Rows of one line are worth streaming where they follow each other.
    if (context.large && (row >= 2 * kLine || (row == kLine && aligned && dense_rows))) {
        std::int64_t pitches = leaf.b_chained ? 0 : leaf.b.src_stride;
        for (const std::int64_t offset : leaf.src_rows) pitches |= offset;
        const std::int64_t rows = rows_in_cache(pitches);
        const std::int64_t line = std::max<std::int64_t>(1, kLine / width);
        const bool is_short = row <= kShortPanelRow || leaf.a.extent * width <= kShortSourceRow;
        const std::int64_t chosen = asked != 0 ? asked : is_short && lines ? kSmallPanelBytes : kPanelBytes;
        const std::int64_t panel_bytes = lines ? chosen : std::min(chosen, kUnevenPanelBytes);
        leaf.b.tile = std::min({leaf.b.extent, panel(panel_bytes), std::max(rows / line * line, line)});
        leaf.a.tile = std::min(leaf.a.extent, panel(4096));
        if (!lines) leaf.kind = KernelKind::transpose_lines;
        leaf.shift_to_lines = lines && !aligned;
        return StoreMode::nontemporal;
    }
    // Rows of the destination a little longer than a multiple of 1024 bytes lie in few sets of the first-level
    // cache, and a line that two stores share is gone between them: panels are staged, and each line stored once.
    // Likewise the many rows of a tile of narrow elements where they are a little shorter than one of 2048.
    // (Not by shorter vectors, which share lines anyway: it takes them 2.5 times the instructions.)
    const std::int64_t pitch = leaf.a_chained ? 0 : std::abs(leaf.a.dst_stride);
    const bool over = (pitch & 1023) > 0 && (pitch & 1023) < kLine;
    const bool under = width <= 2 && (pitch & 2047) >= 2048 - 4;
    if (context.kernels->vector_bytes == kLine && (over || under) && row >= 1024) {
        leaf.b.tile = std::min(leaf.b.extent, panel(kUnevenPanelBytes));
        leaf.a.tile = std::min(leaf.a.extent, panel(512));
        leaf.kind = KernelKind::transpose_lines;
        return StoreMode::cached;
    }
    leaf.b.tile = std::min(leaf.b.extent, panel(asked == 0 ? 512 : asked));
    leaf.a.tile = std::min(leaf.a.extent, panel(512));
    return StoreMode::cached;
}

StoreMode size_cells(Leaf& leaf, const PlanContext& context) {
    const bool stream = context.large && leaf.b.extent * leaf.itemsize >= 2 * kLine;
    // Whole tiles, with the rows that a streamed panel's last line needs of its neighbour.
    const std::int64_t side = cells_side({leaf.itemsize, leaf.a.src_stride}, *context.kernels);
    const std::int64_t extra = stream ? extra_rows(leaf.itemsize) : 0;
    leaf.b.tile = (kCellPanelBytes / leaf.itemsize + extra + side - 1) / side * side - extra;
    leaf.b.tile = std::min(leaf.b.extent, leaf.b.tile);
    // Stored ordinarily, pieces of rows end inside lines: few rows at a time, that the next piece finds them near.
    leaf.a.tile = std::min(leaf.a.extent, (stream ? 4096 : 1024) / leaf.a.src_stride);
    return stream ? StoreMode::nontemporal : StoreMode::cached;
}

// How many streams with this pitch may be read side by side: those that a set of the first-level cache has ways for.
std::int64_t streams_in_cache(std::int64_t pitch) {
    constexpr std::int64_t kSetsBytes = 4096;
    const std::int64_t step = pitch & -pitch;
    return 8 * std::max<std::int64_t>(1, kSetsBytes / std::max(step, kLine));
}

StoreMode size_row_panels(Leaf& leaf, const PlanContext& context) {
    const std::int64_t row = leaf.b.extent * leaf.itemsize;
    if (!streams_row_panels(leaf.b.extent, leaf.itemsize)) {
        leaf.b.tile = leaf.b.extent;
        leaf.a.tile = std::min(leaf.a.extent, steps_for(context.unit_bytes, row));
        return StoreMode::staged;
    }
    std::int64_t pitches = leaf.b_chained ? 0 : leaf.b.src_stride;
    for (const std::int64_t offset : leaf.src_rows) pitches |= offset;
    const std::int64_t most = std::min(kMostPanelRows, streams_in_cache(pitches));
    leaf.b.tile = std::min({leaf.b.extent, most, std::max(kLeastPanelRows, kRowPanelBytes / leaf.itemsize)});
    leaf.a.tile = std::min(leaf.a.extent, steps_for(kRowPanelRun, leaf.itemsize));
    return StoreMode::nontemporal;
}

StoreMode size_rows(Leaf& leaf, const std::vector<Loop>& rest, const PlanContext& context) {
    const std::int64_t row = leaf.a.extent;
    const bool lines = row % kLine == 0 && row_alignment(leaf, rest, context) == kLine;
    const bool dense = leaf.b.dst_stride == row;
    // Short rows that end inside a line share it with their neighbours: staged, none is written twice.
    const bool stage = context.stream_rows && !lines && dense && row < kMinStreamedRow;
    size_inside_out(leaf, 1, stage ? context.unit_bytes : kLongRowBytes, kLine, false);
    if (leaf.across) {
        // The lines that the rows of a tile leave unfinished wait in the first-level cache for the next loop's.
        leaf.b.tile = std::min(leaf.b.extent, steps_for(kUnitBytes, row + kLine));
        return StoreMode::cached;
    }
    if (stage && leaf.a.tile * leaf.b.tile <= kMaxUnitBytes) return StoreMode::staged;
    if (leaf.by_source) return StoreMode::nontemporal;
    return context.stream_rows && (lines || row >= kMinStreamedRow) ? StoreMode::nontemporal : StoreMode::cached;
}

// Does a loop around a walk over lines stay inside the same lines?
bool reads_lines_again(const Leaf& leaf, const std::vector<Loop>& rest) {
    const auto again = [&](std::int64_t stride) {
        return stride != 0 && std::abs(stride) < kLine && std::abs(stride) < std::abs(leaf.a.src_stride);
    };
    return again(leaf.b.src_stride) ||
           std::any_of(rest.begin(), rest.end(), [&](const Loop& loop) { return !loop.table && again(loop.src_stride); });
}

StoreMode size_fill(Leaf& leaf, const std::vector<Loop>& rest, const PlanContext& context) {
    const std::int64_t row = leaf.a.extent * leaf.itemsize;
    const bool lines = row % kLine == 0 && row_alignment(leaf, rest, context) == kLine;
    size_inside_out(leaf, leaf.itemsize, kFillBytes, kLine, false);
    return context.stream_rows && (lines || row >= kShortRowBytes) ? StoreMode::nontemporal : StoreMode::cached;
}

// Runs that follow each other along b in the source and along a in the destination: blocks of them, read
// by whole lines and streamed by pieces of the destination's rows. False where the pieces would share lines.
bool size_turned(Leaf& leaf, const std::vector<Loop>& rest, const PlanContext& context) {
    const std::int64_t bytes = leaf.itemsize;
    const std::int64_t step = kLine / ((bytes | kLine) & -(bytes | kLine));  // runs that make whole lines
    const std::int64_t rows = steps_for(kTurnedPiece, bytes, step);
    if (leaf.b_chained || leaf.b.src_stride < bytes || bytes < kLeastTurned || leaf.a.extent < rows ||
        leaf.a.extent * bytes % kLine != 0 || row_alignment(leaf, rest, context) != kLine) {
        return false;
    }
    leaf.turned = true;
    leaf.a.tile = rows;
    const std::int64_t most = std::min<std::int64_t>(64, kMaxTurnedBytes / (rows * bytes + 2 * kLine));
    leaf.b.tile = std::min(leaf.b.extent, most < step ? most : most / step * step);
    return true;
}

// runs and gather: a walks a row of the destination.
StoreMode size_elements(Leaf& leaf, const std::vector<Loop>& rest, const PlanContext& context) {
    const bool gathers = leaf.kind == KernelKind::gather;
    const std::int64_t bytes = gathers ? leaf.a.dst_stride : leaf.itemsize;
    const std::int64_t row = leaf.a.extent * bytes;
    if (leaf.a.dst_stride != bytes) {
        size_inside_out(leaf, bytes, kUnitBytes, 1, false);
        return StoreMode::cached;
    }
    const std::int64_t alignment = row_alignment(leaf, rest, context);
    const bool lines = row % kLine == 0 && alignment == kLine;
    // Non-temporal stores straight from the kernel, where blocks are whole lines and can reach one.
    const std::int64_t step_alignment = (bytes | kLine) & -(bytes | kLine);
    bool whole_blocks = gathers && leaf.block.loop_steps * bytes % kLine == 0 && leaf.block.window_bytes >= 16;
    if (leaf.scattered) {
        for (const GatherVector& vector : leaf.block.vectors) whole_blocks = whole_blocks && vector.dst % kLine == 0;
        whole_blocks = whole_blocks && leaf.block.vector_bytes == kLine && alignment == kLine;
    }
    const bool direct = context.beyond_cache && (lines || (row >= kShortRowBytes && alignment % step_alignment == 0)) &&
                        whole_blocks;
    const bool stage = context.beyond_cache && !direct && row >= 2 * kLine && !leaf.scattered;
    // Tiles end with a line where they can.
    std::int64_t step = gathers ? leaf.block.loop_steps : 1;
    while (step * bytes % kLine != 0 && step * bytes < kMaxUnitBytes / 4) step *= 2;
    const bool strided = std::abs(leaf.a.src_stride) >= kLine && leaf.b.src_stride != 0 &&
                         std::abs(leaf.b.src_stride) < kLine;
    if (strided && !gathers && context.large && size_turned(leaf, rest, context)) return StoreMode::nontemporal;
    if (strided) {
        // Every step of a reads another line: few at a time, so that b finds them in the cache.
        leaf.a.tile = std::min(leaf.a.extent, steps_for(std::min(kMaxStridedRows * bytes, kMaxUnitBytes / 2), bytes, step));
        leaf.b.tile = stage ? 1 : std::min(leaf.b.extent, steps_for(kUnitBytes, leaf.a.tile * bytes));
    } else {
        // Other loops that read the same lines again find them in the first-level cache.
        std::int64_t unit = stage ? context.unit_bytes : kUnitBytes;
        // Every vector of a block writes a run of its own: long ones, of what is streamed above all.
        if (leaf.scattered) {
            const auto runs = static_cast<std::int64_t>(leaf.block.vectors.size());
            unit = std::clamp<std::int64_t>((direct ? 64 : 16) * unit / runs, 1024, 2 * kUnitBytes);
        }
        if (reads_lines_again(leaf, rest)) {
            unit = std::clamp<std::int64_t>(kUnitBytes / std::abs(leaf.a.src_stride) * bytes, 1024, unit);
        }
        size_inside_out(leaf, bytes, unit, step, stage);
    }
    if (direct) return StoreMode::nontemporal;
    return stage && leaf.a.tile * leaf.b.tile * bytes <= kMaxUnitBytes ? StoreMode::staged : StoreMode::cached;
}

// weave and deal: a walks the streams.
StoreMode size_streams(Leaf& leaf, const std::vector<Loop>& rest, const PlanContext& context) {
    const bool weaves = leaf.kind == KernelKind::weave;
    const std::int64_t vector_steps = kLine / leaf.itemsize;
    const std::int64_t block = weaves ? leaf.a.dst_stride : leaf.itemsize;  // bytes of the destination per step
    const std::int64_t row = leaf.a.extent * block;
    const std::int64_t alignment = row_alignment(leaf, rest, context);
    const bool whole = leaf.a.extent % vector_steps == 0;
    const bool reaches_line = alignment % ((block | kLine) & -(block | kLine)) == 0;
    const bool same_phase = weaves || leaf.stream_pitch % kLine == 0;
    // A deal's rows repeat part of what they have streamed at their ends: little of long ones.
    const std::int64_t long_row = weaves ? kShortRowBytes / 2 : 2 * kShortRowBytes;
    const bool direct = context.beyond_cache && same_phase &&
                        ((whole && alignment == kLine) || (reaches_line && row >= long_row));
    const bool stage = context.beyond_cache && !direct && weaves;
    const std::int64_t unit = weaves ? kUnitBytes : kUnitBytes / leaf.streams;
    size_inside_out(leaf, block, stage ? context.unit_bytes : unit, vector_steps, stage);
    if (direct) return StoreMode::nontemporal;
    return stage && leaf.a.tile * leaf.b.tile * block <= kMaxUnitBytes / 2 ? StoreMode::staged : StoreMode::cached;
}

}  // namespace

StoreMode choose_tiles(Leaf& leaf, const std::vector<Loop>& rest, const PlanContext& context) {
    switch (leaf.kind) {
        case KernelKind::rows: return size_rows(leaf, rest, context);
        case KernelKind::fill: return size_fill(leaf, rest, context);
        case KernelKind::runs:
        case KernelKind::gather: return size_elements(leaf, rest, context);
        case KernelKind::weave:
        case KernelKind::deal: return size_streams(leaf, rest, context);
        case KernelKind::transpose:
        case KernelKind::transpose_lines: return size_transpose(leaf, rest, context);
        case KernelKind::transpose_cells: return size_cells(leaf, context);
        case KernelKind::transpose_rows: return size_row_panels(leaf, context);
    }
    return StoreMode::cached;
}

std::vector<OuterLoop> order_loops(const Leaf& leaf, const std::vector<Loop>& rest, StoreMode stores, std::size_t& rereading) {
    rereading = 0;
    std::vector<OuterLoop> outer;
    for (const Loop& loop : rest) outer.push_back({loop.extent, loop.src_stride, loop.dst_stride, loop.table});
    if (leaf.by_source) {
        std::stable_sort(outer.begin(), outer.end(), [](const OuterLoop& one, const OuterLoop& other) {
            return std::abs(one.src_step) > std::abs(other.src_step);
        });
    }
    const bool transposes = leaf.transposes();
    // A chained dimension's tables hold its strides; its tiles only move along the contiguous side.
    const OuterLoop a{leaf.a.tiles(), leaf.a.tile * leaf.a.src_stride, leaf.a_chained ? 0 : leaf.a.tile * leaf.a.dst_stride,
                      nullptr, OuterLoop::Role::tile_a};
    const std::int64_t b_step = leaf.b_chained ? leaf.b.tile / leaf.b_period * leaf.b_period_stride : leaf.b.tile * leaf.b.src_stride;
    const OuterLoop b{leaf.b.tiles() + (leaf.shift_to_lines ? 1 : 0), b_step, leaf.b.tile * leaf.b.dst_stride, nullptr,
                      OuterLoop::Role::tile_b};
    const bool b_shares_lines = !transposes && leaf.streams == 0 && leaf.b.src_stride != 0 && std::abs(leaf.b.src_stride) < kLine &&
                                std::abs(leaf.b.src_stride) < std::abs(leaf.a.src_stride);
    // Around a transpose, b outside a sweeps along rows of the source. But what stays in the caches is
    // divided among the threads by rows of the destination: its lines are then where they were written
    // before, and where the next operation reads them.
    const bool by_destination = transposes && stores == StoreMode::cached;
    if (by_destination && a.extent > 1) outer.push_back(a);
    if (b.extent > 1 && !b_shares_lines) outer.push_back(b);
    if (!by_destination && a.extent > 1) outer.push_back(a);
    if (!transposes && a.extent > 1) {
        // Loops that stay inside the lines which a tile has just read go inside the walk over the tiles.
        const auto shares_lines = [&](const OuterLoop& loop) {
            return loop.role == OuterLoop::Role::plain && !loop.table && loop.src_step != 0 &&
                   std::abs(loop.src_step) < kLine && std::abs(loop.src_step) < std::abs(leaf.a.src_stride);
        };
        const auto first = std::stable_partition(outer.begin(), outer.end(),
                                                 [&](const OuterLoop& loop) { return !shares_lines(loop); });
        rereading = static_cast<std::size_t>(outer.end() - first);
    }
    if (leaf.across) {
        // What finishes the lines of a tile comes next.
        std::stable_sort(outer.begin(), outer.end(), [](const OuterLoop& one, const OuterLoop& other) {
            return std::abs(one.dst_step) > std::abs(other.dst_step);
        });
    }
    if (b.extent > 1 && b_shares_lines) {
        outer.push_back(b);
        if (!leaf.turned) ++rereading;
    }
    return outer;
}

}  // namespace dnnmove
