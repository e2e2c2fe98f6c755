// What the planner decides, by the properties that matter: bytes that it counts, units, stores.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <regex>
#include <vector>

#include "nest_text.hpp"
#include "plan/canonical.hpp"
#include "plan/chains.hpp"
#include "plan/lines.hpp"
#include "plan/plan.hpp"
#include "plan/program.hpp"
#include "plan/shares.hpp"
#include "runtime/cpu.hpp"
#include "view/mosaic.hpp"
#include "test.hpp"

using namespace dnnmove;

namespace {

// How many bytes of the source a nest of plain loops touches, one by one.
std::int64_t count_read(const Nest& nest) {
    std::vector<std::int64_t> starts{0};
    for (const Loop& loop : nest.loops) {
        std::vector<std::int64_t> all;
        for (const std::int64_t start : starts) {
            for (std::int64_t k = 0; k < loop.extent; ++k) all.push_back(start + k * loop.src_stride);
        }
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        starts = std::move(all);
    }
    std::int64_t bytes = 0;
    std::int64_t end = starts.front();
    for (const std::int64_t start : starts) {
        bytes += start + nest.itemsize - std::max(start, end);
        end = start + nest.itemsize;
    }
    return bytes;
}

std::int64_t bytes_written(const Nest& nest) {
    std::int64_t bytes = nest.itemsize;
    for (const Loop& loop : nest.loops) bytes *= loop.extent;
    return bytes;
}

// A dense destination: `extents` and `strides` of the source, outermost first.
Nest into_dense(const Dims& extents, const Dims& strides, std::int64_t itemsize) {
    Nest nest;
    nest.itemsize = itemsize;
    std::int64_t dst_stride = itemsize;
    for (std::size_t k = extents.size(); k-- > 0;) {
        nest.loops.insert(nest.loops.begin(), Loop{extents[k], strides[k], dst_stride});
        dst_stride *= extents[k];
    }
    return nest;
}

std::string explain(const Nest& nest, const PlanOptions& options = {Isa::scalar, 64, {}}) {
    PlanOptions best = options;
    best.isa = best_isa();
    return Program({Transfer{0, 0, nest}}, best).explain(1);
}

std::int64_t units(const Nest& nest) {
    const std::string text = explain(nest);
    std::smatch found;
    return std::regex_search(text, found, std::regex("([0-9]+) units")) ? std::stoll(found[1]) : -1;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// Windows of `size` elements of 4 bytes, `step` elements apart, that write `bytes` bytes or a little less.
Nest windows(std::int64_t size, std::int64_t step, std::int64_t bytes) {
    return into_dense({bytes / (4 * size), size}, {4 * step, 4}, 4);
}

}  // namespace

TEST_CASE("bytes read by windows are those between the first and the last") {
    CHECK(bytes_read(windows(400, 160, 16000)) == 4 * (9 * 160 + 400));
    CHECK(bytes_read(windows(16, 1, 6400)) == 4 * (99 + 16));
    CHECK(bytes_read(windows(16, 20, 6400)) == 6400);
    // 3 x 3 windows of 2 images of 4 channels, 10 x 12: rows of windows, then the windows.
    const Nest images = into_dense({2, 8, 10, 4, 3, 3}, {1920, 48, 4, 480, 48, 4}, 4);
    CHECK(bytes_read(images) == 2 * 4 * 10 * 12 * 4);
    CHECK(bytes_read(into_dense({5, 7, 3}, {0, 8, 0}, 8)) == 56);    // repeated
    CHECK(bytes_read(into_dense({5, 7}, {-28, -4}, 4)) == 140);      // reversed
    CHECK(bytes_read(into_dense({5, 7}, {4096, 8}, 4)) == 140);      // with gaps
    CHECK(bytes_read(into_dense({5, 0, 3}, {24, 8, 8}, 4)) == 0);
    CHECK(bytes_read(Nest{{}, 0, 0, 24}) == 24);
}

TEST_CASE("bytes read are never too few") {
    testing::each_round(500, 20, [](std::mt19937& random, int) {
        const auto pick = [&](std::int64_t low, std::int64_t high) {
            return std::uniform_int_distribution<std::int64_t>(low, high)(random);
        };
        const auto rank = static_cast<std::size_t>(pick(0, 4));
        Dims extents;
        Dims strides;
        for (std::size_t k = 0; k < rank; ++k) {
            extents.push_back(pick(1, 6));
            strides.push_back(pick(-4, 4) * pick(1, 8));
        }
        const Nest nest = into_dense(extents, strides, pick(1, 5));
        INFO(testing::literal(nest));
        CHECK(bytes_read(nest) >= count_read(nest));
        CHECK(bytes_read(nest) <= bytes_written(nest));
        CHECK(bytes_read(canonical(nest)) >= count_read(nest));
    });
}

// What is written and what is read once fit into the cache, though the windows together are larger.
TEST_CASE("windows that fit into the cache are stored ordinarily") {
    const std::int64_t cache = last_level_cache().usable(this_processor().shared_cache_bytes);
    for (const auto& window : {std::pair{400, 160}, {1024, 256}, {64, 1}}) {
        const std::int64_t size = window.first, step = window.second;
        INFO("windows of ", size, ", ", step, " apart");
        CHECK(contains(explain(windows(size, step, cache / 4 * 3)), "stores cached"));
        CHECK(contains(explain(windows(size, step, cache * 3)), "non-temporal"));
    }
    CHECK(contains(explain(windows(1024, 1024 + 16, cache / 4 * 3)), "stores non-temporal"));  // apart: as much is read
}

// Two CPUs see their host's 48 MiB, of which less counts on Intel's processors. Rows, transposes, fills: 28, 20 and 50 MB.
TEST_CASE("of a cache that guests share as much counts as the processor fills") {
    const LastLevelCache shared{48 << 20, 2};
    const auto stores_past = [&](const Nest& nest, const Processor& processor) {
        return contains(explain(nest, {Isa::scalar, 64, {}, &processor, &shared}), "non-temporal");
    };
    const Nest rows = into_dense({700, 20}, {1000, 700000}, 1000);
    const Nest transposed = into_dense({1600, 1600}, {4, 6400}, 4);
    const Nest filled = into_dense({50'000'000}, {0}, 1);
    for (const Nest& nest : {rows, transposed, filled}) {
        CHECK(stores_past(nest, kFewStreams));
        CHECK(!stores_past(nest, kManyStreams));
    }
}

TEST_CASE("short repeats are gathered in blocks of whole windows, longer ones filled" * doctest::skip(best_isa() < Isa::avx2)) {
    const auto repeated = [](std::int64_t times, std::int64_t itemsize) {
        return explain(into_dense({100'000, times}, {itemsize, 0}, itemsize));
    };
    const std::int64_t window = kernels_for(best_isa()).gather_bytes;
    for (const std::int64_t times : {2, 3, 4}) {
        for (const std::int64_t itemsize : {1, 2}) {
            CAPTURE(itemsize);
            CAPTURE(times);
            const std::string plan = repeated(times, itemsize);
            CHECK(contains(plan, "kernel gather"));
            const std::string block = "block of " + std::to_string(window / itemsize) + " steps";
            CHECK(contains(plan, block.c_str()));
        }
    }
    CHECK(contains(repeated(50, 4), "kernel fill"));
    CHECK(contains(repeated(16, 8), "kernel fill"));
}

// n x m elements, transposed in the caches. Zen 5 stages what falls into few sets; Zen 4 elements of 2 and 4 bytes in rows that begin at
// different places of a line, and what falls into the sets that the other side falls into, by shorter vectors, too. (With many
// streams the cases by shorter vectors are those of 32 bytes.)
TEST_CASE("a small first-level cache has lines staged where little else helps") {
    const auto is_staged = [](std::int64_t n, std::int64_t m, std::int64_t itemsize, std::int64_t alignment,
                              const Processor& processor) {
        PlanOptions options{Isa::scalar, alignment, {}, &processor};
        options.variant.stores = Variant::Stores::cached;
        return contains(explain(into_dense({m, n}, {itemsize, m * itemsize}, itemsize), options), "by whole lines");
    };
    struct Case {
        std::int64_t n, m, itemsize, alignment;
        bool many_streams, small_caches;  // by vectors of a line
        bool many_halves = false, small_halves = false;  // by shorter ones
    };
    for (const Case& c : std::initializer_list<Case>{
             {1024, 1024, 4, 16, true, false, true, true},  // rows in one set, which begin at one place of a line
             {1023, 1000, 4, 16, true, true},  // at different ones
             {2047, 1200, 1, 16, true, false, true},  // tiles of bytes take longer over each line
             {1024, 1024, 4, 64, true, false, true, true},  // a tile stores each line at once
             {1024, 2048, 4, 16, true, false, true},  // too much for the caches to help
             {1024, 1024, 8, 16, true, false, true},  // wide elements: whole rows
             {513, 513, 8, 16, false, true},  // both sides in the same sets
             {1025, 1025, 4, 16, true, true, true, true},
             {1025, 1025, 8, 16, false, true},  // wide elements: not by short vectors
             {511, 511, 8, 16, false, false},  // in sets that drift apart
             {1361, 1361, 4, 16, false, false},  // in many sets
             {512, 512, 8, 16, true, false, true, true},
             {512, 512, 4, 16, true, false, true},  // 2 KiB: source rows have two places
             {1024, 1000, 4, 16, true, false},  // source rows have many
             {1000, 1024, 4, 16, false, false},  // each line of them is taken at once
             {1024, 1024, 1, 16, false, false},  // bytes
             {512, 512, 16, 16, false, false},
         }) {
        INFO(c.n, " x ", c.m, " elements of ", c.itemsize, " bytes, aligned to ", c.alignment);
        const bool by_lines = best_isa() >= Isa::avx512;
        if (best_isa() >= Isa::avx2) {
            CHECK(is_staged(c.n, c.m, c.itemsize, c.alignment, kManyStreams) == (by_lines ? c.many_streams : c.many_halves));
        }
        CHECK(is_staged(c.n, c.m, c.itemsize, c.alignment, kSmallCaches) == (by_lines ? c.small_caches : c.small_halves));
    }
}

// Elements of 4 bytes whose axes are reversed, in the caches.
TEST_CASE("a small first-level cache has chains staged whose source rows lie at one place of their pages") {
    const auto is_staged = [](std::int64_t outer, std::int64_t middle, std::int64_t inner) {
        PlanOptions options{Isa::scalar, 64, {}, &kSmallCaches};
        options.variant.stores = Variant::Stores::cached;
        const Nest nest{
            {{inner, 4, 4 * outer * middle}, {middle, 4 * inner, 4 * outer}, {outer, 4 * inner * middle, 4}}, 0, 0, 4};
        return contains(explain(nest, options), "by whole lines");
    };
    const bool by_halves = best_isa() < Isa::avx512;
    CHECK(is_staged(64, 64, 64) == by_halves);
    CHECK(is_staged(32, 96, 32) == by_halves);
    CHECK(!is_staged(16, 256, 32));  // sixteen rows of the source at one place, the next ones at others
    CHECK(!is_staged(64, 65, 64));  // at many
    CHECK(!is_staged(128, 128, 128));  // too much for the caches to help
}

// n x m elements, transposed in the caches by vectors of 32 bytes, which come back for the other half of each line of the source.
TEST_CASE("shorter vectors read as many source rows as the first-level cache keeps" * doctest::skip(best_isa() != Isa::avx2)) {
    const auto rows = [](std::int64_t n, std::int64_t m, std::int64_t itemsize, const Processor& processor) {
        PlanOptions options{Isa::scalar, 64, {}, &processor};
        options.variant.stores = Variant::Stores::cached;
        const std::string text = explain(into_dense({m, n}, {itemsize, m * itemsize}, itemsize), options);
        std::smatch found;
        REQUIRE(std::regex_search(text, found, std::regex("source rows [0-9]+ in tiles of ([0-9]+)")));
        return std::stoll(found[1]);
    };
    CHECK(rows(2560, 2000, 1, kManyStreams) == 256);
    CHECK(rows(2688, 2000, 1, kSmallCaches) == 192);
    CHECK(rows(2560, 2000, 1, kFewStreams) == 512);
    CHECK(rows(2560, 2000, 4, kManyStreams) == 128);
    // Source rows 4 KiB apart lie in one set, in which rows of the destination may lie, too.
    CHECK(rows(768, 1024, 4, kManyStreams) == 16);
    CHECK(rows(768, 1024, 4, kFewStreams) == 128);
    CHECK(rows(1104, 512, 8, kManyStreams) == 8);  // four rows of the destination in four sets
    CHECK(rows(1280, 512, 8, kManyStreams) == 16);  // in two
    CHECK(rows(768, 256, 16, kManyStreams) == 16);  // two in one
    CHECK(rows(784, 256, 16, kManyStreams) == 8);  // in two
    CHECK(rows(784, 128, 16, kManyStreams) == 16);  // source rows 2 KiB apart lie in two sets
    // Not where they drift apart.
    CHECK(rows(768, 1028, 4, kManyStreams) == 128);
    // Of a source that is one vector wide nothing is come back for.
    const auto columns = [](std::int64_t count, const Processor& processor) {
        PlanOptions options{Isa::scalar, 64, {}, &processor};
        options.variant.stores = Variant::Stores::cached;
        return explain(into_dense({count, 768}, {4, 4096}, 4), options);
    };
    CHECK(contains(columns(8, kManyStreams), "source rows 768 in tiles of 128,"));
    CHECK(contains(columns(16, kManyStreams), "source rows 768 in tiles of 16,"));
    // Such a cache as Zen 4's keeps what is read of them until the line is done with, if the rows of the destination let it.
    CHECK(contains(columns(64, kSmallCaches), "source by lines"));
    CHECK(!contains(columns(64, kManyStreams), "source by lines"));
    const auto by_lines = [](std::int64_t pitch) {
        PlanOptions options{Isa::scalar, 64, {}, &kSmallCaches};
        options.variant.stores = Variant::Stores::cached;
        const Nest nest{{{64, 4, pitch}, {64, 2048, 4}}, 0, 0, 4};
        return contains(explain(nest, options), "source by lines");
    };
    CHECK(by_lines(256));
    CHECK(by_lines(1024));  // of 16 rows four lie in one set
    CHECK(!by_lines(2048));
    // Whatever the size, where lines may be claimed.
    CHECK(rows(400, 40, 1, kFewStreams) == 400);
    CHECK(rows(400, 40, 1, kManyStreams) == 256);
}

// Transposed past the caches, where rows of the destination are short.
TEST_CASE("short rows are streamed in panels as long as the processor likes, if their source rows fit ahead") {
    const auto tiled = [](const Nest& nest, std::int64_t rows, const Processor& processor) {
        PlanOptions options{Isa::scalar, 64, {}, &processor};
        options.variant.stores = Variant::Stores::nontemporal;
        const std::regex wanted("source rows [0-9]+ in tiles of " + std::to_string(rows) + ",");
        return std::regex_search(explain(nest, options), wanted);
    };
    const auto matrices = [](std::int64_t count, std::int64_t n, std::int64_t m) {  // of elements of 4 bytes
        return into_dense({count, m, n}, {4 * n * m, 4, 4 * m}, 4);
    };
    CHECK(tiled(matrices(1, 480, 12000), 64, kManyStreams));
    CHECK(tiled(matrices(1, 480, 12000), 32, kSmallCaches));
    CHECK(tiled(matrices(100, 320, 100), 64, kManyStreams));
    CHECK(tiled(matrices(100, 320, 252), 32, kManyStreams));  // 64 rows of 1008 bytes are too much
    CHECK(tiled(matrices(1, 240, 24000), 32, kManyStreams));  // rows of 960 bytes have few panels
    // Eight axes of 8: the source rows of a chain lie in few sets.
    const Nest axes = into_dense({8, 8, 8, 8, 8, 8, 8, 8}, {4, 8388608, 131072, 32, 1048576, 256, 16384, 2048}, 4);
    CHECK(tiled(axes, 32, kManyStreams));
}

TEST_CASE("chains of loops whose steps lie in few sets are staged" * doctest::skip(best_isa() < Isa::avx2)) {
    // The axes of a dense array, reversed.
    const auto is_staged = [](const Dims& axes, std::int64_t itemsize, const Processor& processor) {
        PlanOptions options{Isa::scalar, 64, {}, &processor};
        options.variant.stores = Variant::Stores::cached;
        Dims extents(axes.rbegin(), axes.rend());
        Dims strides;
        std::int64_t stride = itemsize;
        for (const std::int64_t extent : extents) {
            strides.push_back(stride);
            stride *= extent;
        }
        return contains(explain(into_dense(extents, strides, itemsize), options), "by whole lines");
    };
    CHECK(is_staged({32, 32, 32, 32}, 4, kManyStreams));
    CHECK(is_staged({32, 32, 32, 32}, 2, kManyStreams));
    CHECK(is_staged({16, 16, 16, 16, 16}, 1, kManyStreams));
    CHECK(!is_staged({30, 31, 33, 34}, 4, kManyStreams));
    CHECK(!is_staged({32, 32, 32, 32}, 4, kFewStreams));
    // Short rows by shorter vectors only.
    CHECK(is_staged({512, 16, 512}, 1, kManyStreams) == (best_isa() == Isa::avx2));
    CHECK(is_staged({192, 32, 128}, 4, kManyStreams) == (best_isa() == Isa::avx2));
}

// m x n elements, transposed past the caches: rows of the destination are n elements long. (The tiles are those of vectors of 32 bytes.)
TEST_CASE("lines are staged where few may be open, or few at one place of their pages" *
          doctest::skip(best_isa() != Isa::avx2)) {
    const auto plan = [](const Nest& nest, const Processor& processor) {
        PlanOptions options{Isa::scalar, 64, {}, &processor};
        options.variant.stores = Variant::Stores::nontemporal;
        return explain(nest, options);
    };
    const auto is_staged = [&](std::int64_t n, std::int64_t m, std::int64_t itemsize, const Processor& processor) {
        return contains(plan(into_dense({m, n}, {itemsize, m * itemsize}, itemsize), processor), "by whole lines");
    };
    CHECK(is_staged(4000, 4000, 4, kFewOpenLines));  // eight rows: more lines than are open, wherever they are
    CHECK(is_staged(4000, 4000, 4, kSmallCaches));
    CHECK(is_staged(256, 5000, 8, kFewOpenLines));  // 2 KiB: four rows have two places
    CHECK(!is_staged(128, 5000, 8, kFewOpenLines));  // 1 KiB: four
    CHECK(is_staged(256, 5000, 16, kFewOpenLines));  // 4 KiB: two rows have one
    CHECK(!is_staged(128, 5000, 16, kFewOpenLines));
    CHECK(!is_staged(1024, 2, 16, kManyStreams));
    CHECK(!is_staged(256, 5000, 4, kManyStreams));
    CHECK(!is_staged(256, 5000, 8, kManyStreams));
    CHECK(!is_staged(256, 5000, 8, kSmallCaches));
    // The rows of a chain of two loops, by turns near the first and near the 60th.
    const auto chained_staged = [&](std::int64_t n) {
        return contains(plan(into_dense({2, 60, n}, {8, 16, 960}, 8), kFewOpenLines), "by whole lines");
    };
    CHECK(chained_staged(256));
    CHECK(!chained_staged(272));
    // So many source rows at a time.
    const auto rows_of = [&](std::int64_t itemsize, std::int64_t rows, const Processor& processor) {
        const std::string text = "source rows 6000 in tiles of " + std::to_string(rows) + ",";
        return contains(plan(into_dense({5000, 6000}, {itemsize, 5000 * itemsize}, itemsize), processor), text.c_str());
    };
    CHECK(rows_of(4, 112, kFewOpenLines));
    CHECK(rows_of(8, 16, kFewOpenLines));
    CHECK(rows_of(16, 8, kFewOpenLines));
    CHECK(rows_of(4, 128, kManyStreams));
    CHECK(rows_of(8, 64, kManyStreams));
}

// Threads that shared rows of the result would write the same lines at the same time.
TEST_CASE("two threads have about as many rows of a small transpose each") {
    struct Case {
        std::int64_t matrices, rows, columns, itemsize;
    };
    for (const Case& c : std::initializer_list<Case>{{1, 363, 363, 4},
                                                     {1, 458, 953, 2},
                                                     {3, 289, 134, 4},
                                                     {1, 1365, 441, 1},
                                                     {1, 206, 671, 2},
                                                     {1, 422, 108, 8},
                                                     {3, 198, 52, 8},
                                                     {1, 1468, 249, 1}}) {
        INFO(c.matrices, " x ", c.rows, " x ", c.columns, " elements of ", c.itemsize, " bytes");
        const std::int64_t row = c.columns * c.itemsize;
        const Nest nest = into_dense({c.matrices, c.columns, c.rows}, {c.rows * row, c.itemsize, row}, c.itemsize);
        PlanContext context{&kernels_for(best_isa()), false, false, 64, 0};
        context.alone = true;
        const NestPlan plan(canonical(nest), context);
        const std::int64_t parts = plan.units() / plan.sharing().row_units;
        const std::int64_t tiles = parts / c.matrices;
        std::smatch found;
        const std::string text = plan.describe();
        const std::int64_t tile = std::regex_search(text, found, std::regex("destination rows [0-9]+ in tiles of ([0-9]+)"))
                                      ? std::stoll(found[1])
                                      : c.columns;
        CHECK((c.columns + tile - 1) / tile == tiles);
        const std::int64_t half = begin_of_part(plan.units(), plan.sharing().row_units, 1, 2);
        CHECK(half % plan.sharing().row_units == 0);
        const std::int64_t first = half / plan.sharing().row_units / tiles * c.columns +
                                   half / plan.sharing().row_units % tiles * tile;
        const std::int64_t all = c.matrices * c.columns;
        CHECK(std::max(first, all - first) * 100 <= all * 60);
    }
}

// Tiles of a are pieces of the same rows of the result: each thread takes all of them, of some of the rows.
TEST_CASE("threads take bands of strided elements, not pieces of rows" * doctest::skip(best_isa() < Isa::avx2)) {
    const auto bands = [](std::int64_t matrices, std::int64_t rows, std::int64_t columns, std::int64_t itemsize,
                          std::int64_t shares) {
        const std::int64_t row = columns * itemsize;
        const Nest nest = into_dense({matrices, columns, rows}, {rows * row, itemsize, row}, itemsize);
        PlanContext context{&kernels_for(Isa::avx2), false, false, 64, 0};
        context.alone = true;
        const NestPlan plan(canonical(nest), context);
        CHECK(contains(plan.describe(), "strided elements"));
        return bands_of(plan.sharing(), shares);
    };
    CHECK(bands(1, 200, 200, 12, 4) == 2);  // of 5 tiles each: of fewer the edges would be much
    CHECK(bands(1, 200, 2000, 12, 4) == 4);
    CHECK(bands(1, 60, 2000, 12, 4) == 1);  // one tile is as long as a row
    CHECK(bands(2, 200, 200, 12, 4) == 2);
    CHECK(bands(3, 200, 200, 12, 4) == 1);  // shares of matrices
    CHECK(bands(1, 200, 200, 12, 1) == 1);
    CHECK(bands(1, 200, 40, 12, 4) == 1);  // two tiles of rows
    // Of streams that are dealt out, more than a few: tiles of all of them.
    const auto bands_of_streams = [](std::int64_t matrices, std::int64_t streams) {
        const std::int64_t row = streams * 4;
        const Nest nest = into_dense({matrices, streams, 10912}, {10912 * row, 4, row}, 4);
        const NestPlan plan(canonical(nest), PlanContext{&kernels_for(Isa::avx2), false, false, 64, 0});
        CHECK(contains(plan.describe(), "deinterleave"));
        return bands_of(plan.sharing(), 4);
    };
    CHECK(bands_of_streams(2, 5) == 2);
    CHECK(bands_of_streams(3, 5) == 1);
    CHECK(bands_of_streams(2, 3) == 1);
    CHECK(bands_of_streams(2, 8) == 1);
}

// A line that two threads write goes back and forth between their caches, and takes as long each time as some hundred bytes.
TEST_CASE("two threads write few lines both") {
    constexpr std::int64_t kShares = 8;
    struct Case {
        Dims shape;
        std::vector<std::size_t> order;
        std::int64_t itemsize;
    };
    for (const Case& c : std::initializer_list<Case>{{{200, 200}, {1, 0}, 12},
                                                     {{128, 128}, {1, 0}, 13},
                                                     {{200, 200}, {1, 0}, 24},
                                                     {{300, 300}, {1, 0}, 40},
                                                     {{333, 333, 3}, {1, 0, 2}, 8},
                                                     {{364, 94, 24}, {2, 1, 0}, 2},
                                                     {{362, 361}, {1, 0}, 4},
                                                     {{458, 953}, {1, 0}, 2},
                                                     {{2, 10912, 5}, {0, 2, 1}, 4},
                                                     {{16, 14, 14, 64}, {0, 3, 1, 2}, 4},
                                                     {{300, 40, 50}, {1, 0, 2}, 4}}) {
        const Nest nest = view::Mosaic::dense(c.shape, c.itemsize).transpose(c.order).dense_nests().front();
        PlanContext context{&kernels_for(best_isa()), false, false, kLine, 0};
        context.alone = true;
        const NestPlan plan(canonical(nest), context);
        INFO(plan.describe());
        const std::int64_t bytes = element_count(c.shape) * c.itemsize;
        const testing::Bytes src(static_cast<std::size_t>(bytes), std::byte{1});
        std::vector<int> writers(static_cast<std::size_t>(bytes / kLine + 1));
        for (const std::int64_t thread : {0, 1}) {
            testing::Bytes room(static_cast<std::size_t>(bytes + kLine));
            std::byte* const dst = room.data() + (-into_line(room.data()) & (kLine - 1));
            const auto run = [&](std::int64_t begin, std::int64_t end) { plan.run(src.data(), dst, begin, end, nullptr); };
            for (std::int64_t k = thread * kShares / 2; k < (thread + 1) * kShares / 2; ++k) {
                run_part(plan.sharing(), {.chunk = k, .chunks = kShares, .threads = 2}, run);
            }
            for (std::int64_t k = 0; k < bytes; ++k) {
                if (dst[k] != std::byte{0}) writers[static_cast<std::size_t>(k / kLine)] |= 1 << thread;
            }
        }
        CHECK(std::find(writers.begin(), writers.end() - 1, 0) == writers.end() - 1);
        const auto both = std::count(writers.begin(), writers.end(), 3);
        CHECK(both * 200 <= bytes / kLine + 200);
    }
}

// Rows of 196 bytes in pairs, as a shuffle of 7 x 7 images in two groups has them: however many pairs there are,
// a kernel call takes many.
TEST_CASE("rows in small groups share kernel calls") {
    for (const std::int64_t pairs : {100, 256, 257, 512, 4096, 100003}) {
        for (const std::int64_t group : {2, 3, 5}) {
            const Nest nest = into_dense({pairs, group}, {196, 196 * pairs}, 196);
            CAPTURE(pairs);
            CAPTURE(group);
            const std::int64_t rows_per_unit = pairs * group / units(nest);
            CHECK(rows_per_unit * 196 >= std::min<std::int64_t>(4096, pairs * group * 196 / 2));
        }
    }
}

// Beyond the caches a few source rows are read at a time, where rows would come from everywhere.
TEST_CASE("rows that change places beyond the caches move in panels") {
    PlanOptions options{Isa::scalar, 64, {}};
    options.variant.stores = Variant::Stores::nontemporal;
    const auto swapped = [&](std::int64_t rows, std::int64_t columns, std::int64_t bytes) {
        return explain(into_dense({rows, columns}, {bytes, bytes * rows}, bytes), options);
    };
    for (const std::int64_t bytes : {24, 64, 96, 100, 196, 500}) {
        CAPTURE(bytes);
        CHECK(contains(swapped(300, 200, bytes), "transpose of rows"));
        CHECK(contains(swapped(300, 200, bytes), "stores non-temporal"));
    }
    CHECK(contains(swapped(300, 200, 128), "kernel rows"));  // whole lines: in the order of the source
    CHECK(contains(swapped(300, 20, 24), "stores staged"));  // runs of 480 bytes that follow each other
    CHECK(!contains(swapped(300, 4, 36), "transpose of rows"));
    options.variant.stores = Variant::Stores::cached;
    CHECK(!contains(swapped(300, 200, 96), "transpose of rows"));
}

// Elements of each line of the source are taken while it is near.
TEST_CASE("long elements are copied along the source's lines") {
    PlanOptions options{Isa::scalar, 64, {}};
    options.variant.stores = Variant::Stores::cached;
    const auto permuted = [&](const Dims& extents, const Dims& strides, std::int64_t bytes) {
        Dims in_bytes = strides;
        for (std::int64_t& stride : in_bytes) stride *= bytes;
        return explain(into_dense(extents, in_bytes, bytes), options);
    };
    // Rows of the source multiples of a page apart share a set, and elements are turned in blocks; not some lines further on, nor
    // few rows, nor few elements of each.
    for (const std::int64_t bytes : {12, 24, 40, 56}) {
        CAPTURE(bytes);
        CHECK(contains(permuted({500, 512}, {1, 1024}, bytes), "blocked transpose in the first-level cache"));
        CHECK(!contains(permuted({500, 512}, {1, 1030}, bytes), "blocked"));
        CHECK(!contains(permuted({500, 12}, {1, 1024}, bytes), "blocked"));
        CHECK(!contains(permuted({2, 512}, {1, 1024}, bytes), "blocked"));
    }
    // Axes reversed: along the innermost of the source, unless little of it and of the destination's rows is copied at a time.
    CHECK(contains(permuted({60, 11, 50}, {1, 60, 660}, 48), "elements 50 in tiles of 50, rows 60 "));
    CHECK(contains(permuted({60, 50, 11}, {1, 60, 3000}, 56), "elements 11 in tiles of 11, rows 60 "));
    CHECK(contains(permuted({2, 90, 4}, {1, 2, 180}, 36), "elements 4 in tiles of 4, rows 90 "));
    // Of more than half a line none are gathered.
    for (const std::int64_t bytes : {36, 48, 60}) CHECK(contains(permuted({512, 300}, {1, 512}, bytes), "strided elements"));
}

// A row that hardly exceeds a panel is one, and not one and a piece.
TEST_CASE("strided elements are transposed in few panels") {
    PlanOptions options{Isa::scalar, 64, {}};
    options.variant.stores = Variant::Stores::nontemporal;
    for (const std::int64_t rows : {29, 33, 42, 50, 63, 100, 169}) {
        const std::string text = explain(into_dense({5000, rows}, {9, 45000}, 9), options);
        CAPTURE(text);
        std::smatch found;
        const std::regex tiles("transpose of strided elements.*source rows ([0-9]+) in tiles of ([0-9]+)");
        REQUIRE(std::regex_search(text, found, tiles));
        const std::int64_t tile = std::stoll(found[2]);
        CHECK(std::stoll(found[1]) == rows);
        CHECK(std::min(rows, tile + extra_rows(9)) * 9 <= kMaxCellPanelBytes);
        CHECK((rows + tile - 1) / tile == (rows <= 42 ? 1 : (rows + 27) / 28));
    }
}
