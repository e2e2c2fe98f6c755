// The kernels of the best instruction set alone (gathers and records have tests of their own): every element size,
// sizes around whole vectors and lines, aligned and unaligned, against byte-by-byte copies; bytes around the
// destination stay.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "kernel_checks.hpp"
#include "plan/gather_table.hpp"
#include "plan/problem.hpp"
#include "plan/weave_table.hpp"

namespace {

using namespace testing;

#if defined(__x86_64__)
// Does the processor say what of the registers' state is in use?
bool says_what_is_in_use() {
    unsigned int a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(13, 1, &a, &b, &c, &d) != 0 && (a & 4) != 0;
}

// Calls a kernel; then, whether the upper half of a register that SSE can name is not zero: of 32 bytes (2), of 64 (6).
template <class Kernel, class... Arguments>
unsigned int upper_halves_in_use(Kernel kernel, const Arguments&... arguments) {
    unsigned int low = 0;
    unsigned int high = 0;
    kernel(arguments...);
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1) : "memory");
    return low & (1U << 2 | 1U << 6);
}
#endif

class Checker : public KernelChecks {
protected:
    static std::vector<std::int64_t> sizes(std::int64_t most) {
        std::vector<std::int64_t> all;
        for (std::int64_t bytes = 1; bytes < 200; ++bytes) all.push_back(bytes);
        for (std::int64_t bytes = 200; bytes <= most; bytes += 13) all.push_back(bytes);
        return all;
    }
    static std::vector<std::int64_t> around(std::int64_t side) {
        std::vector<std::int64_t> all;
        for (const std::int64_t size : {std::int64_t{1}, side / 4, side / 4 + 1, side / 2, side / 2 + 1, side - 1, side,
                                        side + 1, side + side / 2, 2 * side, 2 * side + 3}) {
            if (size > 0) all.push_back(size);
        }
        return all;
    }

    // Streams of `bytes` each, woven or dealt, `rows` times; the separate ones `pitch` apart.
    struct Woven {
        int width;
        int streams;
        bool deal;
        std::int64_t bytes;
        std::int64_t pitch;
        KernelLoop b;
    };
    void weave(const Woven& woven, bool by_lines, const std::byte* src, Room& room, KernelStores stores) {
        const auto& [width, streams, deal, bytes, pitch, b] = woven;
        const auto permutes = dnnmove::weave_permutes(width, streams, deal, by_lines);
        const std::byte* srcs[dnnmove::kMostWoven];
        std::byte* dsts[dnnmove::kMostWoven];
        for (int s = 0; s < streams; ++s) {
            srcs[s] = src + (deal ? 0 : s * pitch);
            dsts[s] = room.dst() + (deal ? s * pitch : 0);
        }
        (by_lines ? kernels_.weave_lines : kernels_.weave)({width, streams, deal, permutes.data()}, srcs, dsts, bytes, b,
                                                           stores);
        for (std::int64_t j = 0; j < b.extent; ++j) {
            for (std::int64_t k = 0; k < bytes / width; ++k) {
                for (std::int64_t s = 0; s < streams; ++s) {
                    const std::int64_t together = (k * streams + s) * width;
                    const std::int64_t apart = s * pitch + k * width;
                    put(room, j * b.dst_stride + (deal ? apart : together), src + j * b.src_stride + (deal ? together : apart),
                        width);
                }
            }
        }
    }

    void fill(std::int64_t bytes, std::int64_t extent) {
        for (const KernelStores stores : all_stores()) {
            each_phase(
                [&](const std::byte* src, Room& room) {
                    const KernelLoop b{2, 3, extent * bytes + 1};
                    kernels_.fill(src, room.dst(), bytes, {extent, 0, bytes}, b, stores);
                    for (std::int64_t j = 0; j < 2; ++j) {
                        for (std::int64_t i = 0; i < extent; ++i) put(room, j * b.dst_stride + i * bytes, src + j * 3, bytes);
                    }
                },
                "fill", {bytes, extent});
        }
    }

