// What a tile transpose can copy, what that costs, and its calls of the kernels.
#include "plan/strategies/tile_transpose.hpp"

#include <limits>

#include "plan/costs.hpp"
#include "plan/lines.hpp"
#include "plan/strategies.hpp"
#include "plan/tile_cycles.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxElement = 16;  // bytes
// Bytes of a source row of a matrix that is staged in parts, each of which reads little of many rows; and the cycles more per
// byte that choose another strategy where there is one. (Zen 5, 40 to 60 MB: rows of 400 to 1200 bytes at 0.4 to 0.85 of what
// runs reach, longer ones level, and matrices that are one part.)
constexpr std::int64_t kShortStagedSource = 2048;
constexpr double kPartsByte = 0.05;
constexpr std::int64_t kBlockedSourceRow = 512;  // bytes, of worth_of_blocks
// Prefetch distances along the rows of the source, in bytes. From memory: less far of many rows at once, as all that was
// asked for waits in the second-level cache. From the last-level cache: the end of the next tile, because the line of
// its start may have been read with this one.
constexpr std::int64_t kAheadBytes = 512;
constexpr std::int64_t kManyAheadBytes = 3 * kLine - 1;
constexpr std::int64_t kCachedAheadBytes = 2 * kLine - 1;

}  // namespace

bool TileTranspose::match(const Problem& problem) {
    if (problem.innermost != Problem::Innermost::elements || itemsize > kMaxElement || !power_of_two(itemsize)) return false;
    std::size_t inner = problem.source_loop(itemsize);
    if (inner == problem.loops.size()) inner = problem.source_loop(-itemsize);  // reversed: walked from the end
    return inner < problem.loops.size() && take_chains(problem, inner);
}

double TileTranspose::cycles(std::int64_t columns, std::int64_t rows, const Kernels& kernels) const {
    return tile_cycles(columns, rows, itemsize, kernels);
}

double TileTranspose::cost(const Problem& problem) const {
    const std::int64_t row = b.extent * itemsize;
    const bool in_parts = a.extent * itemsize <= kShortStagedSource && a.extent * row > problem.context.unit_bytes;
    const double staged = !stages_rows(problem) ? 0 : in_parts ? kPartsByte : kStagedByte;
    return ChainedTranspose::cost(problem) + scatter_cost(problem, row >= 2 * kLine || dense_rows()) + staged;
}

// Tiles that collect in a stage leave by long runs already.
double TileTranspose::worth_of_blocks(StoreMode stores, const WorthOfBlocks& worth) const {
    if (stores == StoreMode::staged) return std::numeric_limits<double>::infinity();
    if (stores == StoreMode::cached) return worth.cached;
    const bool short_rows = a.extent * itemsize <= kBlockedSourceRow;
    if (by_lines) return short_rows ? worth.short_lines : worth.lines;
    return short_rows ? worth.short_tiles : worth.tiles;
}

StrategyWords TileTranspose::describe() const {
    std::string remark = !block_lines.empty() ? "source in blocks of " + std::to_string(kBlockLines * kLine) + " B of each row"
                         : row_group != 0     ? "source rows in groups of " + std::to_string(row_group)
                         : shifts_to_lines    ? "destination rows from their first lines on"
                                              : "";
    const std::string lines = source_lines == SourceLines::copied  ? "source by copied lines"
                              : source_lines == SourceLines::whole ? "source by lines"
                                                                   : "";
    if (!remark.empty() && !lines.empty()) remark += ", ";
    remark += lines;
    return {by_lines ? "transpose by whole lines" : "transpose", "destination rows", "source rows", remark};
}

void TileTranspose::run_tile(const Call& call, const Tile& tile) const noexcept {
    const auto width = log2_of(itemsize);
    if (by_lines) {
        const std::int64_t left = b.extent - call.unit.b_tile * b.tile;
        const std::int64_t readable = whole_lines ? tile.rows : std::min(left, b.tile + extra_rows(itemsize));
        KernelStores stores = call.stores();
        stores.source_lines = source_lines;
        call.kernels.transpose_lines[width](tile.src, tile.src_rows, tile.dst, tile.dst_rows, tile.columns, readable, tile.rows,
                                            call.unit.b_tile == 0, stores, tile.ahead);
        return;
    }
    if (!block_lines.empty()) return run_blocks(call, tile);
    for (std::int64_t j = 0; j < tile.rows;) {
        const bool last = row_group == 0 || tile.rows - j < 2 * row_group;  // with what is left of the rows
        const std::int64_t group = last ? tile.rows - j : row_group;
        call.kernels.transpose[width](tile.src, tile.src_rows + j, tile.dst + j * itemsize, tile.dst_rows, tile.columns, group,
                                      tile.stores, {tile.ahead.src, tile.ahead.rows + j});
        j += group;
    }
}

