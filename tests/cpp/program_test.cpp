// Programs against the plainest possible loop, over random nests: every item size, tables, tails, alignments.
#include "plan/program.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>

#include "guarded_source.hpp"
#include "nest_text.hpp"
#include "runtime/cpu.hpp"
#include "view/mosaic.hpp"
#include "test.hpp"

using namespace dnnmove;

namespace {

using testing::Bytes;
using testing::random_bytes;

// What a nest means: one item per combination of loop steps.
void reference(const Nest& nest, const std::byte* src, std::byte* dst, std::size_t loop = 0) {
    if (loop == nest.loops.size()) {
        if (src != nullptr) {
            std::memcpy(dst + nest.dst_offset, src + nest.src_offset, static_cast<std::size_t>(nest.itemsize));
        } else {
            std::memset(dst + nest.dst_offset, 0, static_cast<std::size_t>(nest.itemsize));
        }
        return;
    }
    const Loop& current = nest.loops[loop];
    for (std::int64_t step = 0; step < current.extent; ++step) {
        const auto k = static_cast<std::size_t>(step);
        const std::int64_t from = current.table ? current.table->src[k] : step * current.src_stride;
        const std::int64_t to = current.table ? current.table->dst[k] : step * current.dst_stride;
        reference(nest, src == nullptr ? nullptr : src + from, dst + to, loop + 1);
    }
}

// Runs the nest on buffers of the given sizes (bytes), shifted to every interesting alignment.
void check_nest(const Nest& nest, std::size_t src_size, std::size_t dst_size, std::mt19937& random, bool zero = false,
                const PlanOptions& options = {}) {
    INFO(testing::literal(nest));
    for (const int threads : {1, 2}) {
        for (const std::size_t shift : {std::size_t{0}, std::size_t{1}, std::size_t{8}}) {
            const Bytes src = random_bytes(src_size + shift, random);
            Bytes dst = random_bytes(dst_size + shift, random);
            Bytes expected = dst;
            reference(nest, zero ? nullptr : src.data() + shift, expected.data() + shift);
            const Program program({Transfer{zero ? kZeroSource : 0, 0, nest}}, options);
            const std::byte* from = src.data() + shift;
            std::byte* to = dst.data() + shift;
            program.execute(&from, &to, threads);
            INFO("shift ", shift, ": ", program.explain(threads));
            CHECK(testing::difference(dst, expected) == "");
        }
    }
}

// A dense array of `shape` copied to its permutation `order`, dense too.
Nest permutation(const Dims& shape, const std::vector<std::size_t>& order, std::int64_t itemsize) {
    return view::Mosaic::dense(shape, itemsize).transpose(order).dense_nests().front();
}

}  // namespace

TEST_CASE("random permutations are copied") {
    for (const std::int64_t itemsize : {1, 2, 3, 4, 5, 8, 12, 16, 24}) {
        testing::each_round(25, static_cast<unsigned>(itemsize), [&](std::mt19937& random, int round) {
            std::uniform_int_distribution<std::size_t> rank(1, 5);
            std::uniform_int_distribution<std::int64_t> length(1, round % 5 == 0 ? 40 : 9);
            Dims shape(rank(random));
            for (std::int64_t& n : shape) n = length(random);
            while (element_count(shape) > 60000) shape.pop_back();
            std::vector<std::size_t> order(shape.size());
            std::iota(order.begin(), order.end(), std::size_t{0});
            std::shuffle(order.begin(), order.end(), random);
            const auto size = static_cast<std::size_t>(element_count(shape) * itemsize);
            check_nest(permutation(shape, order, itemsize), size, size, random);
        });
    }
}