    // Matrices of `rows` by `columns`; `gap` bytes lie behind each row of the destination, three behind each of the source.
    void batch(std::int64_t width, std::int64_t rows, std::int64_t columns, const KernelLoop& a, std::int64_t gap,
               KernelStores stores) {
        std::vector<std::int64_t> src_rows;
        std::vector<std::int64_t> dst_rows;
        const std::int64_t pitch = columns * width + 3;
        // From the last row to the first, at the end of a buffer: nothing behind it may be read.
        for (std::int64_t j = rows; j-- > 0;) src_rows.push_back(j * pitch);
        for (std::int64_t i = 0; i < columns; ++i) dst_rows.push_back(i * (rows * width + gap));
        const std::int64_t before = a.src_stride < 0 ? -a.src_stride * (a.extent - 1) : 0;
        const std::int64_t behind = a.src_stride > 0 ? a.src_stride * (a.extent - 1) : 0;
        each_phase(
            [&](const std::byte* from, Room& room) {
                const std::vector<std::byte> all(from, from + before + behind + src_rows.front() + columns * width);
                const std::byte* const src = all.data() + before;
                kernels_.transpose_batch[dnnmove::log2_of(width)](src, src_rows.data(), room.dst(), dst_rows.data(), columns,
                                                                  rows, a, stores, stores.claim ? 4096 : 0);
                for (std::int64_t k = 0; k < a.extent; ++k) {
                    for (std::int64_t i = 0; i < columns; ++i) {
                        for (std::int64_t j = 0; j < rows; ++j) {
                            put(room, k * a.dst_stride + dst_rows[static_cast<std::size_t>(i)] + j * width,
                                src + k * a.src_stride + src_rows[static_cast<std::size_t>(j)] + i * width, width);
                        }
                    }
                }
            },
            "batch", {width, rows, columns, a.extent, gap});
    }

    void transpose(const std::byte* src, Room& room, int log2, std::int64_t out, std::int64_t in, bool lines,
                   std::int64_t gap = 5) {
        const std::int64_t width = std::int64_t{1} << log2;
        std::vector<std::int64_t> src_rows;
        std::vector<std::int64_t> dst_rows;
        for (std::int64_t j = 0; j < in + 64; ++j) src_rows.push_back(j * (out * width + 3) % 60000);
        for (std::int64_t i = 0; i < out; ++i) dst_rows.push_back(i * (in * width + gap));
        const dnnmove::RowsAhead ahead{src, src_rows.data()};
        if (!lines) {
            kernels_.transpose[log2](src, src_rows.data(), room.dst(), dst_rows.data(), out, in,
                                     {.prefetch = in % 2 == 0,
                                      .source_lines = static_cast<dnnmove::SourceLines>((out + in / 2) % 3),
                                      .claim = in % 3 == 0},
                                     ahead);
        } else {
            // Panels as the planner makes them: neighbours own whole lines.
            const std::int64_t tile = (dnnmove::kMaxPanelBytes - 64) / width;
            for (std::int64_t j = 0; j < in; j += tile) {
                const std::int64_t readable = std::min(in - j, tile + 64 / width);
                kernels_.transpose_lines[log2](src, src_rows.data() + j, room.dst() + j * width, dst_rows.data(), out, readable,
                                               std::min(tile, in - j), j == 0,
                                               {.nontemporal = j / tile % 2 == 0,
                                                .prefetch = true,
                                                .source_lines = static_cast<dnnmove::SourceLines>(out % 3)},
                                               ahead);
            }
        }
        for (std::int64_t i = 0; i < out; ++i) {
            for (std::int64_t j = 0; j < in; ++j) {
                put(room, dst_rows[static_cast<std::size_t>(i)] + j * width,
                    src + src_rows[static_cast<std::size_t>(j)] + i * width, width);
            }
        }
    }

    void transpose_nontemporal(int log2, std::int64_t out, std::int64_t in) {
        const std::int64_t width = std::int64_t{1} << log2;
        const std::int64_t whole = (in * width + 63) / 64 * 64 / width;  // rows_in fills whole lines
        std::vector<std::int64_t> src_rows;
        std::vector<std::int64_t> dst_rows;
        for (std::int64_t j = 0; j < whole; ++j) src_rows.push_back(j * (out * width + 3));
        for (std::int64_t i = 0; i < out; ++i) dst_rows.push_back(i * (whole * width + 64));
        Room& room = cleared_room(0);
        kernels_.transpose[log2](source_.data(), src_rows.data(), room.dst(), dst_rows.data(), out, whole, {true, true},
                                 {source_.data(), src_rows.data()});
        for (std::int64_t i = 0; i < out; ++i) {
            for (std::int64_t j = 0; j < whole; ++j) {
                put(room, dst_rows[static_cast<std::size_t>(i)] + j * width,
                    source_.data() + src_rows[static_cast<std::size_t>(j)] + i * width, width);
            }
        }
        count(room, "transpose, non-temporal", {width, out, in});
    }
};

}  // namespace