void TileTranspose::run(const Call& call) const noexcept {
    const auto& [kernels, mode, near, claims, base, list, call_dst, unit, next] = call;
    // Where shifted tiles start, and how far that is from where the loops have put them.
    const std::int64_t line_steps = kLine / itemsize;
    const std::byte* row = call_dst - unit.b_tile * b.tile * itemsize;
    const std::int64_t before_row = shifts_to_lines ? into_line(row) / itemsize : 0;
    const std::int64_t shift = before_row == 0 ? 0 : b.tile - (line_steps - before_row);
    const auto start_of = [&](std::int64_t b_tile) { return std::max<std::int64_t>(0, b_tile * b.tile - shift); };
    const auto moved = [&](std::int64_t b_tile) { return start_of(b_tile) - b_tile * b.tile; };
    const std::int64_t start = start_of(unit.b_tile);
    const std::int64_t rows = std::min((unit.b_tile + 1) * b.tile - shift, b.extent) - start;
    if (rows <= 0) return;
    const std::byte* const src = base + unit.src + moved(unit.b_tile) * b.src_stride;
    // Columns before the source's first line belong to the first tile, apart from its own.
    const std::int64_t before = begins_with_lines ? (-into_line(src - unit.a_tile * a.src_step()) & (kLine - 1)) / itemsize : 0;
    const std::int64_t shift_of_columns = unit.a_tile == 0 ? 0 : before;
    const std::int64_t columns = std::min(a.tile + before, a.extent - unit.a_tile * a.tile) - shift_of_columns;
    if (columns <= 0) return;
    Tile tile{src + shift_of_columns * itemsize,
              src_rows_at(start),
              call_dst + moved(unit.b_tile) * itemsize,
              dst_rows_of(unit) + shift_of_columns,
              columns,
              rows,
              // What lies before a row's first line must not be streamed: a vector there is not aligned.
              {.nontemporal = mode == StoreMode::nontemporal && (before_row == 0 || start != 0),
               .prefetch = !near && row_group == 0,
               .source_lines = source_lines,
               .claim = claims && (claims_near || !near)},
              {},
              base + next.src + moved(next.b_tile) * b.src_stride};
    // Long source rows are prefetched along; of short ones the next unit's.
    const bool cached = mode == StoreMode::cached;
    const std::int64_t far = b.tile > kManyRows ? kManyAheadBytes : kAheadBytes;
    const bool continued = next.a_tile == unit.a_tile + 1 && next.b_tile == unit.b_tile;
    const bool along = continued || columns * itemsize > 2 * (cached ? kCachedAheadBytes : kAheadBytes);
    tile.ahead = along ? RowsAhead{tile.src + (cached ? kCachedAheadBytes : far), tile.src_rows}
                       : RowsAhead{tile.next, src_rows_at(std::min(start_of(next.b_tile), b.extent))};
    if (before != 0 && unit.a_tile == 0) return run_first(call, tile, std::min(before, columns));
    run_tile(call, tile);
}

// `before` columns, then those that begin with lines.
void TileTranspose::run_first(const Call& call, Tile tile, std::int64_t before) const noexcept {
    Tile first = tile;
    first.columns = before;
    first.next = tile.src + before * itemsize;
    run_tile(call, first);
    tile.src += before * itemsize;
    tile.dst_rows += before;
    tile.ahead.src += before * itemsize;
    tile.columns -= before;
    if (tile.columns > 0) run_tile(call, tile);
}

// A line's worth of columns at a time, with each the part of the next block that they are of theirs.
void TileTranspose::run_blocks(const Call& call, const Tile& tile) const noexcept {
    const std::int64_t line_steps = kLine / itemsize;
    const auto width = log2_of(itemsize);
    for (std::int64_t i = 0; i < tile.columns; i += line_steps) {
        const std::int64_t part = i / line_steps % kBlockLines;
        const std::int64_t after = i + (kBlockLines - part) * line_steps;
        const std::byte* block = after < tile.columns ? tile.src + after * itemsize : tile.next;
        block += part * (b.tile / kBlockLines) * b.src_stride;
        call.kernels.transpose[width](tile.src + i * itemsize, tile.src_rows, tile.dst, tile.dst_rows + i,
                                      std::min(line_steps, tile.columns - i), tile.rows, tile.stores,
                                      {block, block_lines.data()});
    }
}

// Asks meanwhile for the lines of the next unit where source rows are read by groups: as much is read as is written. A row
// of the source may end inside a line, whose begin was asked for with the unit before it.
void TileTranspose::unstage(const Kernels& kernels, const std::byte* stage, std::byte* dst, std::int64_t bytes,
                            const std::byte* next) const noexcept {
    if (row_group == 0 || next == nullptr) return kernels.stream(stage, dst, bytes);
    const std::int64_t run = a.tile * itemsize;
    for (std::size_t j = 0; bytes > 0; ++j) {
        if (j < static_cast<std::size_t>(b.extent)) {
            for (std::int64_t k = kLine - 1; k < run + kLine - 1; k += kLine) __builtin_prefetch(next + src_rows[j] + k, 0, 2);
        }
        const std::int64_t now = std::min(run, bytes);
        kernels.stream(stage, dst, now);
        stage += now;
        dst += now;
        bytes -= now;
    }
}

std::unique_ptr<Strategy> match_tile_transpose(const Problem& problem) { return matched<TileTranspose>(problem); }

}  // namespace dnnmove