TEST_CASE("tails around the vector length are copied") {
    std::mt19937 random(2);
    for (const std::int64_t itemsize : {1, 2, 4, 8, 16}) {
        for (const std::int64_t n : {1, 3, 15, 16, 17, 31, 33, 63, 64, 65, 127, 130}) {
            for (const std::int64_t m : {1, 2, 3, 4, 7, 16, 65}) {
                const auto size = static_cast<std::size_t>(n * m * itemsize);
                check_nest(permutation({n, m}, {1, 0}, itemsize), size, size, random);
            }
        }
    }
}

TEST_CASE("channel shuffles are copied") {
    std::mt19937 random(3);
    for (const std::int64_t itemsize : {1, 2, 4}) {
        for (const std::int64_t groups : {2, 3, 4, 8}) {
            for (const std::int64_t inner : {1, 5, 49}) {
                const std::int64_t channels = groups * 12;
                const auto shuffled = view::Mosaic::dense({3, channels, inner}, itemsize).swap_halves(1, channels / groups);
                const auto size = static_cast<std::size_t>(shuffled.bytes());
                check_nest(shuffled.dense_nests().front(), size, size, random);
            }
        }
    }
}

TEST_CASE("rows are repeated and reversed") {
    std::mt19937 random(4);
    for (const std::int64_t itemsize : {1, 2, 4, 6, 8}) {
        Nest nest;
        nest.itemsize = itemsize;
        nest.loops = {{7, 0, 33 * itemsize}, {33, -itemsize, itemsize}};
        nest.src_offset = 32 * itemsize;
        const auto row = static_cast<std::size_t>(33 * itemsize);
        check_nest(nest, row, 7 * row, random);
        nest.loops = {{33, itemsize, 70 * itemsize}, {70, 0, itemsize}};
        nest.src_offset = 0;
        check_nest(nest, row, 70 * row, random);
    }
}

TEST_CASE("gaps are untouched and tables followed") {
    std::mt19937 random(5);
    const Nest pitched{{{5, 48, 64}, {11, 4, 4}}, 4, 8, 4};
    check_nest(pitched, 5 * 48 + 8, 5 * 64 + 8, random);
    auto table = std::make_shared<OffsetTable>();
    for (std::int64_t k = 0; k < 10; ++k) {
        table->src.push_back((k * 7 % 10) * 12);
        table->dst.push_back((k * 3 % 10) * 12);
    }
    check_nest(Nest{{{10, 0, 0, table}, {3, 4, 4}}, 0, 0, 4}, 120, 120, random);
    check_nest(Nest{{{10, 0, 0, table}, {12, 1, 1}}, 0, 0, 1}, 120, 120, random);
}

TEST_CASE("lists of elements and of rows are copied") {
    std::mt19937 random(13);
    constexpr LastLevelCache kTinyCache{32 << 10, 0};
    PlanOptions small;
    small.cache = &kTinyCache;
    for (const std::int64_t itemsize : {1, 2, 3, 4, 8, 12, 16, 33, 64, 65, 96, 128, 200, 256}) {
        for (const auto& [count, rows, gap] :
             {std::array<std::int64_t, 3>{2, 3, 0}, {9, 40, 0}, {9, 40, 5}, {70, 5, 0}, {700, 2, 0}, {5000, 1, 0}}) {
            const std::int64_t listed = count + 3;  // that the list chooses from
            auto table = std::make_shared<OffsetTable>();
            for (std::int64_t k = 0; k < count; ++k) {
                table->src.push_back(static_cast<std::int64_t>(random() % static_cast<unsigned>(listed)) * itemsize);
                table->dst.push_back(k * (itemsize + gap));
            }
            const std::int64_t row = count * (itemsize + gap) + gap;
            const Nest nest{{{rows, listed * itemsize, row}, {count, 0, 0, table}}, 0, 0, itemsize};
            const auto src_size = static_cast<std::size_t>(rows * listed * itemsize);
            check_nest(nest, src_size, static_cast<std::size_t>(rows * row), random);
            check_nest(nest, src_size, static_cast<std::size_t>(rows * row), random, false, small);
        }
    }
}

