// The tiles and the stores of a tile transpose: by way of a stage, past the caches, or through them.
#include "plan/strategies/tile_transpose.hpp"

#include <array>

#include "plan/lines.hpp"
#include "plan/shares.hpp"

namespace dnnmove {
namespace {

// Of a destination row, per pass over the source rows, in the caches; beyond them Processor says. Little there where rows
// are short, and kernels ask for what they read: more short rows of the destination make a page, and of the source whole tiles
// are prefetched.
constexpr std::int64_t kPanelBytes = 512;
// So many source rows at most where shorter vectors come back for the other part of each row's line, of a small first-level
// cache and of others. (Two threads, AVX2, against 512 bytes of each destination row, bytes: Zen 4, 7 to 18 MB on both sides,
// 0.95 to 1.09 times as fast, by the portable kernels 0.9 to 1.5; 128 bytes 0.73 to 1.1 and 0.8 to 1.5. Zen 5, 0.6 to 5 MB, 1.1
// to 1.33.)
constexpr std::int64_t kSmallHeldRows = 192;
constexpr std::int64_t kHeldRows = 256;
constexpr std::array<std::int64_t, 3> kFollowedPanels{kMaxPanelBytes, 256, 192};  // where prefetchers follow the source's rows
// The longest of these, where it has more than so many rows of the source, only if they lie in so few pages.
constexpr std::int64_t kFewRows = 32;
constexpr std::int64_t kFewPages = 4;
// A row of so few panels has one less, if they have room for it: a short one takes as long to begin and to end as others.
// (Emerald Rapids, two threads, 20 to 90 MB, the same arrays and others each time: rows of 260 to 440 bytes as one panel 1.0 to
// 1.5 times as fast, 1.14 in the mean of 12 shapes; of 570 to 870 bytes 1.0 to 1.18; 448 bytes and 20 of 468 at 0.8 of 256 and
// 212.)
constexpr std::int64_t kFewPanels = 4;
constexpr std::int64_t kSmallPanelBytes = 128;
constexpr std::int64_t kShortPanelRow = 4096;  // bytes, of the destination
constexpr std::int64_t kShortSourceRow = 1024;  // bytes
// Rows of the destination that are shorter are written whole by few panels, one behind the other. (Zen 5, rows of 256 bytes, in
// one panel instead of two: elements of 4 bytes by vectors of a line 0.76, by AVX2 0.80 to 1.10, of 8 bytes 0.88 to 1.24.)
constexpr std::int64_t kLeastPanelledRow = 1024;
// Of short source rows a whole tile is asked for ahead, which should fit into the first-level cache. (Zen 5, 67 and 79 MB,
// source rows of 256 elements of 4 bytes: 64 of them at 0.83 to 0.91 of the speed of 32, in one of four states of the machine
// at 1.2; rows of an array of 8 axes of 8, which lie in few sets, at 0.72 to 0.95.)
constexpr std::int64_t kMostAheadBytes = 32 * 1024;
// Panels whose rows end inside a line read up to a line's worth of rows that their neighbours read, too.
constexpr std::int64_t kUnevenPanelBytes = kMaxPanelBytes - kLine;
// At most so much of bytes, staged. (Zen 5, 25 to 50 MB: 1.1 to 1.7 times as fast as a line at a time where rows are long;
// longer runs are slower where other work takes much of the memory's bandwidth.)
constexpr std::int64_t kBytePanelBytes = 256;
constexpr std::int64_t kMaxStagedRowBytes = 2048;
// Source rows that are read by groups: so many at a time, and so many bytes along each.
constexpr std::int64_t kRowGroup = 16;
constexpr std::int64_t kLeastGroupedRun = 256;
constexpr std::int64_t kMostGroupedRun = 512;
constexpr std::int64_t kHugePage = 2 << 20;  // bytes
// Rows of the source from which tiles of columns begin with their lines, which arrays of NumPy seldom do by themselves.
constexpr std::int64_t kLongColumns = 1024;  // bytes
// Where whole rows of the destination are written, those of one line of each source row: bytes of both sides' rows at least.
// (Zen 4, two threads, by vectors of a line, 500 to 1024 rows of elements of 8 and 16 bytes, against panels: 1.0 to 1.5 times
// as fast. Granite Rapids, 500 to 1025 rows 1.0 to 1.5, pitches of powers of two 0.5 to 0.9; but against panels whose lines are
// asked for Emerald Rapids is at 0.7 to 0.92.)
constexpr std::int64_t kLeastWholeElement = 8;
constexpr std::int64_t kLongWholeRow = 3072;
constexpr std::int64_t kLongWholePitch = 2048;
constexpr std::int64_t kWholeSetRows = 16;  // rows whose lines are looked for in one set

// Lines of one set of a cache that a transpose may use: a set has 16, or 12 in some first-level caches.
constexpr std::int64_t kSetLines = 12;

// Of bytes, and of 2 bytes in aligned rows, whose lines are done with once they are written: their tiles take longer over each
// line. (Zen 5, 1000 rows of the source, 1 to 4 MB: with 16 lines of one set tiles of bytes ran at 1.1 to 1.3 times the speed
// of staged panels, of 2 bytes at 1.2, in rows that are not aligned at 0.75, of 4 bytes at 0.55 to 0.75; with 32, of bytes at
// 0.65 to 0.75, of 2 bytes at 0.35 to 0.55.)
constexpr std::int64_t kNarrowSetLines = 16;

// Where the first-level cache has fewer ways a stage gains less: it is for tiles whose lines of both sides meet in sets; and by
// vectors of a line for elements of 2 and 4 bytes of arrays up to so many bytes whose rows begin at different places of a line.
// (Zen 4, rows 16 bytes behind lines, GB/s by tiles and by way of a stage, two threads. Sides that meet: 1025x1025 elements of
// 2, 4 and 8 bytes 34 and 41, 21 and 38, 22 and 24, by AVX2 24 and 49, 17 and 51, 36 and 35; of bytes 38 and 37, by AVX2 26 and
// 42. 1000x1000 of 4 bytes, rows of the result 1022 to 1026 elements apart, 44 to 49 and 66 to 68, of 2 bytes 54 to 61 and 60
// and 61; but 1024 apart 77 and 67, 68 and 61. 1200x1200 bytes 2047 to 2049 apart 45 to 60 and 39 to 41.)
constexpr std::int64_t kMostNarrow = 4;  // bytes of an element
constexpr std::int64_t kMostStagedArray = 6 << 20;

// Rows that begin inside a line, all at the same place of one, are shifted onto the lines from so many bytes on, by vectors of a
// line; by others, see Processor.
// (16 bytes behind a line. One thread, 16 KB to 2 MB: by vectors of a line rows of 192 to 512 bytes 1.2 to 1.75 times as fast,
// of 1600 2.0, of two lines 0.83 to 1.05; by AVX2 rows of 128 bytes 1.1 to 1.3, longer ones 1.2 to 1.6.)
constexpr std::int64_t kLeastShiftedRow = 192;

// A kernel call takes so many bytes at least, where rows of the destination are short. (Emerald Rapids, one thread, 80 to 256
// KB in the second-level cache, rows of 20 to 96 bytes, against 512 bytes of each source row: 1.08 times as fast by AVX2, 1.07
// to 1.13 by vectors of a line; larger calls level.)
constexpr std::int64_t kLeastCallBytes = 8 << 10;

// What is divided among threads, of so few tiles of destination rows that their number matters; and a part of all rows that is
// worth smaller tiles.
constexpr std::int64_t kLeastSharedBytes = 192 << 10;
constexpr std::int64_t kFewTiles = 8;
constexpr std::int64_t kClearlyFewer = 32;

// So many staged panels are enough for threads to divide, and share no lines. (Zen 4, AVX2, 15 permutations of 0.25 to 5 MB whose axes
// are powers of two, 1.09 times as fast by one and two threads, as more lines of the source are read one after the other; those of
// eight panels, 0.25 MB, 0.85 to 1.09 by two.)
constexpr std::int64_t kManyPanels = 16;

// Of a panel's source, which is read a line of each row at a time.
constexpr std::int64_t kSourceSetLines = 4 * kSetLines;

// Where they take a line of each row at once instead: of the rows of the destination that they then write at a time, so many may
// have their lines at one place of their pages. (Zen 4, one thread, AVX2 and the portable kernels, source rows 4 to 16 KiB apart,
// 0.3 to 8 MB: 1.1 to 2.0 and 1.2 to 2.5 times as fast, others level; with 16 such rows at one place 0.7 and 0.3.)
constexpr std::int64_t kMostLinesAtPlace = 4;

// Where a panel's source, which shorter vectors come back for, lies in few sets: lines of a destination's tile that may lie in
// one set, and the rows of a panel for each of these. (Zen 5, AVX2, two threads, 2 to 8 MB, source rows 2 to 16 KiB apart,
// against 512 bytes of each destination row: of 2 bytes 1.08 to 1.22 times as fast, of 1 byte in rows 0.5 to 1.5 KiB apart 0.97
// to 1.34, of 4 1.12 to 1.71, of 8 1.19 to 1.75, of 16 1.13 to 1.57; with fewer rows 0.3 to 1.0. With 4 and 8 lines of a tile
// in one set, of 4 and 8 bytes, 0.25 to 1.0, staged 1.06 to 1.45.)
constexpr std::int64_t kMostTileSetLines = 3;
constexpr std::int64_t kRowsPerSetLine = 8;
constexpr std::int64_t kLeastStagedHalves = 4;  // bytes of an element
constexpr std::int64_t kMostStagedHalves = 8;
// Bytes of the destination's rows, at least. (So, rows of 256 to 800 bytes in few sets: 0.98 to 2.1.)
constexpr std::int64_t kLeastStagedHalfRow = 256;
constexpr std::int64_t kLeastStagedRow = 1024;  // by vectors of a line, and on small first-level caches

// Source rows that lie at one place of their pages, where shorter vectors would come back for lines that a small first-level cache has
// lost: more than half of so many; of elements of 2 to 8 bytes; and of so much at most, beyond which one thread is slower by way of a
// stage. (Zen 4, AVX2, one and two threads, 72 permutations of 60 KB to 5 MB whose axes are powers of two, staged for that or taken
// from batch transposes: 1.33 to 1.49 times as fast in the mean, two of them at 0.8; by the portable kernels 1.56 to 1.89. Half of so
// many rows, 40 permutations: 0.44 to 1.67, level in the mean. 8 MB: one thread 0.3 to 1.0, two 0.6 to 1.6. Bytes 0.6 to 1.5.)
constexpr std::int64_t kRowsAtPlace = 32;
constexpr std::int64_t kMostStagedNest = 5 << 20;  // bytes

// Bytes of a way of a cache, as small as any. A second-level one has 16 of them, a quarter of which is left for others; a
// first-level one 12 where lines are looked for there.
constexpr std::int64_t kFirstLevelWay = 4 * 1024;
constexpr std::int64_t kSecondLevelWay = 64 * 1024;

// How many rows with this pitch fit into a cache, one line each: a multiple of a large power of two leaves them few sets.
std::int64_t rows_in_cache(std::int64_t pitch, std::int64_t way = kSecondLevelWay) {
    const std::int64_t step = pitch & -pitch;
    return kSetLines * std::max<std::int64_t>(1, way / std::max(step, kLine));
}

bool stages_halves(std::int64_t itemsize) { return itemsize >= kLeastStagedHalves && itemsize <= kMostStagedHalves; }

// As many panels of `most` bytes as a row needs, of as many lines each.
std::int64_t even_panel(std::int64_t row, std::int64_t most) { return (even_tile(row, most) + kLine - 1) / kLine * kLine; }

}  // namespace

// Bytes that a staged unit reads along each source row where it reads them by groups; 0 where it does not. A line of every
// row at a time is as good, and needs less of a stage, unless each row has a page to itself and there are more rows than
// the first-level TLB has entries, or they share few cache sets. (Zen 5, 65 to 250 rows of elements of 4 bytes and more,
// 40 to 800 MB: by groups 0.7 to 1.06 of the time from a pitch of 2 MB on, more at 1.0 to 1.3 MB, more of narrower elements,
// whose tiles are 32 rows and more, and more by vectors of half a line.)
std::int64_t TileTranspose::grouped_run(const Sizing& sizing) const {
    if (b.extent <= kManyRows || itemsize < 4 || !sizing.by_line()) return 0;
    const std::int64_t pitch = first_pitch();
    if (pitch < kHugePage && rows_in_cache(pitch) >= b.extent) return 0;
    for (std::int64_t run = kMostGroupedRun; run >= kLeastGroupedRun; run /= 2) {
        if (run / itemsize * sizing.row <= kMaxGroupedBytes) return run;
    }
    return 0;
}

// What a unit streams of each destination row, where rows are short on either side and prefetchers do not follow the source.
std::int64_t TileTranspose::short_panel(const Sizing& sizing) const {
    const std::int64_t panel = sizing.context.processor->short_panel_bytes;
    if (sizing.row < kLeastPanelledRow) return kSmallPanelBytes;
    const std::int64_t source_row = a.extent * itemsize;
    const bool is_long = source_row > kShortSourceRow;
    const std::int64_t rows = std::min(b.extent, panel / itemsize);
    // (Long rows that do not lie in a chain are read in blocks, or staged, where they lie in few sets.)
    const bool kept = (is_long && !b_chained) || rows_in_sets(rows) == rows;
    return kept && (is_long || rows * source_row <= kMostAheadBytes) ? panel : kSmallPanelBytes;
}

// Bytes of each destination row that a unit streams: as many as the caches hold source rows for, too, but for rows of few
// panels. Shorter vectors come back for the other part of a line, which should be in the first-level cache. (Where source rows
// are 2 MiB and more apart, longer panels of elements of 4 and 8 bytes than 128 were 1.03 to 1.5 times as fast in 14 chains,
// and level in 9 matrices.)
std::int64_t TileTranspose::panel_to_stream(const Sizing& sizing, bool in_parts) const {
    const std::int64_t row = sizing.row;
    const bool lines = sizing.lines;
    const Processor& processor = *sizing.context.processor;
    const std::int64_t panel_bytes = processor.panel_bytes[log2_of(itemsize)];
    if (processor.followed_pages == 0) {
        if (in_parts && lines && processor.staged_panel_bytes != 0) return processor.staged_panel_bytes;
        if (!lines) return kMaxPanelBytes;
        return row > kShortPanelRow && a.extent * itemsize > kShortSourceRow ? panel_bytes : short_panel(sizing);
    }
    const bool halves = !sizing.by_line();
    // Less than a line of each source row is no stream: as few panels as may be. (Emerald Rapids, two threads, against what
    // follows, 22 shapes of 20 to 90 MB: 1.0 to 1.3 times as fast, 1.09 in the mean.)
    if (a.extent * itemsize < kLine) return even_panel(row, lines && !halves ? kMaxPanelBytes : kUnevenPanelBytes);
    const std::int64_t held = rows_in_cache(pitches(), halves ? kFirstLevelWay : kSecondLevelWay);
    const auto pages_of = [&](std::int64_t rows) {
        std::int64_t apart = 0;  // bytes between rows; a page where each has one to itself
        for (std::int64_t j = 1; j < rows; ++j) {
            const auto at = static_cast<std::size_t>(j);
            apart += std::min(std::abs(b_chained ? src_rows[at] - src_rows[at - 1] : b.src_stride), kPage);
        }
        return apart / kPage + 1;
    };
    const auto followed = std::find_if(kFollowedPanels.begin(), kFollowedPanels.end(), [&](std::int64_t bytes) {
        const std::int64_t rows = std::min(b.extent, bytes / itemsize);
        const bool bounded = bytes == kMaxPanelBytes && rows > kFewRows;
        return rows <= held && pages_of(rows) <= (bounded ? kFewPages : processor.followed_pages);
    });
    const std::int64_t other = !lines && panel_bytes / itemsize <= held ? panel_bytes : kSmallPanelBytes;
    const std::int64_t panel = followed != kFollowedPanels.end() ? *followed : other;
    const std::int64_t panels = row / panel;
    if (panels == 0 || panels >= kFewPanels) return panel;
    const std::int64_t longer = even_panel(row, (row + panels - 1) / panels);
    return longer <= kUnevenPanelBytes ? longer : panel;
}

// Does the first-level cache lose lines that a tile writes before the next tile of their rows comes? Then panels are staged,
// and each line stored once. (By shorter vectors that takes 2.5 times the instructions. Zen 5, AVX2, two threads, 1 to 4 MB:
// with 16 lines of one set 1.37 to 1.63 times as fast, with 32 2.0 to 3.2; with 8 0.57 to 1.06. Of a row of a chain one line is
// counted wherever it begins.)
bool TileTranspose::tile_loses_lines(const Sizing& sizing) const {
    const bool narrow = sizing.by_line() && (itemsize == 1 || (itemsize == 2 && sizing.aligned));
    const std::int64_t rows = sizing.by_line() ? sizing.side : std::min(a.extent, sizing.side);
    const std::int64_t lines = a_chained ? lines_at_one_place(sizing.side)
                                         : lines_in_one_set(std::abs(a.dst_stride), rows, sizing.aligned);
    return lines > (narrow ? kNarrowSetLines : kSetLines);
}

// And lines of a panel's source that came without being asked for, with those before them? A stage reads them together. (Zen 5,
// 1 to 8 MB, 64 rows of elements of 8 bytes: with all in one set 1.2 to 1.6 times the speed of tiles, with 32 of them 0.65;
// elements of 4 and 16 bytes level or slower, and rows of the destination that begin at different places of a line 0.75.)
bool TileTranspose::panel_loses_lines(std::int64_t rows) const {
    return itemsize == 8 && !b_chained && lines_in_one_set(std::abs(b.src_stride), rows, true) > kSourceSetLines;
}

std::int64_t TileTranspose::Sizing::most_held() const {
    return std::min(kPanelBytes, (context.processor->small_first_level ? kSmallHeldRows : kHeldRows) * itemsize);
}

// The first rows of the source, so many at most, of which a set of the first-level cache keeps a line of each.
std::int64_t TileTranspose::rows_in_sets(std::int64_t rows) const {
    LinesInSets sets;
    std::int64_t row = 0;
    while (row < rows && sets.add(src_offset(row)) <= kSetLines) ++row;
    return row;
}

// Do more than half of these rows begin at one place of their pages, so that a set of the first-level cache has so many lines of them?
bool TileTranspose::source_at_one_place() const {
    LinesInSets sets;
    std::int64_t most = 0;
    for (std::int64_t j = 0; j < std::min(b.extent, kRowsAtPlace); ++j) most = std::max(most, sets.add(src_offset(j)));
    return most > kRowsAtPlace / 2;
}

// Bytes of each destination row that vectors shorter than a line write in the caches before they come to the next rows; 0 where
// no panel keeps the lines of its source until they come back for the other part. (Half as many rows more than are kept do less
// harm than a stage.)
std::int64_t TileTranspose::panel_of_halves(const Sizing& sizing) const {
    const Processor& processor = *sizing.context.processor;
    if (processor.claims_lines) return kPanelBytes;
    std::int64_t panel = sizing.most_held();
    const bool comes_back = a.extent > sizing.side;
    if (processor.small_first_level || !comes_back) return panel;
    const std::int64_t rows = std::min(b.extent, panel / itemsize);
    const std::int64_t kept = rows_in_sets(rows);
    if (kept == rows) return panel;
    const std::int64_t together = lines_at_one_place(sizing.side);
    if (together > kMostTileSetLines) return 0;
    const std::int64_t least = std::max(kLine, kRowsPerSetLine * together * itemsize);
    while (panel > least && panel / itemsize > kept) panel /= 2;
    return panel >= least && panel / itemsize <= kept + kept / 2 ? panel : 0;
}

// Does a tile read and write lines of the same sets, more than these have ways? Where a step along either side's rows moves
// both alike within a page, it does so all along.
bool TileTranspose::sides_meet() const {
    const std::int64_t side = kLine / itemsize;
    if (a_chained || b_chained || (b.src_stride - itemsize) % kPage * side % kPage != 0 ||
        (a.dst_stride - itemsize) % kPage * side % kPage != 0)
        return false;
    return lines_in_one_set(b.src_stride, side, false) + lines_in_one_set(a.dst_stride, side, false) > kSmallSetLines;
}

// Do shorter vectors take a line of each source row at once? The rows of the destination that they then write at a time, of a
// line each, should stay in the cache until the next tile of their rows comes; a stage's do.
bool TileTranspose::takes_source_lines(const Sizing& sizing) const {
    return sizing.may_lose_parts() && (by_lines || lines_at_one_place(kLine / itemsize) <= kMostLinesAtPlace);
}

SourceLines TileTranspose::lines_taken(const Sizing& sizing) const {
    if (!takes_source_lines(sizing)) return SourceLines::parts;
    return by_lines && sizing.side > kSmallSetLines && source_at_one_place() ? SourceLines::copied : SourceLines::whole;
}

// Rows that begin at one place of a line: do vectors lie in two, unless they begin with the row's first line?
bool TileTranspose::splits_lines(const Sizing& sizing) const {
    const std::int64_t vector_bytes = sizing.context.kernels->vector_bytes;
    const std::int64_t place = sizing.context.dst_alignment | sizing.context.dst_offset;
    const std::int64_t least = vector_bytes < kLine ? sizing.context.processor->least_shifted_row : kLeastShiftedRow;
    return sizing.lines && place % vector_bytes != 0 && sizing.row >= least;
}

// Do tiles come back for parts of source lines that such a cache has lost? Those that come from memory are missed sooner than those
// that another cache keeps. (Zen 4, AVX2, moved by blocks, all axes reversed: 16x16x16x16x16x16 and 256x256x256 elements of 4 bytes by
// way of a stage 1.1 to 1.4 times as fast by two threads. Ten permutations of 25 to 67 MB whose axes are powers of two, elements of 4
// and 8 bytes, rows of less than 1 KiB: one thread 0.9 to 1.9, two 1.0 to 1.85; four of narrower elements 0.8 to 1.15.)
bool TileTranspose::loses_parts(const Sizing& sizing) const {
    if (!sizing.may_lose_parts() || takes_source_lines(sizing)) return false;
    const bool wide = stages_halves(itemsize);
    if (sizing.context.far_source) {
        const std::int64_t rows = std::min(b.extent, sizing.most_held() / itemsize);
        return (wide || sizing.row >= kLeastStagedRow) && rows_in_sets(rows) < rows;
    }
    return (wide || itemsize == 2) && sizing.problem.bytes() <= kMostStagedNest && source_at_one_place();
}

// In the caches: is each line of the destination stored once, by way of a stage? (Zen 5, two threads, 1 to 8 MB, permutations
// whose axes are powers of two, of chains of loops: by vectors of a line 0.89 to 1.84 times as fast, 1.24 in the mean of 23, by
// AVX2 1.17 to 2.4. Emerald Rapids, against tiles whose lines are asked for, pitches of powers of two and rows that begin
// anywhere included: two threads, 3 to 16 MB, 0.7 to 0.95 of their speed; 40 KB to 1 MB 0.6 to 1.03.)
bool TileTranspose::stages_lines(const Sizing& sizing, std::int64_t panel_rows, std::int64_t held) const {
    if (sizing.context.claims) return false;
    const Processor& processor = *sizing.context.processor;
    const bool small = processor.small_first_level;
    const bool long_rows = sizing.row >= kLeastStagedRow;
    if (!sizing.by_line()) {
        if (processor.claims_lines || sizing.row < kLeastStagedHalfRow) return false;
        if (small) return loses_parts(sizing) || (long_rows && itemsize <= kMostNarrow && sides_meet());
        return tile_loses_lines(sizing) || (held == 0 && stages_halves(itemsize));
    }
    if (!long_rows) return false;
    if (!small) return tile_loses_lines(sizing) || (sizing.lines && panel_loses_lines(std::min(b.extent, panel_rows)));
    if (sides_meet()) return true;
    return !a_chained && !sizing.lines && itemsize > 1 && itemsize <= kMostNarrow &&
           a.extent * sizing.row <= kMostStagedArray && tile_loses_lines(sizing);
}

// Are whole rows of the destination written, a line of each source row at a time? They are few streams then.
bool TileTranspose::writes_whole_rows(const Sizing& sizing) const {
    const bool wanted = sizing.asked == 0 && sizing.context.processor->small_first_level && sizing.by_line() && !sides_meet();
    return wanted && !sizing.context.near && itemsize >= kLeastWholeElement && !a_chained && !b_chained &&
           sizing.row >= kLongWholeRow && std::abs(b.src_stride) >= kLongWholePitch &&
           !(sizing.lines && (lines_in_one_set(std::abs(a.dst_stride), kWholeSetRows, true) > kSetLines ||
                              panel_loses_lines(std::min(b.extent, kPanelBytes / itemsize))));
}

bool TileTranspose::stages_rows(const Problem& problem) const {
    const PlanContext& context = problem.context;
    const std::int64_t row = b.extent * itemsize;
    if (!context.large || !dense_rows() || row > kMaxStagedRowBytes) return false;
    // Rows of one line that shorter vectors write in parts: as many lines are open as a tile has rows. (Zen 4, AVX2, 25088
    // matrices of 32 rows of 15 elements of 2 bytes: 4.6 ms, staged 1.3.)
    const bool by_halves = context.kernels->vector_bytes < kLine && row == kLine &&
                           context.kernels->vector_bytes / itemsize > context.processor->open_lines;
    return by_halves || !rows_begin_lines(problem);
}

// `most` rows of the destination, or so many fewer that two threads have about as many of them each: where they share rows,
// both write the same lines at the same time.
std::int64_t TileTranspose::shared_tile(const Problem& problem, std::int64_t most, std::int64_t step) const {
    if (!problem.context.alone || a.extent >= kFewTiles * most) return most;
    std::int64_t outer = 1;
    for (std::size_t k = 0; k < problem.loops.size(); ++k) {
        if (takes(k)) continue;
        if (problem.loops[k].extent >= kFewTiles) return most;
        outer *= problem.loops[k].extent;
    }
    const std::int64_t rows = outer * a.extent;
    if (outer >= kFewTiles || b.extent * itemsize < kLeastSharedBytes / rows) return most;
    // Rows of the thread that has more; all of them where both write some.
    const std::int64_t of_rows = b_tiles();
    const auto share = [&](std::int64_t tile) {
        const std::int64_t tiles = (a.extent + tile - 1) / tile;
        const std::int64_t half = begin_of_part(outer * tiles * of_rows, of_rows, 1, 2);
        if (half % of_rows != 0) return rows;
        const std::int64_t first = half / of_rows / tiles * a.extent + half / of_rows % tiles * tile;
        return std::max(first, rows - first);
    };
    std::int64_t best = most;
    for (std::int64_t tiles = 2; tiles <= kFewTiles; ++tiles) {
        const std::int64_t tile = (a.extent + tiles * step - 1) / (tiles * step) * step;
        if (tile < most && share(tile) + rows / kClearlyFewer < share(best)) best = tile;
    }
    return best;
}

StoreMode TileTranspose::size(const Problem& problem) {
    const PlanContext& context = problem.context;
    const Sizing sizing{problem,
                        context,
                        itemsize,
                        context.kernels->vector_bytes / itemsize,
                        b.extent * itemsize,
                        context.variant.panel / kLine * kLine,
                        row_phases(problem) % kLine == 0 && (context.dst_alignment | context.dst_offset) % itemsize == 0,
                        rows_begin_lines(problem)};
    const StoreMode stores = choose_tiles(sizing);
    if (stores != StoreMode::nontemporal || by_lines) source_lines = lines_taken(sizing);
    claims_near = itemsize > 2 || !sizing.by_line() || !(shifts_to_lines || sizing.aligned);
    begins_with_lines = stores != StoreMode::staged && pitches() % kLine == 0 && a.extent * itemsize >= kLongColumns;
    return stores;
}

StoreMode TileTranspose::choose_tiles(const Sizing& sizing) {
    if (stages_rows(sizing.problem) && size_staged(sizing)) return StoreMode::staged;
    if (worth_streaming(sizing)) {
        size_streamed(sizing);
        return StoreMode::nontemporal;
    }
    if (writes_whole_rows(sizing)) {
        size_whole_rows(sizing);
    } else {
        size_cached(sizing);
    }
    return StoreMode::cached;
}

// Rows that collect in a stage, whole ones; false where too few fit.
bool TileTranspose::size_staged(const Sizing& sizing) {
    const std::int64_t row = sizing.row;
    b.tile = b.extent;
    if (const std::int64_t run = grouped_run(sizing); run != 0) {
        row_group = kRowGroup;
        a.tile = std::min(a.extent, run / itemsize);
        return true;
    }
    // Of each source row a line at least, if there is room: shorter vectors would read it twice. (Emerald Rapids, AVX2, 25 to
    // 60 MB, rows of 130 to 250 elements of 1 to 8 bytes: 1.1 to 1.25 times as fast as half a line; 300 to 500 bytes, of
    // which a line of each would need more room, not staged at all: 0.7 to 0.8.)
    // Where no cache keeps the other part of all these lines, in more room than other units have. (Zen 4, AVX2, one and two threads, 300
    // to 500 source rows multiples of 4 KiB apart, of 4 bytes 1.2 to 1.7 times as fast, of 2 bytes 1.1 to 1.35, of bytes 1.0 to 1.15;
    // 2 KiB apart level.)
    const std::int64_t of_line = kLine / itemsize;
    const bool loses_parts = sizing.may_lose_parts() && rows_in_cache(pitches()) < b.extent;
    if (of_line * row <= (loses_parts ? kMaxGroupedBytes : kMaxUnitBytes)) {
        a.tile = std::min(a.extent, steps_for(sizing.context.unit_bytes, row, of_line));
        return true;
    }
    a.tile = std::min(a.extent, steps_for(sizing.context.unit_bytes, row, sizing.side));
    return a.tile * row <= kMaxUnitBytes;
}

// Rows of one line are worth streaming where they follow each other.
bool TileTranspose::worth_streaming(const Sizing& sizing) const {
    return sizing.context.large && (sizing.row >= 2 * kLine || (sizing.row == kLine && sizing.aligned && dense_rows()));
}

// By vectors shorter than lines, one of each of a tile's rows is open until the next tile writes its other part: are these too
// many?
bool TileTranspose::leaves_in_parts(const Sizing& sizing) const {
    const Processor& processor = *sizing.context.processor;
    if (sizing.by_line() || sizing.row < 2 * kLine) return false;
    return sizing.side > processor.open_lines || lines_at_one_place(sizing.side) > processor.open_lines_at_place;
}

// How many lines of the first rows, one of each, lie at one place of their pages.
std::int64_t TileTranspose::lines_at_one_place(std::int64_t rows) const {
    const auto count = static_cast<std::size_t>(std::min(rows, a.extent));
    if (!a_chained) return lines_in_one_set(std::abs(a.dst_stride), static_cast<std::int64_t>(count), true);
    LinesInSets sets;
    std::int64_t most = 0;
    for (std::size_t row = 0; row < count; ++row) most = std::max(most, sets.add(static_cast<std::uint64_t>(dst_rows[row])));
    return most;
}

void TileTranspose::size_streamed(const Sizing& sizing) {
    const Processor& processor = *sizing.context.processor;
    const bool in_parts = leaves_in_parts(sizing);
    const std::int64_t chosen = sizing.asked != 0 ? sizing.asked : panel_to_stream(sizing, in_parts);
    const std::int64_t wanted = sizing.panel(sizing.lines ? chosen : std::min(chosen, kUnevenPanelBytes));
    const std::int64_t held = rows_in_cache(pitches());  // source rows
    const bool long_rows = sizing.row >= 2 * kLine;
    a.tile = std::min(a.extent, sizing.panel(4096));
    // A tile of bytes is one line of each row of the destination, and such lines leave slowly: panels are staged.
    if (itemsize == 1 && processor.stages_bytes && sizing.aligned && long_rows && held > kSetLines) {
        by_lines = whole_lines = true;
        b.tile = std::min({b.extent, wanted, kBytePanelBytes});
        return;
    }
    if (in_parts) {
        by_lines = true;
        whole_lines = sizing.aligned;
        b.tile = std::min({b.extent, wanted, sizing.panel(kUnevenPanelBytes)});
        return;
    }
    by_lines = !sizing.lines;
    shifts_to_lines = sizing.lines && !sizing.aligned;
    const bool blocks = processor.reads_row_blocks && sizing.lines && held < std::min(wanted, b.extent) && !b_chained &&
                        sizing.asked == 0 && !sizing.context.near && a.extent * itemsize >= 2 * kBlockLines * kLine &&
                        wanted % kBlockLines == 0;
    const std::int64_t line = std::max<std::int64_t>(1, kLine / itemsize);
    b.tile = std::min({b.extent, wanted, blocks ? wanted : std::max(held / line * line, line)});
    // To the last byte of a line: of rows that begin inside a line the first one came with the block before.
    for (std::int64_t j = 0; blocks && j < b.tile; ++j) {
        block_lines.push_back(j / kBlockLines * b.src_stride + j % kBlockLines * kLine + kLine - 1);
    }
}

void TileTranspose::size_whole_rows(const Sizing& sizing) {
    a.tile = std::min(a.extent, kLine / itemsize);
    b.tile = b.extent;
    shifts_to_lines = splits_lines(sizing);
}

void TileTranspose::size_cached(const Sizing& sizing) {
    const std::int64_t held = sizing.by_line() ? kPanelBytes : panel_of_halves(sizing);
    by_lines = stages_lines(sizing, sizing.panel(sizing.asked == 0 ? kPanelBytes : sizing.asked), held);
    whole_lines = by_lines && sizing.aligned;
    shifts_to_lines = !by_lines && splits_lines(sizing);
    const std::int64_t step = kLine / itemsize;
    const std::int64_t chosen = sizing.asked != 0 ? sizing.asked
                                : by_lines        ? kPanelBytes
                                : held != 0       ? held
                                                  : sizing.most_held();
    const std::int64_t staged = std::min(chosen, sizing.aligned ? kMaxPanelBytes : kUnevenPanelBytes);
    const auto tile_of = [&](std::int64_t extent, std::int64_t most) {
        return by_lines ? std::min(extent, most) : level_tile(extent, most, step);
    };
    b.tile = tile_of(b.extent, sizing.panel(by_lines ? staged : chosen));
    const std::int64_t most = std::max(sizing.panel(512), steps_for(kLeastCallBytes, b.tile * itemsize, step));
    a.tile = tile_of(a.extent, most);
    if (!by_lines || b_tiles() < kManyPanels) a.tile = shared_tile(sizing.problem, a.tile, step);
}

}  // namespace dnnmove
