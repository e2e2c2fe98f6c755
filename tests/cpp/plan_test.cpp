// Random nests in every store mode under the best instruction set that DNNMOVE_ISA allows, against an element-by-element copy.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "nest_text.hpp"
#include "plan/canonical.hpp"
#include "plan/lines.hpp"
#include "plan/plan.hpp"
#include "test.hpp"

namespace {

using dnnmove::Dims;
using dnnmove::Loop;
using dnnmove::Nest;

void copy_elements(const Nest& nest, std::size_t level, const std::byte* src, std::byte* dst) {
    if (level == nest.loops.size()) {
        std::memcpy(dst, src, static_cast<std::size_t>(nest.itemsize));
        return;
    }
    const Loop& loop = nest.loops[level];
    for (std::int64_t k = 0; k < loop.extent; ++k) {
        const auto index = static_cast<std::size_t>(k);
        copy_elements(nest, level + 1, src + (loop.table ? loop.table->src[index] : k * loop.src_stride),
                      dst + (loop.table ? loop.table->dst[index] : k * loop.dst_stride));
    }
}

struct Problem {
    Nest nest;
    std::int64_t src_bytes;  // of the whole source buffer
    std::int64_t dst_bytes;
};

// A dense source, permuted, sometimes reversed, repeated, sliced or pitched, to a dense or pitched destination.
Problem random_problem(std::mt19937& random) {
    const auto pick = [&](std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    static constexpr std::int64_t kSizes[] = {1, 2, 4, 8, 16, 3, 5, 6, 7, 12, 24, 33, 48, 64, 100};
    Problem problem;
    Nest& nest = problem.nest;
    nest.itemsize = kSizes[pick(0, pick(0, 2) == 0 ? 14 : 4)];
    const bool deep = pick(0, 4) == 0;  // many short loops, which make chains on both sides
    const std::int64_t rank = deep ? pick(7, 12) : pick(0, 6);
    const std::int64_t budget = pick(0, 4) == 0 ? 60000 : 3000;  // elements
    Dims lengths;
    std::int64_t total = 1;
    for (std::int64_t k = 0; k < rank; ++k) {
        const std::int64_t most = std::max<std::int64_t>(1, budget / total);
        std::int64_t length = pick(1, std::min<std::int64_t>(most, deep ? 4 : pick(0, 1) == 0 ? 9 : 300));
        if (!deep && pick(0, 2) == 0 && most >= 16) length = 16 * pick(1, std::min<std::int64_t>(most / 16, 8));  // whole lines
        lengths.push_back(length);
        total *= length;
    }
    std::vector<std::size_t> order(lengths.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    nest.loops.resize(lengths.size());
    std::int64_t src_stride = nest.itemsize;
    for (std::size_t k = lengths.size(); k-- > 0;) {
        Loop& loop = nest.loops[k];
        loop.extent = lengths[k];
        if (pick(0, 7) == 0) continue;  // repeated: stride 0
        const std::int64_t step = pick(0, 9) == 0 ? pick(2, 3) : 1;
        loop.src_stride = src_stride * step;
        src_stride *= lengths[k] * step + (pick(0, 9) == 0 ? 1 : 0);
        if (pick(0, 9) == 0) {
            nest.src_offset += (loop.extent - 1) * loop.src_stride;
            loop.src_stride = -loop.src_stride;
        }
    }
    problem.src_bytes = src_stride;
    std::int64_t dst_stride = nest.itemsize;
    const bool pitched = pick(0, 5) == 0;
    for (const std::size_t k : order) {
        Loop& loop = nest.loops[k];
        loop.dst_stride = dst_stride;
        dst_stride *= loop.extent;
        if (pitched) dst_stride += nest.itemsize * pick(0, 3);
        if (pick(0, 19) == 0) {
            nest.dst_offset += (loop.extent - 1) * loop.dst_stride;
            loop.dst_stride = -loop.dst_stride;
        }
        // As a table, now and then.
        if (pick(0, 19) == 0) {
            auto table = std::make_shared<dnnmove::OffsetTable>();
            for (std::int64_t i = 0; i < loop.extent; ++i) {
                table->src.push_back(i * loop.src_stride);
                table->dst.push_back(i * loop.dst_stride);
            }
            loop.table = table;
        }
    }
    problem.dst_bytes = dst_stride;
    return problem;
}

void check(const Problem& problem, dnnmove::Isa isa, bool large, std::int64_t misalignment, std::mt19937& random) {
    constexpr std::int64_t kGuard = 256;
    const testing::Bytes src = testing::random_bytes(static_cast<std::size_t>(problem.src_bytes), random);
    testing::Bytes expected(static_cast<std::size_t>(problem.dst_bytes), std::byte{0xAB});
    copy_elements(problem.nest, 0, src.data() + problem.nest.src_offset, expected.data() + problem.nest.dst_offset);

    const auto room = static_cast<std::size_t>((problem.dst_bytes + 3 * kGuard) / 64 * 64 + 64);
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    const std::unique_ptr<std::byte, Free> raw(static_cast<std::byte*>(std::aligned_alloc(64, room)));
    std::byte* dst = raw.get() + kGuard + misalignment;
    std::memset(raw.get(), 0xAB, static_cast<std::size_t>(problem.dst_bytes + 2 * kGuard));
    const Nest nest = dnnmove::canonical(problem.nest);
    dnnmove::PlanContext context{&dnnmove::kernels_for(isa),
                                 large,
                                 !large && misalignment % 2 == 0,
                                 (misalignment | 64) & -(misalignment | 64),
                                 nest.dst_offset,
                                 4096,
                                 large,
                                 large && misalignment % 3 != 1,
                                 large && misalignment % 6 != 1,
                                 {},
                                 std::array{&dnnmove::kManyStreams, &dnnmove::kFewStreams, &dnnmove::kStrings,
                                            &dnnmove::kSmallCaches, &dnnmove::kFewOpenLines}[random() % 5]};
    context.claims = !large && random() % 2 == 0;
    context.alone = random() % 2 == 0;
    const dnnmove::NestPlan plan(nest, context);
    const std::int64_t units = plan.units();
    const std::int64_t cut = std::uniform_int_distribution<std::int64_t>(0, units)(random);
    INFO(testing::literal(problem.nest));
    INFO("under ", to_string(isa), ", large ", large, ", misaligned ", misalignment, ", cut at ", cut, " of ", units, ": ",
         plan.describe());
    plan.run(src.data(), dst, cut, units);
    plan.run(src.data(), dst, 0, cut);
    CHECK(testing::difference(testing::Bytes(dst, dst + problem.dst_bytes), expected) == "");
    bool untouched = true;
    for (std::int64_t k = 0; k < kGuard; ++k) {
        untouched = untouched && dst[-1 - k] == std::byte{0xAB};
        if (k < kGuard - misalignment) untouched = untouched && dst[problem.dst_bytes + k] == std::byte{0xAB};
    }
    CHECK(untouched);
}

}  // namespace

TEST_CASE("the tiles of few are about as long as each other") {
    const auto tile = [](std::int64_t extent) { return dnnmove::level_tile(extent, 128, 16); };
    CHECK(tile(100) == 100);
    CHECK(tile(136) == 136);
    CHECK(tile(137) == 96);  // and 41
    CHECK(tile(256) == 128);
    CHECK(tile(257) == 144);  // and 113
    CHECK(tile(784) == 112);  // seven times
    CHECK(tile(1025) == 128);  // of more than eight the last one does not matter
    for (std::int64_t extent = 1; extent < 3000; ++extent) {
        CHECK((tile(extent) == extent || tile(extent) % 16 == 0));
        CHECK((tile(extent) <= extent && tile(extent) <= 144 && tile(extent) >= std::min<std::int64_t>(extent, 96)));
    }
    CHECK(dnnmove::level_tile(std::int64_t{1} << 62, 128, 16) == 128);
}

TEST_CASE("rows that no memory has room for have their lines in some set, too") {
    for (const bool aligned : {true, false}) {
        const std::int64_t lines = dnnmove::lines_in_one_set((std::int64_t{1} << 58) - 1, 64, aligned);
        CHECK(lines >= 1);
        CHECK(lines <= (aligned ? 64 : 128));
    }
    CHECK(dnnmove::lines_in_one_set(4096, 16, true) == 16);
    CHECK(dnnmove::lines_in_one_set(64, 16, true) == 1);
}

TEST_CASE("random nests are copied in every store mode and cut in two") {
    testing::each_round(1500, 1, [](std::mt19937& random, int) {
        const Problem problem = random_problem(random);
        for (const bool large : {false, true}) {
            const std::int64_t misalignment = random() % 2 == 0   ? 0
                                              : random() % 2 == 0 ? 16
                                                                  : static_cast<std::int64_t>(random() % 64);
            check(problem, dnnmove::best_isa(), large, misalignment, random);
        }
    });
}

TEST_CASE("shuffles whose blocks begin and end anywhere in a line are copied") {
    testing::each_round(4, 2, [](std::mt19937& random, int) {
        for (const std::int64_t block : {21, 45, 63, 240, 528}) {
            Problem problem;
            problem.nest = {{{3, block, 150 * block}, {150, 3 * block, block}, {block / 3, 1, 3}, {3, block / 3, 1}}, 0, 0, 1};
            problem.src_bytes = problem.dst_bytes = 450 * block;
            for (std::int64_t misalignment = 0; misalignment < 64; ++misalignment) {
                check(problem, dnnmove::best_isa(), true, misalignment, random);
            }
        }
    });
}

TEST_CASE("transposes whose source begins anywhere in a line are copied") {
    testing::each_round(8, 2, [](std::mt19937& random, int) {
        const auto pick = [&](std::int64_t low, std::int64_t high) {
            return std::uniform_int_distribution<std::int64_t>(low, high)(random);
        };
        for (std::int64_t itemsize = 1; itemsize <= 16; itemsize *= 2) {
            const std::int64_t pitch = 64 * pick(16, 24);
            const std::int64_t columns = (pitch - pick(0, 1) * 64) / itemsize - pick(0, 1);
            const std::int64_t rows = pick(1, 200);
            // Dense and with gaps, and with columns of two loops, whose rows in the destination no stride describes.
            const std::int64_t gap = itemsize * pick(0, 3);
            Problem problem;
            problem.nest = {{{rows, pitch, itemsize}, {columns, itemsize, rows * itemsize + gap}}, 0, 0, itemsize};
            problem.dst_bytes = columns * (rows * itemsize + gap);
            if (columns % 4 == 0 && random() % 3 == 0) {
                const std::int64_t half = columns / 4;
                const std::int64_t row = rows * itemsize + gap;
                problem.nest.loops = {{4, half * itemsize, row}, {rows, pitch, itemsize}, {half, itemsize, 4 * row}};
            }
            for (const bool large : {false, true}) {
                for (std::int64_t begin = 0; begin < 64; begin += random() % 8 == 0 ? 1 : itemsize) {
                    problem.nest.src_offset = begin;
                    problem.src_bytes = begin + rows * pitch;
                    check(problem, dnnmove::best_isa(), large, pick(0, 1) * pick(0, 64), random);
                }
            }
        }
    });
}