TEST_CASE_FIXTURE(Checker, "rows of every length are copied with gaps between them") {
    for (const std::int64_t bytes : sizes(700)) {
        for (const KernelStores stores : all_stores()) {
            each_phase(
                [&](const std::byte* src, Room& room) {
                    const KernelLoop loop{3, bytes + 5, bytes + 9};
                    kernels_.copy_rows(src, room.dst(), bytes, loop, stores);
                    for (std::int64_t i = 0; i < 3; ++i) put(room, i * loop.dst_stride, src + i * loop.src_stride, bytes);
                },
                "rows", {bytes});
        }
    }
}

TEST_CASE_FIXTURE(Checker, "short runs are copied through two loops") {
    for (std::int64_t bytes = 1; bytes <= 64; ++bytes) {
        for (const KernelStores stores : cached_stores()) {
            each_phase(
                [&](const std::byte* src, Room& room) {
                    const KernelLoop a{5, bytes * 3, bytes + 1};
                    const KernelLoop b{2, 7, 500};
                    kernels_.copy_runs(src, room.dst(), bytes, a, b, stores);
                    for (std::int64_t j = 0; j < 2; ++j) {
                        for (std::int64_t i = 0; i < 5; ++i) {
                            put(room, j * 500 + i * a.dst_stride, src + j * 7 + i * a.src_stride, bytes);
                        }
                    }
                },
                "runs", {bytes});
        }
    }
}

TEST_CASE_FIXTURE(Checker, "short runs come from the places of a list") {
    std::array<std::int64_t, 40> places;
    for (std::size_t j = 0; j < places.size(); ++j) places[j] = static_cast<std::int64_t>(j * 11 % places.size()) * 13;
    for (std::int64_t bytes = 1; bytes <= 64; ++bytes) {
        for (const KernelStores stores : cached_stores()) {
            for (const std::int64_t rows : {1, 2}) {
                each_phase(
                    [&](const std::byte* src, Room& room) {
                        const KernelLoop a{rows, 9, 40 * (bytes + 1)};
                        const KernelLoop b{40, 0, bytes + 1, places.data()};
                        kernels_.copy_runs(src, room.dst(), bytes, a, b, stores);
                        for (std::int64_t i = 0; i < rows; ++i) {
                            for (std::size_t j = 0; j < places.size(); ++j) {
                                const auto to = static_cast<std::int64_t>(j) * b.dst_stride;
                                put(room, i * a.dst_stride + to, src + i * 9 + places[j], bytes);
                            }
                        }
                    },
                    "listed runs", {bytes});
            }
        }
    }
}

TEST_CASE_FIXTURE(Checker, "elements come from where a table says") {
    const std::array<std::int32_t, 11> places{0, 5, 2, 9, 1, 1, 30, 7, 3, 28, 4};
    const std::array<std::int64_t, 2> lines{0, 64};
    for (std::size_t log2 = 0; log2 < std::size(kernels_.copy_elements); ++log2) {
        const std::int64_t width = std::int64_t{1} << log2;
        for (std::int32_t count = 1; count <= static_cast<std::int32_t>(places.size()); ++count) {
            for (const std::int32_t asked : {0, 2}) {
                each_phase(
                    [&](const std::byte* src, Room& room) {
                        std::array<std::int32_t, 11> offsets{};
                        for (std::size_t k = 0; k < places.size(); ++k)
                            offsets[k] = places[k] * static_cast<std::int32_t>(width);
                        const std::array<dnnmove::RunPlace, 2> runs{{{0, 700}, {3 * width + 1, 0}}};
                        const dnnmove::ElementBlock block{offsets.data(), runs.data(), lines.data(), count, 2, asked};
                        const KernelLoop a{3, 7 * width, count * width};
                        kernels_.copy_elements[log2](block, src, room.dst(), a, {src, 1, src}, {.claim = asked > 1});
                        for (std::int64_t i = 0; i < a.extent; ++i) {
                            for (const auto& [from, to] : runs) {
                                for (std::int64_t k = 0; k < count; ++k) {
                                    put(room, to + (i * count + k) * width,
                                        src + from + i * a.src_stride + offsets[static_cast<std::size_t>(k)], width);
                                }
                            }
                        }
                    },
                    "elements by a table", {width, count, asked});
            }
        }
    }
}