TEST_CASE("lists that come with each run are followed") {
    std::mt19937 random(14);
    constexpr LastLevelCache kTinyCache{32 << 10, 0};
    PlanOptions small;
    small.cache = &kTinyCache;
    const auto check = [&](std::int64_t itemsize, auto none) {
        using Index = decltype(none);
        auto given = std::make_shared<OffsetTable>();
        given->index_bytes = sizeof(Index);
        given->length = 100;
        given->stride = itemsize;
        for (const auto& [count, rows] : {std::pair<std::int64_t, std::int64_t>{70, 5}, {3000, 1}}) {
            const Nest nest{{{rows, 100 * itemsize, count * itemsize}, {count, 0, itemsize, given}}, 0, 0, itemsize};
            const Bytes src = random_bytes(static_cast<std::size_t>(rows * 100 * itemsize), random);
            for (const PlanOptions& options : {PlanOptions{}, small}) {
                const Program program({Transfer{0, 0, nest}}, options);
                for (const int threads : {1, 2}) {
                    // Both kinds of index, and what no check has let through but another thread may have written since.
                    std::vector<Index> indices(static_cast<std::size_t>(count));
                    for (Index& index : indices) index = static_cast<Index>(static_cast<int>(random() % 200) - 100);
                    indices[7] = 100;
                    indices[8] = -101;
                    indices[9] = std::numeric_limits<Index>::min();
                    auto table = std::make_shared<OffsetTable>();
                    for (std::int64_t k = 0; k < count; ++k) {
                        const std::int64_t index = indices[static_cast<std::size_t>(k)];
                        table->src.push_back(index < -100 || index >= 100 ? 0 : (index + (index < 0 ? 100 : 0)) * itemsize);
                        table->dst.push_back(k * itemsize);
                    }
                    Bytes dst = random_bytes(static_cast<std::size_t>(rows * count * itemsize), random);
                    Bytes expected = dst;
                    reference(Nest{{nest.loops[0], {count, 0, 0, table}}, 0, 0, itemsize}, src.data(), expected.data());
                    const std::byte* from[] = {src.data(), reinterpret_cast<const std::byte*>(indices.data())};
                    std::byte* to = dst.data();
                    program.execute(from, &to, threads);
                    CAPTURE(itemsize);
                    CHECK(testing::difference(dst, expected) == "");
                }
            }
        }
    };
    for (const std::int64_t itemsize : {1, 2, 4, 8, 12, 16, 64, 96, 256}) {
        check(itemsize, std::int32_t{});
        check(itemsize, std::int64_t{});
    }
}

TEST_CASE("a source of zeros writes zeros") {
    std::mt19937 random(6);
    check_nest(Nest{{{6, 0, 32}, {5, 0, 4}}, 0, 0, 4}, 0, 6 * 32, random, true);
}

TEST_CASE("nests without elements and of one element are copied") {
    std::mt19937 random(7);
    check_nest(Nest{{{0, 4, 4}, {3, 4, 4}}, 0, 0, 4}, 16, 16, random);
    check_nest(Nest{{}, 3, 5, 4}, 16, 16, random);
}

TEST_CASE("large nests are copied by threads and with streaming stores") {
    std::mt19937 random(8);
    for (const auto& [shape, order] : {std::pair<Dims, std::vector<std::size_t>>{{2100, 1030}, {1, 0}},
                                       std::pair<Dims, std::vector<std::size_t>>{{3, 900, 801}, {1, 2, 0}}}) {
        const auto size = static_cast<std::size_t>(element_count(shape) * 4);
        check_nest(permutation(shape, order, 4), size, size, random);
    }
}

