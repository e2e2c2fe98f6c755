// Pieces of the same rows as one copy: what is put together, what is left, and the bytes that either way writes.
#include "plan/rows_together.hpp"

#include <algorithm>
#include <random>

#include "guarded_source.hpp"
#include "nest_text.hpp"
#include "plan/canonical.hpp"
#include "plan/program.hpp"
#include "runtime/cpu.hpp"
#include "test.hpp"

using namespace dnnmove;

namespace {

using testing::Bytes;
using testing::random_bytes;

PlanContext inside_caches() { return {&kernels_for(best_isa()), false, false, 64, 0}; }

// A part of every row: `bytes` from `src` to `dst` within it, of `rows` rows.
Transfer part(std::int64_t rows, std::int64_t src, std::int64_t dst, std::int64_t bytes, std::int64_t src_pitch,
              std::int64_t dst_pitch) {
    return {0, 0, Nest{{{rows, src_pitch, dst_pitch}}, src, dst, bytes}};
}

std::size_t together(const std::vector<Transfer>& transfers) { return with_rows_together(transfers, inside_caches()).size(); }

}  // namespace

TEST_CASE("a roll of short rows is one copy") {
    const std::vector<Transfer> roll{part(1000, 0, 4, 44, 48, 48), part(1000, 44, 0, 4, 48, 48)};
    const std::vector<Transfer> made = with_rows_together(roll, inside_caches());
    REQUIRE(made.size() == 1);
    const Nest& nest = made[0].nest;
    CHECK(nest.itemsize == 4);
    CHECK(nest.src_offset == 44);
    CHECK(nest.dst_offset == 0);
    REQUIRE(nest.loops.size() == 2);
    CHECK(nest.loops[0].table->src == Dims{0, -44, -40, -36, -32, -28, -24, -20, -16, -12, -8, -4});
    CHECK(nest.loops[1].extent == 1000);
}

TEST_CASE("pieces that are no whole short rows of the same arrays are left") {
    const Transfer first = part(1000, 0, 4, 44, 48, 48);
    CHECK(together({first}) == 1);
    CHECK(together({first, part(999, 44, 0, 4, 48, 48)}) == 2);   // other rows
    CHECK(together({first, part(1000, 44, 0, 3, 48, 48)}) == 2);  // a gap between them
    CHECK(together({part(1000, 0, 4, 596, 600, 600), part(1000, 596, 0, 4, 600, 600)}) == 2);  // long rows
    Transfer other = part(1000, 44, 0, 4, 48, 48);
    other.src = 1;
    CHECK(together({first, other}) == 2);
}

TEST_CASE("zeros beside short rows come with them") {
    const Transfer first = part(1000, 0, 0, 12, 12, 16);
    Transfer beside = part(1000, 0, 12, 4, 0, 16);
    beside.src = kZeroSource;
    const std::vector<Transfer> made = with_rows_together({beside, first}, inside_caches());
    REQUIRE(made.size() == 1);
    CHECK(made[0].src == 0);
    CHECK(made[0].nest.itemsize == 4);
    CHECK(made[0].nest.loops[0].table->src == Dims{0, 4, 8});
    CHECK(made[0].nest.loops[0].table->dst == Dims{0, 4, 8, 12});
    beside.src = kConstantSource;
    beside.constant = std::make_shared<const std::vector<std::byte>>(4);
    CHECK(together({first, beside}) == 1);
    beside.constant = std::make_shared<const std::vector<std::byte>>(4, std::byte{1});
    CHECK(together({first, beside}) == 2);
    // Zeros away from what is read, alone, and beside rows that are longer than a line.
    beside.src = kZeroSource;
    Transfer behind = beside;
    behind.nest.dst_offset = 8;
    CHECK(together({part(1000, 0, 0, 4, 4, 16), beside, behind}) == 3);
    CHECK(together({behind, beside}) == 2);
    behind = part(1000, 0, 120, 8, 0, 128);
    behind.src = kZeroSource;
    CHECK(together({part(1000, 0, 0, 120, 120, 128), behind}) == 2);
}

TEST_CASE("random pieces of rows are copied as they are one by one") {
    int joined = 0;
    testing::each_round(300, 5, [&](std::mt19937& random, int) {
        const auto one_to = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
        const std::int64_t itemsize = std::vector<std::int64_t>{1, 2, 3, 4, 8, 16}[random() % 6];
        const std::int64_t columns = one_to(30) + 1;
        const std::int64_t rows = one_to(300);
        const std::int64_t blocks = one_to(3);
        const std::int64_t src_pitch = (columns + one_to(3) - 1) * itemsize;
        const std::int64_t dst_pitch = (columns + (one_to(3) == 3 ? 5 : 0)) * itemsize;
        // Runs of 1 to some elements, from anywhere, forwards, backwards or one again and again.
        std::vector<Transfer> transfers;
        for (std::int64_t at = 0; at < columns;) {
            const std::int64_t count = std::min(columns - at, one_to(one_to(12)));
            const std::int64_t from = one_to(columns - count + 1) - 1;
            const std::int64_t step = std::vector<std::int64_t>{1, -1, 0}[random() % 3];
            Nest nest{{{blocks, rows * src_pitch, rows * dst_pitch},
                       {rows, src_pitch, dst_pitch},
                       {count, step * itemsize, itemsize}},
                      (step < 0 ? from + count - 1 : from) * itemsize,
                      at * itemsize,
                      itemsize};
            transfers.push_back({one_to(4) == 4 ? kZeroSource : 0, 0, std::move(nest)});
            for (Loop& loop : transfers.back().nest.loops) loop.src_stride = transfers.back().src == 0 ? loop.src_stride : 0;
            if (transfers.back().src != 0) transfers.back().nest.src_offset = 0;
            at += count;
        }
        // Nothing is read behind the last element of a source, nor before the first.
        const std::int64_t read = blocks * rows * src_pitch - (src_pitch - columns * itemsize);
        testing::GuardedSource src(read, random() % 2 == 0);
        const Bytes content = random_bytes(static_cast<std::size_t>(read), random);
        std::copy(content.begin(), content.end(), src.data());
        Bytes expected = random_bytes(static_cast<std::size_t>(blocks * rows * dst_pitch), random);
        Bytes dst = expected;
        const std::byte* const from = src.data();
        for (const Transfer& transfer : transfers) {
            std::byte* to = expected.data();
            Program({transfer}, {}).execute(&from, &to, 1);
        }
        for (const Variant::Stores stores : {Variant::Stores::cached, Variant::Stores::nontemporal}) {
            PlanOptions options;
            options.dst_alignment = 1;
            options.variant.stores = stores;
            const Program program(transfers, options);
            std::byte* to = dst.data();
            program.execute(&from, &to, 2);
            INFO(program.explain(2));
            CHECK(testing::difference(dst, expected) == "");
        }
        std::vector<Transfer> canonical_ones;
        for (Transfer transfer : transfers) {
            transfer.nest = canonical(std::move(transfer.nest));
            canonical_ones.push_back(std::move(transfer));
        }
        joined += together(canonical_ones) < transfers.size() ? 1 : 0;
    });
    CHECK(joined > 50);
}