TEST_CASE_FIXTURE(Checker, "runs change places with rows") {
    for (std::int64_t bytes = 1; bytes <= 64; ++bytes) {
        for (const std::int64_t rows : {1, 5, 16, 64}) {
            for (const KernelStores stores : all_stores()) {
                const std::int64_t most = std::min<std::int64_t>(64, dnnmove::kMaxTurnedBytes / (rows * bytes + 128));
                each_phase(
                    [&](const std::byte* src, Room& room) {
                        const KernelLoop b{rows == 16 ? most : 3, bytes + (rows == 5 ? 2 : 0), rows * bytes + 70};
                        const KernelLoop a{rows, std::max<std::int64_t>(900, b.extent * bytes), bytes};
                        kernels_.turn_runs(src, room.dst(), bytes, a, b, stores);
                        for (std::int64_t j = 0; j < b.extent; ++j) {
                            for (std::int64_t i = 0; i < rows; ++i) {
                                put(room, j * b.dst_stride + i * bytes, src + j * b.src_stride + i * a.src_stride, bytes);
                            }
                        }
                    },
                    "turned runs", {bytes, rows});
            }
        }
    }
}

TEST_CASE_FIXTURE(Checker, "patterns of every length are repeated") {
    for (std::int64_t bytes = 1; bytes <= 64; ++bytes) {
        for (const std::int64_t extent : {1, 2, 3, 5, 31, 64, 65, 130, 200}) fill(bytes, extent);
    }
    for (const std::int64_t bytes : {65, 72, 96, 100, 128, 192, 224, 320, 768, 833, 896, 960, 1000, 1024, 2047, 2048}) {
        for (const std::int64_t extent : {1, 3, 4, 9, 20}) fill(bytes, extent);
    }
}

TEST_CASE_FIXTURE(Checker, "bytes are streamed from and to any alignment") {
    for (const std::int64_t bytes : sizes(700)) {
        each_phase(
            [&](const std::byte* src, Room& room) {
                kernels_.stream(src, room.dst(), bytes);
                put(room, 0, src, bytes);
            },
            "stream", {bytes});
    }
}

