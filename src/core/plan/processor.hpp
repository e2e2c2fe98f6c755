// What processors of the same instruction set differ in: how many rows far apart they read and write well at once, and what
// their caches and stores are like.
#pragma once

#include <array>
#include <cstdint>

namespace dnnmove {

// By how a nest is moved whose data do not fit into the caches: so many times as long as by blocks (BlockWalk::instead_of) it
// takes, as both are estimated, where it hardly ever is the faster one. (Zen 4, two threads, 767 random permutations of 17 to 80
// MB, AVX2 and vectors of a line, as nests and by blocks, from which the figures are: with them what is chosen takes 1.045 times
// as long as the faster of both, always nests 1.10. Emerald Rapids, two threads, 72 permutations of 5 to 20 axes, 24 to 150 MB: 20
// to 24 are moved by blocks, all by AVX2 in 0.89 of the time, by VBMI in 0.94; at 1.0 instead of 1.3 34 to 37, of which three or
// four take 1.05 to 1.5 times as long. 180 permutations of 20 to 120 MB: 26 staged ones by blocks 1.05 to 1.8 times as long but
// for one; of tiles that are estimated level up to 512 bytes of a source row 0.5 to 1.17, longer ones 1.03 to 1.4.)
struct WorthOfBlocks {
    double cached;  // by ordinary stores
    double cached_gathers;  // so, by gathers
    double staged;
    double staged_runs;  // by vectors of a line, or with the source read in blocks
    double streamed;  // past the caches as it comes, by none of those that follow
    double tiles;  // so, by tiles, gathers, transposes into runs and transposes that gather
    double short_tiles;  // by tiles that read 512 bytes of each source row at most
    double lines;  // by tiles that collect lines
    double lines_by_halves;  // by vectors shorter than these
    double short_lines;  // by such as read so little, by vectors of any length
};

struct Processor {
    // What a transpose past the caches writes of each destination row at a time, by log2 of an element's bytes: where its rows
    // begin at one place of a line. (Of others it is as much as may be.) Where prefetchers follow the source, it is where they do
    // not, if its rows lie in more pages than they follow, and lines are staged.
    std::array<std::int64_t, 5> panel_bytes;
    // Instead, where lines are staged because parts of them would leave by themselves; 0: the same.
    std::int64_t staged_panel_bytes;
    // And at most so much of rows that are short on either side, where prefetchers do not follow the source.
    std::int64_t short_panel_bytes;
    // So many pages of the source are followed; 0: the kernels ask for what they read.
    std::int64_t followed_pages;
    // Single lines leave for rows far apart much slower than longer runs do: bytes are transposed by way of a stage.
    bool stages_bytes;
    // Lines past the caches that may be written in parts, so many at a time, and so many at one place of their pages; of more each
    // part leaves by itself.
    std::int64_t open_lines;
    std::int64_t open_lines_at_place;
    // Source rows that lie in few sets of the caches are read some lines at a time.
    bool reads_row_blocks;
    // Bytes that one core may well fill alone of a last-level cache that the guests of a machine share, or of which the system
    // says nothing.
    std::int64_t shared_cache_bytes;
    // Rows of so many bytes that all begin at one place inside a line are shifted onto the lines, where vectors are shorter than
    // these.
    std::int64_t least_shifted_row;
    // String instructions (rep stos, rep movs) write whole lines without reading them first, faster than vectors do.
    bool repeats_by_strings;
    // Stores wait for their lines one after the other, also where these lie in the second-level cache: kernels ask for them.
    // (Emerald Rapids, two threads, 440 permutations of 20 KB to 24 MB on both sides, against transposes past the second-level
    // caches alone, which gain 1.06 to 1.15: by AVX2 1.06 times as fast, by vectors of a line 1.09; streams dealt out 1.14 and
    // 1.48, batches of transposes 1.08 and 1.03, strided elements 1.10 and 1.13, rows 1.04 and 1.03.)
    bool claims_lines;
    WorthOfBlocks worth_of_blocks;
    // What is moved by blocks is streamed as soon as other nests are, and not only far beyond the caches. (Zen 4, two threads,
    // 11 and 6 permutations of 26 to 32 MB: by AVX2 1.37 times as fast, by vectors of a line 1.39.)
    bool streams_blocks;
    // Transposes, and all else that asks for PlanContext::large, go past the caches where what is touched fills more than this of
    // the room in which ordinary stores may gain by them (plan/context.cpp).
    double transposes_stream_from;
    // Rows do where it fills this much. (Zen 4 whose caches guests share, AVX2, two threads, 33 cases of 16 to 20 MB on each side:
    // past them 1.67 times as fast, 1.21 with a reader of the result behind each call; interleaved streams of that size 1.09 and
    // 0.89.)
    double rows_stream_from;
    // Its first-level cache has 32 KiB in 8 ways and takes vectors of a line in halves: a stage, which takes room there and twice
    // the stores, helps only where lines of both sides meet.
    bool small_first_level;
};

// (Zen 4: with claimed lines, 98 random shapes, 0.99 times as fast by AVX2, level by vectors of a line.)
//
// Zen: its prefetchers are not needed, since the kernels ask for what they read. (Zen 5: lines for 64 rows 19 GB/s, runs of
// four lines 60. Zen 4, vectors of 32 bytes, 2000 to 4000 rows of the source, of elements of 2 bytes: 16 open lines 0.27 to 0.48
// of the speed of staged ones; of 4 and 8 bytes, 8 and 4 open lines: level. Zen 5, two threads, 20 to 46 MB, short rows in panels of
// 256 bytes instead of 128: rows multiples of 1 KiB apart 1.1 to 1.7 times as fast, bytes in others 0.95 to 1.15, wider elements in
// others 0.94 to 1.04; 512 bytes level with 256 but for elements of 2 bytes, 0.86.)
inline constexpr Processor kManyStreams{
    .panel_bytes = {512, 512, 512, 512, 512},
    .staged_panel_bytes = 0,
    .short_panel_bytes = 256,
    .followed_pages = 0,
    .stages_bytes = true,
    .open_lines = 8,
    .open_lines_at_place = 8,
    .reads_row_blocks = true,
    .shared_cache_bytes = 32 << 20,
    .least_shifted_row = 96,
    .repeats_by_strings = false,
    .claims_lines = false,
    .worth_of_blocks = {.cached = 1.3,
                        .cached_gathers = 0.75,
                        .staged = 1.3,
                        .staged_runs = 2.2,
                        .streamed = 1.2,
                        .tiles = 2.2,
                        .short_tiles = 1.6,
                        .lines = 1.3,
                        .lines_by_halves = 0.75,
                        .short_lines = 0.85},
    .streams_blocks = true,
    .transposes_stream_from = 0.5,
    .rows_stream_from = 0.8,
    .small_first_level = false,
};

// Zen 4, and those before it, whose first-level cache is like its own. (plan/strategies/tile_transpose_sizes.cpp has its figures.
// least_shifted_row, AVX2, one thread, 0.2 to 2 MB, rows 16 bytes behind a line, not shifted, in the mean of 8: of 128 bytes 1.04 to
// 1.17 times as fast, of 192 to 384 1.0 to 1.17, of 512 0.92 to 1.03, of 1024 to 4096 0.8 to 0.99; of 14 and more axes of 2 and 3
// up to 1.6. open_lines: the halves of eight open lines leave one by one for seconds on end, perhaps while a neighbour computes on
// the same cores: 4000x4000 elements of 4 bytes at 4.4 GB/s by one thread and 8.6 by two instead of 29 and 33; those of four lines
// never did. Eight shapes of 26 to 64 MB, staged against eight open lines, the means of fifteen turns: 1.80 times as fast by one
// thread and 1.94 by two, in panels of 256 bytes 1.66 and 1.72; at other times 0.5 to 1.0 and 0.9 to 1.4.)
inline constexpr Processor kSmallCaches = [] {
    Processor processor = kManyStreams;
    processor.short_panel_bytes = 128;
    processor.open_lines = 4;
    processor.least_shifted_row = 512;
    processor.small_first_level = true;
    return processor;
}();

// Without AVX-512: Zen 3 and those before it. (Zen 3, AVX2, two threads, 48 to 80 MB on each side. Two lines at one place of
// their pages, as rows that lie multiples of 1 KiB apart have them of elements of 4 bytes, of 2 KiB of 8 bytes: 11 to 15 GB/s
// by halves of lines, staged 1.6 to 3.2 times as fast in panels of 256 bytes, 1.7 to 2.4 of 512; else 25 to 44 GB/s, staged 0.6
// to 1.2 times as fast. Halves of lines in panels of 256 bytes instead of 512: of 4 bytes 1.06 to 1.15, of 128: of 8 bytes 1.15
// to 1.31, of 16 bytes 1.34 and 1.52. Zen 4, one and two threads, 18 to 134 MB, staged with whole lines of the source: of 4 and 8 bytes
// in rows 8 to 32 KiB apart in panels of 512 bytes 1.1 to 1.5 times as fast as of 128; of 8 and 16 bytes level with 256, 0.8 to 1.2.
// Of 1 and 2 bytes in short rows, staged: in panels of as much as may be instead of 128 bytes 0.96 to 1.38, seven of nine 1.0 and
// more. What is moved by blocks since lines are staged, rank 6 and 8 of 16s and 8s: 1.5 to 2.0.)
inline constexpr Processor kFewOpenLines = [] {
    Processor processor = kSmallCaches;
    processor.panel_bytes = {512, 512, 256, 128, 128};
    processor.staged_panel_bytes = 512;
    processor.open_lines_at_place = 1;
    return processor;
}();

// Zen 5. (plan/strategies/repeat.cpp has the figures of strings. transposes_stream_from, a last-level cache of 32 MiB, two threads,
// 36 transposes of 10 to 13 MB on each side, through it against past it: by AVX2 1.19 times as fast, by vectors of a line 1.25, by
// the portable kernels 1.14; of 13 to 16 MB 0.6 to 1.2. Seven of them with a reader of the result behind each call 1.35 to 1.9
// times; beside a neighbour that copies through the same cache all the time 0.55 to 1.7, by one thread 0.45 to 0.7.
// worth_of_blocks.cached, 17 to 100 MB, four sets of 28 to 40 permutations, against none moved by blocks: 1.12 to 1.34 times as
// fast, with the factor of Zen 4 1.12 to 1.29. A factor of 0.75 for `lines`, not taken, gains 1.02 in 166 permutations; matrices
// of bytes 1.2, of 2 and 4 bytes 0.83 to 1.04.)
inline constexpr Processor kStrings = [] {
    Processor processor = kManyStreams;
    processor.repeats_by_strings = true;
    processor.transposes_stream_from = 0.65;
    processor.worth_of_blocks.cached = 1.1;
    return processor;
}();

// Intel's: a second-level cache follows some streams, one in a page. (Granite Rapids, two threads: of 32 rows 34 GB/s are read, of
// 64 25, of 128 whose pitch is 16 KiB 9; single lines 27 GB/s, two 50. Emerald Rapids, two threads, past the caches, against
// panels of two lines: rows of 32 bytes in panels of 512 bytes 1.3 to 1.7 times as fast, of 250 to 2400 bytes in panels of 256 1.0
// to 1.15; longer rows of elements of 4 bytes in panels of 192 1.0 to 1.1 times, of 256 1.1 up to 80 MB and 0.83 above, of elements
// of 1 and 2 bytes in panels of 256 1.0 to 1.15 where lines are staged, else 0.6 to 1.0, and 0.7 to 0.9 in few cache sets. Transposes
// of 17 to 134 MB by halves of lines are at 0.17 to 0.31 of a copy's speed where 8 to 32 rows are written; at 0.8 to 0.9
// where 4 are; staged at 0.5 to 0.84. Ice Lake, where 4 are, elements of 8 bytes, 16 to 240 MB: 10 to 21 GB/s by halves of
// lines, staged 21 to 29; of 16 bytes 19 and 24. Shuffles of 24 to 96 MB by gathers of 16 bytes: 0.38 to 0.45 by ordinary
// stores, 0.60 to 0.69 past the caches. Two CPUs of an Ice Lake that see 48 MiB: a copy by ordinary stores is at 0.85 of one
// past the caches where both arrays have 18 MB, at 0.6 to 0.7 from 24 MB on. With a reader of the result behind it, it takes
// 0.6 to 0.9 of the time up to 16 MB, 0.7 to 1.6 at 20 to 24, 1.3 to 1.7 at 32, 0.9 to 1.2 at 40 and 48.)
inline constexpr Processor kFewStreams{
    .panel_bytes = {256, 256, 256, 256, 256},
    .staged_panel_bytes = 0,
    .short_panel_bytes = 0,
    .followed_pages = 48,
    .stages_bytes = false,
    .open_lines = 1,
    .open_lines_at_place = 1,
    .reads_row_blocks = false,
    .shared_cache_bytes = 20 << 20,
    .least_shifted_row = 96,
    .repeats_by_strings = false,
    .claims_lines = true,
    .worth_of_blocks = {.cached = 1.3,
                        .cached_gathers = 1.3,
                        .staged = 1.3,
                        .staged_runs = 1.3,
                        .streamed = 1.3,
                        .tiles = 1.3,
                        .short_tiles = 0.95,
                        .lines = 1.3,
                        .lines_by_halves = 1.3,
                        .short_lines = 0.95},
    .streams_blocks = false,
    .transposes_stream_from = 0.5,
    .rows_stream_from = 1.0,
    .small_first_level = false,
};

// The one that this is, or is most like.
const Processor& this_processor();

}  // namespace dnnmove