TEST_CASE("threads copy bands") {
    std::mt19937 random(8);
    struct Case {
        Dims shape;
        std::vector<std::size_t> order;
        std::int64_t itemsize;
    };
    // The strided elements of two matrices, rows of longer ones, and streams that are dealt out.
    for (const Case& c : std::initializer_list<Case>{{{2, 200, 211}, {0, 2, 1}, 12},
                                                     {{130, 300}, {1, 0}, 13},
                                                     {{101, 150, 3}, {1, 0, 2}, 8},
                                                     {{2, 10912, 5}, {0, 2, 1}, 4},
                                                     {{3, 9001, 6}, {0, 2, 1}, 4}}) {
        const auto size = static_cast<std::size_t>(element_count(c.shape) * c.itemsize);
        const Nest nest = permutation(c.shape, c.order, c.itemsize);
        INFO(testing::literal(nest));
        for (const int threads : {2, 3, 5}) {
            const Bytes src = random_bytes(size, random);
            Bytes dst = random_bytes(size, random);
            Bytes expected = dst;
            reference(nest, src.data(), expected.data());
            const Program program({Transfer{0, 0, nest}});
            const std::byte* from = src.data();
            std::byte* to = dst.data();
            program.execute(&from, &to, threads);
            CHECK(testing::difference(dst, expected) == "");
        }
    }
}

TEST_CASE("long columns are read by groups") {
    std::mt19937 random(9);
    constexpr std::int64_t kPitch = 1 << 16;  // rows that share few cache sets
    const std::int64_t shapes[][3] = {{17, 65, 4},   {100, 97, 4}, {128, 100, 4}, {300, 70, 4}, {1000, 130, 4},
                                      {515, 250, 4}, {129, 66, 8}, {700, 100, 8}, {65, 81, 16}, {300, 111, 16}};
    for (const auto& [length, columns, itemsize] : shapes) {
        Nest nest;
        nest.itemsize = itemsize;
        nest.loops = {{length, itemsize, columns * itemsize}, {columns, kPitch, itemsize}};
        const auto dst_size = static_cast<std::size_t>(length * columns * itemsize);
        const Bytes src = random_bytes(static_cast<std::size_t>(columns * kPitch), random);
        PlanOptions options;
        options.dst_alignment = 1;
        options.variant.stores = Variant::Stores::nontemporal;
        const Program program({Transfer{0, 0, nest}}, options);
        INFO(testing::literal(nest));
        if (kernels_for(options.isa).vector_bytes == 64) {
            CHECK(program.explain(1).find("source rows in groups of 16") != std::string::npos);
        }
        for (const std::size_t shift : {std::size_t{0}, std::size_t{4}, std::size_t{17}}) {
            for (const int threads : {1, 2}) {
                Bytes dst(dst_size + 128, std::byte{0x5a});
                Bytes expected = dst;
                reference(nest, src.data(), expected.data() + shift);
                const std::byte* from = src.data();
                std::byte* to = dst.data() + shift;
                program.execute(&from, &to, threads);
                INFO("shift ", shift, ": ", program.explain(threads));
                CHECK(testing::difference(dst, expected) == "");
            }
        }
    }
}