#if defined(__x86_64__)
TEST_CASE("kernels leave the upper halves of vectors zero") {
    if (!says_what_is_in_use()) return;
    const std::vector<std::byte> src(8192, std::byte{1});
    std::vector<std::byte> room(8192);
    std::byte* const dst = room.data() + (-reinterpret_cast<std::uintptr_t>(room.data()) & 63);
    std::int64_t src_rows[128];
    std::int64_t dst_rows[64];
    for (std::int64_t k = 0; k < 128; ++k) src_rows[k] = k % 32 * 64;
    for (std::int64_t k = 0; k < 64; ++k) dst_rows[k] = k * 64;
    for (const dnnmove::Isa isa : dnnmove::available_isas()) {
        const Kernels& kernels = dnnmove::kernels_for(isa);
        const auto in_use = [&](const char* name, auto&&... arguments) {
            CAPTURE(name);
            CAPTURE(static_cast<int>(isa));
            CHECK(upper_halves_in_use(std::forward<decltype(arguments)>(arguments)...) == 0);
        };
        for (const std::int64_t bytes : {40, 640, 647}) in_use("stream", kernels.stream, src.data(), dst, bytes);
        std::vector<std::int64_t> sources;  // two streams of 64 bytes, interleaved
        for (std::int64_t k = 0; k < 128; ++k) sources.push_back(k % 2 * 512 + k / 2);
        auto table = *dnnmove::build_gather(sources, 1, {128}, kernels);
        table.loop_steps = 64;
        const dnnmove::RunPlace runs[2] = {{0, 0}, {1024, 1024}};
        for (const std::int64_t extent : {64, 500}) {
            const KernelLoop a{extent, 1, 2};
            in_use("gather", kernels.gather, table.block(), src.data(), dst, a, KernelLoop{2, 1024, 1024}, KernelStores{});
            in_use("gather_runs", kernels.gather_runs, table.block(), src.data(), dst, a, KernelLoop{2, 2048, 2048}, runs, 2);
        }
        for (const KernelStores stores : {KernelStores{false, false}, KernelStores{true, true}}) {
            for (const std::int64_t bytes : {70, 320, 327}) {
                in_use("copy_rows", kernels.copy_rows, src.data(), dst, bytes, KernelLoop{2, 3000, 640}, stores);
            }
            for (const std::int64_t bytes : {5, 32, 48, 60}) {
                in_use("copy_runs", kernels.copy_runs, src.data(), dst, bytes, KernelLoop{9, 100, bytes},
                       KernelLoop{2, 1000, 1024}, stores);
                in_use("fill", kernels.fill, src.data(), dst, bytes, KernelLoop{9, 0, bytes}, KernelLoop{2, 1000, 1024},
                       stores);
            }
            for (const std::int64_t width : {1, 2, 4, 8, 16}) {
                const std::size_t of = dnnmove::log2_of(width);
                for (const std::int64_t side : {64 / width, 64 / width - 1}) {
                    in_use("transpose", kernels.transpose[of], src.data(), src_rows, dst, dst_rows, side, side,
                           KernelStores{stores.nontemporal && side == 64 / width, stores.prefetch},
                           dnnmove::RowsAhead{src.data(), src_rows});
                    in_use("transpose_lines", kernels.transpose_lines[of], src.data(), src_rows, dst, dst_rows, side, side,
                           side, true, stores, dnnmove::RowsAhead{src.data(), src_rows});
                }
            }
        }
    }
}
#endif

TEST_CASE_FIXTURE(Checker, "strips of rows are copied and what follows them is kept") {
    for (const std::int64_t bytes : sizes(200)) {
        if (bytes == 0) continue;
        for (const std::int64_t more : {0, 7}) {
            each_phase(
                [&](const std::byte* src, Room& room) {
                    constexpr std::int64_t kRows = 70;
                    // Dense rows may be written beyond their ends; rows with gaps are followed by what comes later.
                    const KernelLoop rows{kRows, bytes + 2 * more, bytes + more};
                    kernels_.copy_strips(src, room.dst(), bytes, rows, bytes + more, {});
                    for (std::int64_t i = 0; i < kRows; ++i) {
                        put(room, i * rows.dst_stride, src + i * rows.src_stride, bytes);
                        if (more == 0 || i + 1 == kRows) continue;
                        const std::int64_t gap = i * rows.dst_stride + bytes;
                        put(room, gap, room.dst() + gap, more);  // anything
                    }
                },
                "strips", {bytes, more});
            each_phase(
                [&](const std::byte* src, Room& room) {
                    const KernelLoop rows{70, bytes + more, bytes};
                    kernels_.copy_strips(src, room.dst(), bytes, rows, 64, {});
                    for (std::int64_t i = 0; i < 70; ++i) put(room, i * bytes, src + i * rows.src_stride, bytes);
                },
                "dense strips", {bytes, more});
        }
    }
    for (const std::int64_t bytes : {64, 192}) {
        Room& room = cleared_room(0);
        kernels_.copy_strips(source_.data() + 1, room.dst(), bytes, {9, bytes + 5, bytes + 64}, bytes, {true, false});
        for (std::int64_t i = 0; i < 9; ++i) put(room, i * (bytes + 64), source_.data() + 1 + i * (bytes + 5), bytes);
        count(room, "streamed strips", {bytes});
    }
}

