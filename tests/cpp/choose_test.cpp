// The steps of planning, one by one: what the candidates are and cost, which is chosen, how it is scheduled and walked.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "nest_text.hpp"
#include "plan/canonical.hpp"
#include "plan/plan.hpp"
#include "test.hpp"

using namespace dnnmove;

namespace {

PlanContext inside_caches() { return {&kernels_for(best_isa()), false, true, 64, 0}; }

PlanContext beyond_caches() {
    PlanContext context{&kernels_for(best_isa()), true, false, 64, 0};
    context.beyond_cache = context.far_beyond_cache = context.stream_rows = true;
    return context;
}

// A dense source and destination: `extents` in the destination's order, `strides` those of the source in elements.
Nest nest_of(const Dims& extents, const Dims& strides, std::int64_t itemsize) {
    Nest nest;
    nest.itemsize = itemsize;
    std::int64_t dst_stride = itemsize;
    for (std::size_t k = extents.size(); k-- > 0; dst_stride *= extents[k]) {
        nest.loops.insert(nest.loops.begin(), Loop{extents[k], strides[k] * itemsize, dst_stride});
    }
    return canonical(std::move(nest));
}

Nest transposed(std::int64_t rows, std::int64_t columns, std::int64_t itemsize) {
    return nest_of({columns, rows}, {1, columns}, itemsize);
}

std::set<std::string> kernels_for(const Nest& nest, const PlanContext& context) {
    std::set<std::string> names;
    for (const Candidate& candidate : candidates(Problem(nest.loops, nest.itemsize, context))) {
        names.insert(candidate.strategy->describe().kernel);
    }
    return names;
}

std::string chosen(const Nest& nest, const PlanContext& context) {
    return choose(Problem(nest.loops, nest.itemsize, context)).strategy->describe().kernel;
}

// A random permutation of at least so many elements of 1 to 16 bytes, by axes of 2 to `longest`.
Nest many_axes(std::mt19937& random, std::int64_t least, std::int64_t longest) {
    Dims extents;
    std::int64_t elements = 1;
    while (elements < least) elements *= extents.emplace_back(std::uniform_int_distribution<std::int64_t>(2, longest)(random));
    std::vector<std::size_t> order(extents.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::shuffle(order.begin(), order.end(), random);
    Dims strides(extents.size());
    std::int64_t stride = 1;
    for (const std::size_t axis : order) {
        strides[axis] = stride;
        stride *= extents[axis];
    }
    return nest_of(extents, strides, std::int64_t{1} << random() % 5);
}

// Extents and strides of a random permutation.
Nest random_permutation(std::mt19937& random, std::int64_t itemsize) {
    Dims extents(std::uniform_int_distribution<std::size_t>(1, 5)(random));
    for (std::int64_t& extent : extents) extent = std::uniform_int_distribution<std::int64_t>(2, 12)(random);
    std::vector<std::size_t> order(extents.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::shuffle(order.begin(), order.end(), random);
    Dims strides(extents.size());
    std::int64_t stride = 1;
    for (const std::size_t k : order) {
        strides[k] = stride;
        stride *= extents[k];
    }
    return nest_of(extents, strides, itemsize);
}

std::int64_t bytes_of(const Nest& nest) {
    std::int64_t bytes = nest.itemsize;
    for (const Loop& loop : nest.loops) bytes *= loop.extent;
    return bytes;
}

}  // namespace

TEST_CASE("the innermost part decides which strategies there are") {
    const PlanContext inside = inside_caches();
    CHECK(kernels_for(nest_of({10, 300}, {600, 1}, 4), inside) == std::set<std::string>{"rows"});
    CHECK(kernels_for(nest_of({10, 300}, {1, 0}, 128), inside) == std::set<std::string>{"fill"});
    const std::set<std::string> apart = kernels_for(canonical(Nest{{Loop{300, 4, 12}}, 0, 0, 4}), inside);
    CHECK(apart == std::set<std::string>{"strided elements"});
    const std::set<std::string> elements = kernels_for(transposed(96, 80, 4), inside);
    CHECK(elements.count("strided elements") == 1);
    CHECK(elements.count("transpose") == 1);
    for (const char* other : {"rows", "fill", "transpose of rows"}) CHECK(elements.count(other) == 0);
    CHECK(kernels_for(transposed(96, 80, 24), beyond_caches()).count("transpose of rows") == 1);
}

TEST_CASE("where nothing zeroes padding nothing is chosen") {
    auto table = std::make_shared<OffsetTable>();
    for (std::int64_t k = 0; k < 8; ++k) table->dst.push_back(100 * k * k);  // as no blocks lie
    table->src = {0, 4, 8};
    const Nest nest{{Loop{8, 0, 0, table}}, 0, 0, 4};
    const PlanContext context = inside_caches();
    CHECK(choose(Problem(nest.loops, nest.itemsize, context)).strategy == nullptr);
    CHECK(!NestPlan(nest, context).complete());
}

TEST_CASE("the cheapest candidate is chosen and a variant takes others") {
    for (const Nest& nest :
         {transposed(64, 256, 4), transposed(100, 3, 1), nest_of({8, 4, 30}, {30, 240, 1}, 2), transposed(50, 60, 6)}) {
        PlanContext context = inside_caches();
        const Problem problem(nest.loops, nest.itemsize, context);
        std::vector<Candidate> all = candidates(problem);
        std::sort(all.begin(), all.end(), [](const Candidate& one, const Candidate& other) { return one.cost < other.cost; });
        CHECK(all.front().cost > 0);
        for (std::size_t rank = 0; rank < all.size(); ++rank) {
            context.variant.kernel = static_cast<int>(rank);
            CHECK(chosen(nest, context) == all[rank].strategy->describe().kernel);
        }
        context.variant.kernel = static_cast<int>(all.size());  // as the planner says
        CHECK(chosen(nest, context) == all.front().strategy->describe().kernel);
    }
}

TEST_CASE("costs know what a shape is good for") {
    const PlanContext inside = inside_caches();
    const auto cost_of = [&](const Nest& nest, const std::string& kernel) {
        for (const Candidate& candidate : candidates(Problem(nest.loops, nest.itemsize, inside))) {
            if (candidate.strategy->describe().kernel == kernel) return candidate.cost;
        }
        return -1.0;
    };
    // Whole tiles cost less per byte than a row of them, elements the same in any number.
    CHECK(cost_of(transposed(256, 256, 4), "transpose") < cost_of(transposed(256, 2, 4), "transpose"));
    CHECK(cost_of(transposed(256, 256, 4), "transpose") < cost_of(transposed(256, 256, 4), "strided elements"));
    // Wide elements cost less per byte than narrow ones.
    CHECK(cost_of(transposed(256, 256, 8), "strided elements") < cost_of(transposed(256, 256, 1), "strided elements"));
    CHECK(chosen(transposed(256, 256, 4), inside) == "transpose");
}

TEST_CASE("schedules tile within the extents") {
    testing::each_round(300, 5, [](std::mt19937& random, int) {
        const std::int64_t itemsize = std::vector<std::int64_t>{1, 2, 3, 4, 6, 8, 16, 24, 100}[random() % 9];
        const Nest nest = random_permutation(random, itemsize);
        INFO(testing::literal(nest));
        for (const PlanContext& context : {inside_caches(), beyond_caches()}) {
            const Problem problem(nest.loops, nest.itemsize, context);
            for (const Candidate& candidate : candidates(problem)) {
                Strategy& strategy = *candidate.strategy;
                std::int64_t covered = nest.itemsize;
                for (const std::size_t position : strategy.taken) covered *= nest.loops[position].extent;
                CHECK(std::set<std::size_t>(strategy.taken.begin(), strategy.taken.end()).size() == strategy.taken.size());
                const Schedule schedule = strategy.schedule(problem);
                CHECK(strategy.a.tile >= 1);
                CHECK(strategy.a.tile <= strategy.a.extent);
                CHECK(strategy.b.tile >= 1);
                CHECK(strategy.b.tile <= strategy.b.extent);
                CHECK((schedule.stores == StoreMode::cached || context.large));
                // What the kernel does not cover, the walk goes around; its calls together cover all.
                const Walk walk = make_walk(problem, strategy, schedule);
                const std::int64_t calls = strategy.a.tiles() * strategy.b_tiles();
                CHECK(walk.sharing.units == calls * (bytes_of(nest) / covered));
                std::set<std::pair<std::int64_t, std::int64_t>> tiles;
                LoopCounter at(walk);
                for (std::int64_t k = 0; k < walk.sharing.units; ++k, at.next())
                    tiles.insert({at.unit().a_tile, at.unit().b_tile});
                CHECK(static_cast<std::int64_t>(tiles.size()) == calls);
            }
        }
    });
}

// All candidates for a dense nest, inside the caches and beyond, copy the same bytes.
void check_candidates(const Nest& nest, std::mt19937& random) {
    INFO(testing::literal(nest));
    const testing::Bytes src = testing::random_bytes(static_cast<std::size_t>(bytes_of(nest)), random);
    PlanContext claiming = inside_caches();
    claiming.claims = true;
    for (PlanContext context : {inside_caches(), claiming, beyond_caches()}) {
        testing::Bytes expected;
        context.dst_alignment = 1;
        const std::size_t count = candidates(Problem(nest.loops, nest.itemsize, context)).size();
        for (std::size_t rank = 0; rank < count; ++rank) {
            context.variant.kernel = static_cast<int>(rank);
            const NestPlan plan(nest, context);
            testing::Bytes dst(src.size());
            plan.run(src.data(), dst.data(), 0, plan.units());
            context.kernels->fence();
            if (rank == 0) expected = dst;
            CHECK(testing::difference(dst, expected) == "");
        }
    }
}

TEST_CASE("every candidate copies the same") {
    testing::each_round(200, 6, [](std::mt19937& random, int) {
        const std::int64_t itemsize = std::vector<std::int64_t>{1, 2, 3, 4, 8, 12, 16, 20}[random() % 8];
        check_candidates(random_permutation(random, itemsize), random);
    });
}

// Kernels that note how they were told to store.
KernelStores told;
std::vector<std::int64_t> told_ahead;
const Kernels& listening_kernels() {
    static const Kernels& all = kernels_for(best_isa());
    static const Kernels listening = [] {
        Kernels kernels = all;
        kernels.copy_rows = [](const std::byte* src, std::byte* dst, std::int64_t bytes, const KernelLoop& rows,
                               KernelStores stores) noexcept {
            told = stores;
            all.copy_rows(src, dst, bytes, rows, stores);
        };
        kernels.transpose[2] = [](const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                  const std::int64_t* dst_rows, std::int64_t rows_out, std::int64_t rows_in,
                                  KernelStores stores, RowsAhead ahead) noexcept {
            told = stores;
            all.transpose[2](src, src_rows, dst, dst_rows, rows_out, rows_in, stores, ahead);
        };
        kernels.transpose_lines[0] = [](const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                        const std::int64_t* dst_rows, std::int64_t rows_out, std::int64_t rows_in,
                                        std::int64_t owned, bool first, KernelStores stores, RowsAhead ahead) noexcept {
            told = stores;
            all.transpose_lines[0](src, src_rows, dst, dst_rows, rows_out, rows_in, owned, first, stores, ahead);
        };
        kernels.transpose_lines[2] = [](const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                        const std::int64_t* dst_rows, std::int64_t rows_out, std::int64_t rows_in,
                                        std::int64_t owned, bool first, KernelStores stores, RowsAhead ahead) noexcept {
            told = stores;
            all.transpose_lines[2](src, src_rows, dst, dst_rows, rows_out, rows_in, owned, first, stores, ahead);
        };
        kernels.transpose_batch[2] = [](const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                        const std::int64_t* dst_rows, std::int64_t columns, std::int64_t rows,
                                        const KernelLoop& a, KernelStores stores, std::int64_t ahead) noexcept {
            told = stores;
            told_ahead.push_back(ahead);
            all.transpose_batch[2](src, src_rows, dst, dst_rows, columns, rows, a, stores, ahead);
        };
        return kernels;
    }();
    return listening;
}

TEST_CASE("ordinary stores ask for their lines where the plan is told that this pays, others never") {
    const Nest rows = nest_of({4, 5, 3000}, {3000, 12000, 1}, 4);
    const Nest matrix = transposed(64, 96, 4);
    for (const Nest* nest : {&rows, &matrix}) {
        for (PlanContext context : {inside_caches(), beyond_caches()}) {
            for (const bool claims : {false, true}) {
                context.kernels = &listening_kernels();
                context.claims = claims;
                const NestPlan plan(*nest, context);
                INFO(plan.describe());
                testing::Bytes src(static_cast<std::size_t>(bytes_of(*nest))), dst(src.size() + 64);
                std::byte* const line = dst.data() + (-reinterpret_cast<std::uintptr_t>(dst.data()) & 63);
                told = {.claim = !claims};
                plan.run(src.data(), line, 0, plan.units());
                CHECK(told.claim == (claims && !context.large));
            }
        }
    }
}

TEST_CASE("a stage is filled by whole lines of the source where an 8-way cache would lose their other parts") {
    PlanContext context = beyond_caches();
    context.kernels = &listening_kernels();
    // Rows of the source 4 KiB apart, in which rows of the destination begin anywhere; of bytes a tile has more than eight.
    for (const auto& [itemsize, by_small] : {std::pair{4, SourceLines::whole}, std::pair{1, SourceLines::copied}}) {
        const Nest matrix = transposed(2060 / itemsize + 1, 4096 / itemsize, itemsize);
        for (const Processor* processor : {&kManyStreams, &kSmallCaches, &kFewOpenLines}) {
            context.processor = processor;
            const NestPlan plan(matrix, context);
            INFO(plan.describe());
            REQUIRE(plan.describe().find("by whole lines") != std::string::npos);
            const bool small = processor->small_first_level && context.kernels->vector_bytes < kLine;
            const SourceLines wanted = small ? by_small : SourceLines::parts;
            CHECK((plan.describe().find("source by lines") != std::string::npos) == (wanted == SourceLines::whole));
            CHECK((plan.describe().find("source by copied lines") != std::string::npos) == (wanted == SourceLines::copied));
            testing::Bytes src(static_cast<std::size_t>(bytes_of(matrix))), dst(src.size() + 64);
            std::byte* const line = dst.data() + (-reinterpret_cast<std::uintptr_t>(dst.data()) & 63);
            told = {.source_lines = small ? SourceLines::parts : SourceLines::whole};
            plan.run(src.data(), line, 0, plan.units());
            CHECK(told.source_lines == wanted);
        }
    }
}

TEST_CASE("batches of transposes ask for what the next call reads, unless it is near") {
    constexpr std::int64_t kMatrices = 500;
    constexpr std::int64_t kMatrix = 6 * 33 * 4;  // bytes
    const Nest nest = nest_of({kMatrices, 33, 6}, {6 * 33, 1, 33}, 4);
    PlanContext cached = inside_caches();
    cached.near = false;
    for (PlanContext context : {inside_caches(), cached, beyond_caches()}) {
        context.kernels = &listening_kernels();
        std::optional<NestPlan> plan;
        do {
            plan.emplace(nest, context);
        } while (plan->describe().find("batch transpose") == std::string::npos && ++context.variant.kernel < 8);
        INFO(plan->describe());
        testing::Bytes src(static_cast<std::size_t>(bytes_of(nest))), dst(src.size());
        told_ahead.clear();
        plan->run(src.data(), dst.data(), 0, plan->units());
        REQUIRE(std::ssize(told_ahead) == plan->units());
        REQUIRE(plan->units() > 2);
        const std::int64_t step = (kMatrices + plan->units() - 1) / plan->units() * kMatrix;
        std::vector<std::int64_t> expected(told_ahead.size(), context.near ? 0 : step);
        expected.back() = 0;
        CHECK(told_ahead == expected);
    }
}

TEST_CASE("long runs are repeated by string instructions where the processor has fast ones") {
    const Nest words = nest_of({3, 100000}, {1, 0}, 4);
    const Nest rows = nest_of({5, 200, 1000}, {1000, 0, 1}, 4);
    PlanContext context{&kernels_for(best_isa()), false, false, 64, 0};
    CHECK(chosen(words, context) == "fill");
    CHECK(chosen(rows, context) == "rows");
    context.processor = &kStrings;
    CHECK(chosen(words, context) == "repeat");
    CHECK(chosen(rows, context) == "repeat");
    // Short runs, what is no run, and what stays in the second-level caches or goes past all of them.
    CHECK(chosen(nest_of({300, 1000}, {1, 0}, 4), context) == "fill");
    CHECK(chosen(nest_of({500, 4, 1000}, {1000, 0, 1}, 4), context) == "rows");
    CHECK(chosen(nest_of({200, 5, 1000}, {0, 1000, 1}, 4), context) == "repeat");
    CHECK(chosen(nest_of({200, 5, 1000}, {0, 2000, 1}, 4), context) == "rows");
    context.near = true;
    CHECK(chosen(words, context) == "fill");
    context = beyond_caches();
    context.processor = &kStrings;
    CHECK(chosen(words, context) == "fill");
    CHECK(chosen(rows, context) == "rows");
}

TEST_CASE("axes that both sides have among their innermost ones are gathered after a transpose") {
    // x[i][j][p][s] -> y[p][i][s][j]
    const Nest nest = nest_of({5, 7, 6, 24}, {6, 24 * 30, 1, 30}, 4);
    CHECK(kernels_for(nest, inside_caches()).contains("transpose, then gather"));
    // Alone on one of the sides there is nothing to gather.
    CHECK_FALSE(kernels_for(transposed(24, 6, 4), inside_caches()).contains("transpose, then gather"));
    int found = 0;
    testing::each_round(150, 14, [&](std::mt19937& random, int) {
        const Nest permuted = many_axes(random, 4000, 6);
        found += kernels_for(permuted, beyond_caches()).contains("transpose, then gather") ? 1 : 0;
        check_candidates(permuted, random);
    });
    CHECK(found > 0);
}

TEST_CASE("short axes that neither vectors nor tiles suit are copied element by element, by a table") {
    // x[i][j][p][s] -> y[p][i][s][j]
    const Nest nest = nest_of({5, 7, 6, 24}, {6, 24 * 30, 1, 30}, 4);
    CHECK(kernels_for(nest, inside_caches()).contains("elements by a table"));
    // A long innermost axis is one of rows; one axis alone needs no table.
    CHECK_FALSE(kernels_for(nest_of({5, 7, 40}, {1, 5 * 40, 5}, 4), inside_caches()).contains("elements by a table"));
    CHECK_FALSE(kernels_for(transposed(24, 6, 4), inside_caches()).contains("elements by a table"));
    // Offsets that no table holds.
    const std::int64_t far = std::int64_t{1} << 31;
    CHECK_FALSE(
        kernels_for(nest_of({3, 4, 5, 6}, {1, 3 * far, far / 4, 3}, 4), inside_caches()).contains("elements by a table"));
}

TEST_CASE("batches of small matrices are transposed together") {
    const auto batch = [](std::int64_t matrices, std::int64_t rows, std::int64_t columns, std::int64_t itemsize) {
        return nest_of({matrices, columns, rows}, {rows * columns, 1, columns}, itemsize);
    };
    CHECK(kernels_for(batch(100, 12, 21, 1), inside_caches()).contains("batch transpose"));
    CHECK(kernels_for(batch(100, 12, 21, 1), beyond_caches()).contains("batch transpose"));
    CHECK(kernels_for(transposed(24, 6, 4), inside_caches()).contains("batch transpose"));
    // Rows of the destination are 4 bytes at least, and few; rows of the source not so many, far from each other.
    CHECK_FALSE(kernels_for(batch(100, 3, 21, 1), inside_caches()).contains("batch transpose"));
    CHECK_FALSE(kernels_for(batch(100, 65, 21, 4), inside_caches()).contains("batch transpose"));
    PlanContext shared = inside_caches();
    shared.near = false;
    const auto far = [](std::int64_t rows) { return nest_of({577, 16, rows}, {16, 1, 16 * 577}, 4); };
    CHECK(kernels_for(far(20), shared).contains("batch transpose"));
    CHECK(kernels_for(far(40), inside_caches()).contains("batch transpose"));
    CHECK_FALSE(kernels_for(far(40), shared).contains("batch transpose"));
    // Beyond the caches the source is read by long pieces.
    const auto pieces = [](std::int64_t pitch) { return nest_of({400, 13, 12, 5}, {60, pitch, 1, 12}, 8); };
    CHECK(kernels_for(pieces(60 * 400), inside_caches()).contains("batch transpose"));
    CHECK_FALSE(kernels_for(pieces(60 * 400), beyond_caches()).contains("batch transpose"));
    // Columns that do not follow each other: their rows must not reach into the next.
    const auto apart = [](std::int64_t rows) { return nest_of({20, 90, rows}, {1, 20 * rows + 20, 20}, 4); };
    CHECK(kernels_for(apart(4), inside_caches()).contains("batch transpose"));
    CHECK_FALSE(kernels_for(apart(3), inside_caches()).contains("batch transpose"));
    testing::each_round(150, 15, [&](std::mt19937& random, int) {
        const std::int64_t itemsize = std::int64_t{1} << random() % 4;
        const auto pick = [&](std::int64_t least, std::int64_t most) {
            return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
        };
        const Nest nest = batch(pick(1, 30), pick(2, 20), pick(2, 80), itemsize);
        check_candidates(nest, random);
    });
}

TEST_CASE("a batch of long matrices has offsets for a tile of columns") {
    const auto scheduled = [](const Nest& nest) {
        const PlanContext context = inside_caches();
        const Problem problem(nest.loops, nest.itemsize, context);
        std::vector<Candidate> all = candidates(problem);
        const auto batch = std::find_if(all.begin(), all.end(), [](const Candidate& candidate) {
            return candidate.strategy->describe().kernel == std::string("batch transpose");
        });
        REQUIRE(batch != all.end());
        batch->strategy->schedule(problem);
        return std::move(batch->strategy);
    };
    CHECK(scheduled(nest_of({1000000, 12}, {1, 1000000}, 4))->memory() < 16 * 1024);
    // So far from each other in the destination that there are no offsets for more columns than these.
    const Nest apart{{{100, 1, std::int64_t{5} << 54}, {200, 100, 1}}, 0, 0, 1};
    CHECK(scheduled(apart)->memory() < 4096);
    // The last tile, with the rest, is no more than a unit.
    const auto most_bytes = [](const Strategy& strategy) {
        return strategy.a.tile * strategy.b.steps(strategy.b.tiles() - 1) * strategy.unit_step;
    };
    for (const std::int64_t columns : {127, 191, 10007}) {
        CHECK(most_bytes(*scheduled(nest_of({columns, 255}, {1, columns}, 1))) <= kMaxUnitBytes);
    }
}

TEST_CASE("lists of elements and of rows go by their tables where the destination is written in order") {
    const auto listed = [](std::int64_t itemsize, std::int64_t dst_step) {
        auto table = std::make_shared<OffsetTable>();
        for (std::int64_t k = 0; k < 100; ++k) {
            table->src.push_back(k * 7 % 100 * itemsize);
            table->dst.push_back(dst_step != 0 ? k * dst_step : k * 3 % 100 * itemsize);
        }
        return canonical(Nest{{{50, 100 * itemsize, 100 * itemsize}, {100, 0, 0, table}}, 0, 0, itemsize});
    };
    for (const std::int64_t itemsize : {1, 4, 12, 100, 256}) {
        for (const PlanContext& context : {inside_caches(), beyond_caches()}) {
            const bool in_registers = 100 * itemsize <= 512;  // a row is permuted
            CHECK(chosen(listed(itemsize, itemsize), context) == std::string(in_registers ? "gather" : "listed elements"));
            CHECK(kernels_for(listed(itemsize, itemsize), context).contains("listed elements"));
            CHECK_FALSE(kernels_for(listed(itemsize, 0), context).contains("listed elements"));
            // Lists around rows of the destination.
            CHECK_FALSE(kernels_for(listed(itemsize, 5000 * itemsize), context).contains("listed elements"));
        }
    }
}

TEST_CASE("short rows that a table lists are copied by every candidate alike") {
    int gathered = 0;
    testing::each_round(150, 18, [&](std::mt19937& random, int) {
        const auto one_to = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
        const std::int64_t itemsize = std::vector<std::int64_t>{1, 2, 3, 4, 8, 12, 16}[random() % 7];
        const std::int64_t columns = one_to(40) + 1;
        const std::int64_t rows = one_to(3) == 3 ? one_to(3) : one_to(200);
        auto table = std::make_shared<OffsetTable>();
        for (std::int64_t k = 0; k < columns; ++k) {
            table->src.push_back((one_to(columns) - 1) * itemsize);
            table->dst.push_back(k * itemsize);
        }
        const Nest nest = canonical(
            Nest{{{rows, columns * itemsize, columns * itemsize}, {columns, 0, 0, table}}, 0, 0, itemsize});
        gathered += kernels_for(nest, inside_caches()).contains("gather") ? 1 : 0;
        check_candidates(nest, random);
    });
    CHECK(gathered > 20);
}

TEST_CASE("short rows all over a destination beyond the caches are put together to runs") {
    // x[i][j][p][s] -> y[p][i][s][j]: runs of i, s and j for every p.
    const Nest nest = nest_of({9, 40, 14, 11}, {14, 11 * 14 * 9, 1, 14 * 9}, 4);
    CHECK(kernels_for(nest, beyond_caches()).contains("transpose into runs"));
    CHECK_FALSE(kernels_for(nest, inside_caches()).contains("transpose into runs"));
    // Long rows need no stage.
    CHECK_FALSE(kernels_for(transposed(3000, 2000, 4), beyond_caches()).contains("transpose into runs"));
    int found = 0;
    testing::each_round(150, 16, [&](std::mt19937& random, int) {
        const Nest permuted = many_axes(random, 40000, 20);
        found += kernels_for(permuted, beyond_caches()).contains("transpose into runs") ? 1 : 0;
        check_candidates(permuted, random);
    });
    CHECK(found > 20);
}

TEST_CASE("few streams are interleaved and deinterleaved by every candidate alike") {
    testing::each_round(150, 6, [](std::mt19937& random, int) {
        const auto one_to = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
        const std::int64_t itemsize = std::vector<std::int64_t>{1, 2, 3, 4, 6, 8, 16}[random() % 7];
        const std::int64_t streams = one_to(7) + 1;
        const std::int64_t steps = one_to(4) == 4 ? one_to(3000) : one_to(90);
        const std::int64_t rows = one_to(9);
        const bool deals = random() % 2 == 0;
        const Dims strides = deals ? Dims{steps * streams, 1, streams} : Dims{steps * streams, 1, steps};
        const Nest nest = nest_of(deals ? Dims{rows, streams, steps} : Dims{rows, steps, streams}, strides, itemsize);
        INFO(testing::literal(nest));
        const testing::Bytes src = testing::random_bytes(static_cast<std::size_t>(bytes_of(nest)), random);
        testing::Bytes expected(src.size());
        for (std::int64_t at = 0; at < rows * streams * steps; ++at) {
            const std::int64_t row = at / (streams * steps);
            const std::int64_t stream = deals ? at / steps % streams : at % streams;
            const std::int64_t step = deals ? at % steps : at / streams % steps;
            const std::int64_t from = row * strides[0] + (deals ? stream + step * streams : step + stream * steps);
            std::memcpy(expected.data() + at * itemsize, src.data() + from * itemsize, static_cast<std::size_t>(itemsize));
        }
        for (PlanContext context : {inside_caches(), beyond_caches()}) {
            context.dst_alignment = 1;
            const std::size_t count = candidates(Problem(nest.loops, nest.itemsize, context)).size();
            for (std::size_t rank = 0; rank < count; ++rank) {
                context.variant.kernel = static_cast<int>(rank);
                const NestPlan plan(nest, context);
                testing::Bytes dst(src.size() + 128, std::byte{0x5a});
                const std::int64_t middle = one_to(plan.units());
                plan.run(src.data(), dst.data() + 64, 0, middle);
                plan.run(src.data(), dst.data() + 64, middle, plan.units());
                context.kernels->fence();
                testing::Bytes guarded(src.size() + 128, std::byte{0x5a});
                std::copy(expected.begin(), expected.end(), guarded.begin() + 64);
                CHECK(testing::difference(dst, guarded) == "");
            }
        }
    });
}

TEST_CASE("a walk keeps lines near that are read again") {
    // Columns of 64 elements, 4 bytes apart, out of rows of 4096 bytes: the loop over columns goes inside.
    const Nest nest = nest_of({16, 512}, {1, 1024}, 4);
    PlanContext context = beyond_caches();
    context.variant.kernel = 0;
    const Problem problem(nest.loops, nest.itemsize, context);
    for (const Candidate& candidate : candidates(problem)) {
        if (std::strcmp(candidate.strategy->describe().kernel, "strided elements") != 0) continue;
        const Schedule schedule = candidate.strategy->schedule(problem);
        const Walk walk = make_walk(problem, *candidate.strategy, schedule);
        CHECK((schedule.order == WalkOrder::lines_once));
        CHECK((walk.loops.back().role == OuterLoop::Role::tile_b));
        CHECK(walk.rereading == 1);
    }
}