// Rows of a transpose that begin behind a line, where tiles are shifted onto the lines: short ones, and those of several tiles.
TEST_CASE("rows of a transpose may begin anywhere in a line") {
    std::mt19937 random(10);
    constexpr std::int64_t kLineBytes = 64;
    const auto check = [&](std::int64_t itemsize, std::int64_t row, std::int64_t place, std::int64_t columns,
                           const Variant& variant, const Processor& processor) {
        const std::int64_t rows = row / itemsize;
        const std::int64_t pitch = (place + row + kLineBytes - 1) / kLineBytes * kLineBytes;
        Nest nest;
        nest.itemsize = itemsize;
        nest.dst_offset = place;
        nest.loops = {{columns, itemsize, pitch}, {rows, columns * itemsize, itemsize}};
        PlanOptions options;
        options.dst_alignment = kLineBytes;
        options.variant = variant;
        options.processor = &processor;
        const Bytes src = random_bytes(static_cast<std::size_t>(rows * columns * itemsize), random);
        Bytes dst(static_cast<std::size_t>(pitch * columns + kLineBytes), std::byte{0x5a});
        Bytes expected = dst;
        void* aligned = dst.data();
        std::size_t space = dst.size();
        const auto start = static_cast<std::size_t>(
            static_cast<std::byte*>(std::align(kLineBytes, space - kLineBytes + 1, aligned, space)) - dst.data());
        reference(nest, src.data(), expected.data() + start);
        const Program program({Transfer{0, 0, nest}}, options);
        const std::byte* from = src.data();
        std::byte* to = dst.data() + start;
        program.execute(&from, &to, 2);
        INFO(testing::literal(nest), " ", program.explain(2));
        CHECK(testing::difference(dst, expected) == "");
    };
    for (const std::int64_t itemsize : {1, 2, 4, 8, 16}) {
        for (const std::int64_t row : {16, 32, 48, 64, 80, 96, 112, 128, 192, 208, 512, 1040}) {
            for (const std::int64_t place : {itemsize, 16 - itemsize, std::int64_t{16}, 16 + itemsize, std::int64_t{32},
                                             std::int64_t{48}, 64 - itemsize}) {
                for (const std::int64_t panel : {0, 64}) {
                    for (const auto stores : {Variant::Stores::cached, Variant::Stores::nontemporal}) {
                        check(itemsize, row, place, 70, {0, stores, panel}, kManyStreams);
                        check(itemsize, row, place, 5, {0, stores, panel}, kFewStreams);
                    }
                }
            }
        }
    }
    // Beyond the second-level caches.
    for (const std::int64_t place : {8, 16, 56}) {
        for (const std::int64_t row : {208, 3200})
            check(8, row, place, (4 << 20) / row, {0, Variant::Stores::cached, 0}, kFewStreams);
    }
}

TEST_CASE("several transfers make one program") {
    std::mt19937 random(9);
    const Bytes src = random_bytes(600, random);
    Bytes left(200), right(400);
    const std::byte* from = src.data();
    std::byte* to[] = {left.data(), right.data()};
    const Program program({Transfer{0, 0, Nest{{{20, 30, 10}, {10, 1, 1}}, 0, 0, 1}},
                           Transfer{0, 1, Nest{{{20, 30, 20}, {20, 1, 1}}, 10, 0, 1}}});
    program.execute(&from, to, 2);
    for (std::size_t row = 0; row < 20; ++row) {
        CHECK(std::equal(&left[row * 10], &left[row * 10] + 10, &src[row * 30]));
        CHECK(std::equal(&right[row * 20], &right[row * 20] + 20, &src[row * 30 + 10]));
    }
    CHECK(program.bytes_written() == 600);
    CHECK(program.explain(1).starts_with("native:"));
}