TEST_CASE_FIXTURE(Checker, "elements and rows are repeated by string instructions") {
    std::mt19937 random(7);
    const std::vector<std::byte> src = testing::random_bytes(140000, random);
    for (const std::int64_t bytes : {1, 2, 3, 4, 5, 8, 12, 16, 63, 64, 65, 1000, 4095, 4096, 5003, 70000, 131072, 139000}) {
        for (const std::int64_t least : {64, 200, 4100, 20000, 600000}) {
            const std::int64_t total = (least + bytes - 1) / bytes * bytes;
            for (const std::int64_t phase : {0, 1, 7, 8, 16, 40, 63}) {
                std::vector<std::byte> dst(static_cast<std::size_t>(total + 256), std::byte{0xAB});
                const std::int64_t at = 64 - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dst.data()) % 64) +
                                        phase;
                std::vector<std::byte> expected = dst;
                for (std::int64_t k = 0; k < total; k += bytes) std::memcpy(expected.data() + at + k, src.data() + 1, bytes);
                kernels_.repeat(src.data() + 1, bytes, dst.data() + at, total);
                INFO("elements of ", bytes, " bytes, ", total, " bytes in all, ", phase, " bytes into a line");
                CHECK(testing::difference(dst, expected) == "");
            }
        }
    }
}

TEST_CASE_FIXTURE(Checker, "elements of every size are transposed") {
    for (int log2 = 0; log2 < 5; ++log2) {
        const std::int64_t width = std::int64_t{1} << log2;
        const std::int64_t side = kernels_.vector_bytes / width;
        for (const std::int64_t out : around(side)) {
            for (const std::int64_t in : around(side)) {
                for (const std::int64_t gap : {5, 0}) {
                    each_phase([&](const std::byte* src, Room& room) { transpose(src, room, log2, out, in, false, gap); },
                               "transpose", {width, out, in, gap});
                }
                transpose_nontemporal(log2, out, in);
            }
        }
    }
}

// Rows below a whole tile are covered by smaller ones, by lanes and one by one; few columns likewise.
TEST_CASE_FIXTURE(Checker, "batches of small matrices are transposed") {
    for (std::size_t log2 = 0; log2 < std::size(kernels_.transpose_batch); ++log2) {
        const std::int64_t width = std::int64_t{1} << log2;
        const std::int64_t lane = 16 / width;
        for (std::int64_t rows = std::max<std::int64_t>(2, 4 / width); rows <= 4 * lane;
             rows += rows > 2 * lane ? lane / 2 : 1) {
            const bool dense = rows * width < 16 && !dnnmove::power_of_two(rows);  // stores reach into the next row
            for (const std::int64_t columns :
                 {std::int64_t{1}, lane - 1, lane, lane + 1, 2 * lane - 1, 2 * lane, 2 * lane + 1, 3 * lane, 4 * lane + 3}) {
                for (const std::int64_t extent : {1, 2, 3}) {
                    const std::int64_t apart = columns * (rows * width + 3) + 1;
                    for (const KernelStores stores :
                         {KernelStores{}, KernelStores{.claim = true}, KernelStores{.by_tiles = true},
                          KernelStores{.claim = true, .by_tiles = true}}) {
                        if (stores.by_tiles && (dense || columns < lane)) continue;
                        batch(width, rows, columns, {extent, rows * (columns * width + 3), rows * columns * width}, 0, stores);
                        if (!dense) batch(width, rows, columns, {extent, 5, apart}, 3, stores);
                        if (!dense) batch(width, rows, columns, {extent, -7, apart}, 3, stores);
                    }
                }
            }
        }
    }
}

TEST_CASE_FIXTURE(Checker, "parts of tiles are transposed") {
    for (int log2 = 0; log2 < 5; ++log2) {
        const std::int64_t width = std::int64_t{1} << log2;
        const std::int64_t side = kernels_.vector_bytes / width;
        for (std::int64_t part = 1; part <= side + side / 2; ++part) {
            for (const std::int64_t other : {std::int64_t{3}, side - 1, side, 2 * side + 3}) {
                for (const bool turned : {false, true}) {
                    const std::int64_t out = turned ? part : other, in = turned ? other : part;
                    if (out < 1 || in < 1) continue;
                    for (const std::int64_t gap : {5, 0}) {
                        each_phase([&](const std::byte* src, Room& room) { transpose(src, room, log2, out, in, false, gap); },
                                   "transpose of parts of tiles", {width, out, in, gap});
                    }
                }
            }
        }
    }
}

TEST_CASE_FIXTURE(Checker, "panels are transposed by whole lines") {
    for (int log2 = 0; log2 < 5; ++log2) {
        const std::int64_t width = std::int64_t{1} << log2;
        const std::int64_t side = kernels_.vector_bytes / width;
        for (const std::int64_t out : {std::int64_t{1}, side - 1, side, side + 1, 64 / width + 4}) {
            if (out == 0) continue;
            for (const std::int64_t in : {std::int64_t{1}, 128 / width, 200 / width, dnnmove::kMaxPanelBytes / width * 2 + 1}) {
                each_phase([&](const std::byte* src,
                               Room& room) { transpose(src, room, log2, out, std::max<std::int64_t>(1, in), true); },
                           "transpose_lines", {width, out, in});
            }
        }
    }
}

TEST_CASE_FIXTURE(Checker, "woven rows that follow each other are shifted onto the lines") {
    if (kernels_.weave_lines == nullptr) return;
    for (const int width : {1, 4, 16}) {
        for (const bool deal : {false, true}) {
            for (const int streams : {2, 4, 8, 16}) {
                for (const std::int64_t rows : {1, 2, 3}) {
                    for (const std::int64_t bytes : {64, 128}) {
                        if (deal && bytes != 64) continue;
                        const std::int64_t pitch = deal ? bytes : bytes + width;
                        const Woven woven{width, streams, deal, bytes, pitch, {rows, streams * pitch, streams * bytes}};
                        each_phase([&](const std::byte* src, Room& room) { weave(woven, true, src, room, {true, true}); },
                                   "weave_lines", {width, streams, rows, bytes, deal});
                    }
                }
            }
        }
    }
}

TEST_CASE_FIXTURE(Checker, "few streams are woven and dealt") {
    // Of rows without gaps in the destination the kernel may write on into the next one.
    const auto weave_rows = [&](bool by_lines, int width, int streams, bool deal, std::int64_t steps, std::int64_t rows,
                                std::int64_t gap, KernelStores stores) {
        each_phase(
            [&](const std::byte* src, Room& room) {
                const std::int64_t bytes = steps * width;
                const std::int64_t pitch = stores.nontemporal ? (bytes + 127) / 64 * 64 : bytes + (rows == 1 ? width : 0);
                const std::int64_t apart_row = (streams - 1) * pitch + bytes;
                const std::int64_t src_row = deal ? bytes * streams : apart_row;
                const std::int64_t dst_row = deal ? apart_row : bytes * streams;
                const KernelLoop b{rows, src_row + 16, dst_row + gap};
                // At the same place of a line, and behind it nothing is there to be read.
                const std::int64_t before = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(src) % 64);
                const std::int64_t bytes_read = (rows - 1) * b.src_stride + src_row;
                std::vector<std::byte> all(static_cast<std::size_t>(before + bytes_read));
                std::copy(src, src + bytes_read, all.begin() + before);
                weave({width, streams, deal, bytes, pitch, b}, by_lines, all.data() + before, room, stores);
            },
            by_lines ? "weave_lines" : "weave", {width, streams, steps, deal, rows, gap});
    };
    for (const bool by_lines : {false, true}) {
        if (by_lines && kernels_.weave_lines == nullptr) continue;
        for (int width = 1; width <= (by_lines ? 16 : 8); width *= 2) {
            for (const bool deal : {false, true}) {
                for (int streams = 2; streams <= dnnmove::kMostWoven; ++streams) {
                    if (by_lines && (streams & (streams - 1)) != 0) continue;
                    const std::int64_t vector = by_lines ? dnnmove::kLine : dnnmove::kWeaveLane;
                    for (const std::int64_t steps :
                         {vector / width, vector / width + 1, std::int64_t{200 / width + 3}, std::int64_t{1000 / width}}) {
                        for (const KernelStores stores : all_stores()) {
                            if (stores.nontemporal && !by_lines) continue;
                            weave_rows(by_lines, width, streams, deal, steps, 1, 0, stores);
                        }
                        weave_rows(by_lines, width, streams, deal, steps, 3, 0, {});
                        weave_rows(by_lines, width, streams, deal, steps, 3, 5, {});
                    }
                }
            }
        }
    }
}