namespace {

// What is beyond this cache need not be large.
const LastLevelCache kSmallCache{4 << 20, 0};

// Records of fields of `widths` bytes, `pitch` apart, to or from separate buffers that start `phases[k]`
// bytes into a line, every byte around them guarded.
void check_records(const std::vector<std::int64_t>& widths, std::int64_t records, std::int64_t pitch, bool split,
                   std::mt19937& random, const LastLevelCache& cache = last_level_cache()) {
    constexpr std::int64_t kGuard = 128;
    PlanOptions options;
    options.cache = &cache;
    INFO((split ? "split " : "join "), records, " records, ", pitch, " apart, of fields of ", widths);
    const std::int64_t bytes = records * pitch;
    const auto phase = [&] { return static_cast<std::int64_t>(random() % 3 == 0 ? random() % 64 : random() % 2 * 16); };
    std::vector<Bytes> fields;
    std::vector<std::byte*> field_bases;
    std::vector<Transfer> transfers;
    const auto aligned = [](Bytes& buffer, std::int64_t phase_bytes) {
        const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
        return buffer.data() + kGuard + static_cast<std::int64_t>(-address & 63) + phase_bytes;
    };
    Bytes record_bytes = random_bytes(static_cast<std::size_t>(bytes + 2 * kGuard + 128), random);
    std::byte* record_base = aligned(record_bytes, phase());
    const bool same = random() % 2 == 0;
    const std::int64_t common = phase();
    for (const std::int64_t width : widths) {
        fields.push_back(random_bytes(static_cast<std::size_t>(records * width + 2 * kGuard + 128), random));
        field_bases.push_back(aligned(fields.back(), same ? common : phase()));
    }
    std::int64_t at = 0;
    for (std::size_t k = 0; k < widths.size(); ++k) {
        Nest nest{{{records, split ? pitch : widths[k], split ? widths[k] : pitch}, {widths[k], 1, 1}}, 0, 0, 1};
        (split ? nest.src_offset : nest.dst_offset) = at;
        transfers.push_back(split ? Transfer{0, static_cast<int>(k), nest} : Transfer{static_cast<int>(k), 0, nest});
        at += widths[k];
    }
    for (const int threads : {1, 2}) {
        std::vector<Bytes> field_copies = fields;
        Bytes record_copy = record_bytes;
        // The expected bytes, at the same offsets of copies.
        at = 0;
        for (std::size_t k = 0; k < widths.size(); ++k) {
            const auto width = static_cast<std::size_t>(widths[k]);
            std::byte* field = field_copies[k].data() + (field_bases[k] - fields[k].data());
            std::byte* record = record_copy.data() + (record_base - record_bytes.data()) + at;
            for (std::int64_t i = 0; i < records; ++i) {
                if (split) {
                    std::memcpy(field + i * widths[k], record + i * pitch, width);
                } else {
                    std::memcpy(record + i * pitch, field + i * widths[k], width);
                }
            }
            at += widths[k];
        }
        const Program program(transfers, options);
        const std::byte* record_source = record_base;
        std::vector<const std::byte*> field_sources(field_bases.begin(), field_bases.end());
        if (split) {
            program.execute(&record_source, field_bases.data(), threads);
        } else {
            program.execute(field_sources.data(), &record_base, threads);
        }
        INFO(program.explain(threads));
        CHECK(testing::difference(record_bytes, record_copy) == "");
        for (std::size_t k = 0; k < fields.size(); ++k) {
            CAPTURE(k);
            CHECK(testing::difference(fields[k], field_copies[k]) == "");
        }
    }
}

}  // namespace

TEST_CASE("records are split and joined") {
    testing::each_round(400, 10, [](std::mt19937& random, int round) {
        const auto pick = [&](std::int64_t low, std::int64_t high) {
            return std::uniform_int_distribution<std::int64_t>(low, high)(random);
        };
        std::vector<std::int64_t> widths(static_cast<std::size_t>(pick(2, round % 8 == 0 ? 300 : 12)));
        const std::int64_t unit = std::int64_t{1} << pick(0, 4);
        const std::int64_t most = pick(0, 3) == 0 ? 40 : 5;
        for (std::int64_t& width : widths) width = unit * (round % 3 == 0 ? 1 : pick(1, most));
        const std::int64_t sum = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
        const std::int64_t records = std::max<std::int64_t>(64, pick(1, 300000 / sum));
        check_records(widths, records, sum + (pick(0, 3) == 0 ? pick(1, 20) : 0), pick(0, 1) == 0, random);
    });
}

TEST_CASE("records of narrow fields of several widths are split and joined, in the caches and beyond") {
    testing::each_round(60, 6, [](std::mt19937& random, int round) {
        static const std::vector<std::vector<std::int64_t>> kRecords = {
            {2, 1, 1, 2, 1, 2, 1, 1, 1, 1}, {4, 4, 4, 2, 1, 1, 1, 1, 2, 8}, {3, 1, 4, 1, 20},
            {9, 2, 1, 1, 3, 3, 3, 30},      {1, 2, 1, 2, 1, 2, 1, 2},       {13, 6, 1, 40}};
        const std::vector<std::int64_t>& widths = kRecords[static_cast<std::size_t>(round) % kRecords.size()];
        const std::int64_t sum = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
        const std::int64_t gap = round % 4 == 3 ? 3 : 0;
        for (const bool split : {true, false}) {
            for (const std::int64_t records : {64 + round, 1023 + 64 * (round % 3), 2500 + round, 9000 + round}) {
                check_records(widths, records, sum + gap, split, random);
            }
            if (round % 10 == 0)
                check_records(widths, kSmallCache.bytes / sum + 13 + round, sum + gap, split, random, kSmallCache);
        }
    });
}

TEST_CASE("of fields in arrays of their own nothing behind them is read") {
    for (const std::int64_t width : {1, 2, 4, 8, 16}) {
        for (const std::int64_t records : {64, 65, 67, 71, 257}) {
            constexpr std::int64_t kFields = 40;
            std::vector<std::unique_ptr<testing::GuardedSource>> fields;
            std::vector<const std::byte*> sources;
            std::vector<Transfer> transfers;
            Bytes expected(static_cast<std::size_t>(kFields * width * records));
            for (std::int64_t k = 0; k < kFields; ++k) {
                fields.push_back(std::make_unique<testing::GuardedSource>(records * width));
                for (std::int64_t i = 0; i < records * width; ++i) {
                    const auto byte = static_cast<std::byte>(7 * k + i);
                    fields.back()->data()[i] = byte;
                    expected[static_cast<std::size_t>((i / width * kFields + k) * width + i % width)] = byte;
                }
                sources.push_back(fields.back()->data());
                transfers.push_back(
                    Transfer{static_cast<int>(k), 0, Nest{{{records, width, kFields * width}}, 0, k * width, width}});
            }
            Bytes joined(expected.size());
            std::byte* to = joined.data();
            const Program program(transfers);
            program.execute(sources.data(), &to, 1);
            INFO(width, " bytes, ", records, " records: ", program.explain(1));
            CHECK(testing::difference(joined, expected) == "");
        }
    }
}

// By how much of a cache both sides fill.
TEST_CASE("a processor says when rows go past the caches") {
    const LastLevelCache cache{16 << 20, 0};
    PlanOptions options;
    options.cache = &cache;
    // Each step of the outer loop fills a twentieth of the room in which ordinary stores may gain, 1.25 times the cache.
    const auto streams = [&](std::int64_t twentieths, const Processor& processor) {
        options.processor = &processor;
        const Nest nest{{{twentieths, 8192, 64 * 8192}, {64, twentieths * 8192, 8192}, {8192, 1, 1}}, 0, 0, 1};
        return Program({Transfer{0, 0, nest}}, options).explain(2).find("stores non-temporal") != std::string::npos;
    };
    for (const Processor* const processor : {&kSmallCaches, &kManyStreams, &kStrings}) {
        CHECK(!streams(15, *processor));
        CHECK(streams(17, *processor));
    }
    CHECK(!streams(19, kFewStreams));
    CHECK(streams(21, kFewStreams));
}

// Backwards or with gaps, it comes by long runs.
TEST_CASE("what is read in the order of the result is not moved by blocks") {
    const LastLevelCache cache{1 << 20, 0};
    PlanOptions options;
    options.cache = &cache;
    for (const Isa isa : available_isas()) {
        for (const Processor* const processor : {&kSmallCaches, &kManyStreams, &kStrings, &kFewStreams}) {
            options.isa = isa;
            options.processor = processor;
            for (const std::int64_t step : {-4, -8, 8, 12}) {
                const std::int64_t pitch = 3000 * std::abs(step);
                const Nest nest{{{3000, pitch, 12000}, {3000, step, 4}}, step < 0 ? pitch + step : 0, 0, 4};
                const std::string text = Program({Transfer{0, 0, nest}}, options).explain(2);
                INFO(text);
                CHECK(text.find("moved by blocks") == std::string::npos);
            }
        }
    }
}

// By pieces of each stream where they are long, by way of the stage where they follow each other without gaps.
TEST_CASE("streams are dealt out past the caches") {
    std::mt19937 random(13);
    const LastLevelCache cache{128 << 10, 0};
    PlanOptions options;
    options.cache = &cache;
    int pieces = 0;
    for (const std::int64_t streams : {2, 3, 4, 8, 16}) {
        for (const std::int64_t width : {1, 2, 3, 4, 6, 8}) {
            for (const std::int64_t length : {60, 120, 1100, 400000 / static_cast<int>(streams * width) + 5}) {
                const std::int64_t rows = 400000 / (streams * width * length) + 1;
                for (const std::int64_t gap : {std::int64_t{0}, width, std::int64_t{64}}) {
                    const std::int64_t pitch = length * width + gap;
                    const std::int64_t row = length * streams * width;
                    const Nest nest{
                        {{rows, row, streams * pitch}, {streams, width, pitch}, {length, streams * width, width}}, 0, 0, width};
                    const Program program({Transfer{0, 0, nest}}, options);
                    const std::string text = program.explain(2);
                    pieces += text.find("each staged") != std::string::npos ? 1 : 0;
                    const Bytes src = random_bytes(static_cast<std::size_t>(rows * row), random);
                    const Bytes before = random_bytes(static_cast<std::size_t>(rows * streams * pitch), random);
                    Bytes after = before;
                    reference(nest, src.data(), after.data());
                    for (const std::ptrdiff_t shift : {0, 1, 16, 63}) {
                        Bytes dst(before.size() + 128);
                        Bytes expected = dst;
                        std::copy(before.begin(), before.end(), dst.begin() + shift);
                        std::copy(after.begin(), after.end(), expected.begin() + shift);
                        const std::byte* from = src.data();
                        std::byte* to = dst.data() + shift;
                        program.execute(&from, &to, 2);
                        INFO("shift ", shift, ": ", testing::literal(nest), text);
                        CHECK(testing::difference(dst, expected) == "");
                    }
                }
            }
        }
    }
    CHECK(pieces > 0);
}

// Slabs of pitches beyond 8 KiB may hold less than a line of a narrow field.
TEST_CASE("narrow fields of long records beyond the caches are split") {
    std::mt19937 random(12);
    for (const std::int64_t width : {1, 2, 4}) {
        std::vector<std::int64_t> widths(10, width);
        widths.insert(widths.end(), 51, 225);
        const std::int64_t sum = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
        const std::int64_t records = kSmallCache.bytes / sum + 13;
        for (int run = 0; run < 4; ++run) check_records(widths, records, sum, true, random, kSmallCache);
    }
}

TEST_CASE("records beyond the caches are split and joined") {
    std::mt19937 random(11);
    for (const auto& widths : std::vector<std::vector<std::int64_t>>{{1, 1, 1},
                                                                     {4, 4, 4},
                                                                     {4, 8, 4},
                                                                     {2, 3},
                                                                     {20, 40},
                                                                     {60, 120, 60},
                                                                     {500, 3, 1200, 64},
                                                                     std::vector<std::int64_t>(129, 40),
                                                                     std::vector<std::int64_t>(64, 4),
                                                                     std::vector<std::int64_t>(40, 64),
                                                                     std::vector<std::int64_t>(33, 1),
                                                                     {52, 76, 64, 4, 4, 4, 4, 4, 4, 4, 4, 4, 300, 1}}) {
        const std::int64_t sum = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
        const std::int64_t records = kSmallCache.bytes / sum + 13;
        for (const bool split : {true, false}) check_records(widths, records, sum, split, random, kSmallCache);
    }
}
