// What a program moves, and what follows from it for its nests: where data lie, what goes past the caches, what they share.
#include "plan/context.hpp"

#include <limits>
#include <memory>

#include "test.hpp"

using namespace dnnmove;

namespace {

constexpr std::int64_t kMega = 1'000'000;

// `bytes` in rows of 64 bytes, each from the same place of a source row.
Transfer rows(std::int64_t bytes, std::int64_t src_offset = 0, std::int64_t src_pitch = 64) {
    return {0, 0, Nest{{{bytes / 64, src_pitch, 64}}, src_offset, 0, 64}};
}

// On a machine that says nothing of its caches, of which a core fills 32 MB then.
PlanContext context_of(std::int64_t written, double read, Variant::Stores stores = Variant::Stores::automatic) {
    static const Processor kThis = [] {
        Processor processor = kManyStreams;
        processor.shared_cache_bytes = 32 * kMega;
        processor.claims_lines = true;
        processor.transposes_stream_from = 0.6;
        processor.rows_stream_from = 0.9;
        return processor;
    }();
    static const LastLevelCache kUnknown;
    PlanOptions options{Isa::scalar, 32, {}, &kThis, &kUnknown};
    options.variant.stores = stores;
    return dnnmove::context_of(options, {written, read});
}

std::string past_caches(const PlanContext& context) {
    return std::string(context.large ? "transposes " : "") + (context.beyond_cache ? "gathers " : "") +
           (context.stream_rows ? "rows " : "") + (context.far_beyond_cache ? "all" : "");
}

}  // namespace

TEST_CASE("nests become canonical, but for those with a sink, and empty ones copy nothing") {
    std::vector<Transfer> transfers{{0, 0, Nest{{{4, 8, 8}, {1, 3, 5}}, 0, 0, 8}},
                                    {0, 0, Nest{{{4, 8, 8}, {1, 3, 5}}, 0, 0, 8}},
                                    {0, 0, Nest{{{4, 8, 8}, {0, 3, 5}}, 0, 0, 8}}};
    transfers[1].sink = std::make_shared<const Sink>();
    make_canonical(transfers);
    CHECK(transfers[0].nest.itemsize == 32);
    CHECK(transfers[0].nest.loops.empty());
    CHECK(transfers[1].nest.loops.size() == 2);
    CHECK(transfers[2].empty());
    CHECK(!transfers[0].empty());
}

TEST_CASE("what a program moves is what all its copies write and the least that they read") {
    Transfer repeated = rows(640);
    repeated.repeat.count = 3;
    Transfer filled = rows(6400, 0, 0);
    Transfer converted = rows(640);
    auto sink = std::make_shared<Sink>();
    sink->src_bytes = 64;
    sink->dst_bytes = 16;
    converted.sink = sink;
    Transfer nothing = rows(640);
    nothing.nest.itemsize = 0;
    const Traffic traffic = traffic_of({rows(1280), repeated, filled, converted, nothing});
    CHECK(traffic.written == 1280 + 3 * 640 + 6400 + 160);
    CHECK(traffic.read == 1280 + 3 * 640 + 64 + 640);
    const std::int64_t huge = std::numeric_limits<std::int64_t>::max() / 64 * 64;
    CHECK(traffic_of({rows(huge), rows(huge)}).written == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("how much of the cache is filled decides what goes past it") {
    // Copies, of which an array of 20 MB is the room in which ordinary stores may gain.
    CHECK(past_caches(context_of(9 * kMega, 9e6)) == "");
    CHECK(past_caches(context_of(11 * kMega, 11e6)) == "");
    CHECK(past_caches(context_of(13 * kMega, 13e6)) == "transposes ");
    CHECK(past_caches(context_of(17 * kMega, 17e6)) == "transposes gathers ");
    CHECK(past_caches(context_of(19 * kMega, 19e6)) == "transposes gathers rows ");
    CHECK(past_caches(context_of(21 * kMega, 21e6)) == "transposes gathers rows all");
    // Fills, for which it is twice the cache.
    CHECK(past_caches(context_of(31 * kMega, 0)) == "");
    CHECK(past_caches(context_of(62 * kMega, 0)) == "transposes gathers rows ");
    CHECK(past_caches(context_of(65 * kMega, 0)) == "transposes gathers rows all");
    CHECK(past_caches(context_of(0, 0)) == "");
    // A measurement overrules it.
    CHECK(past_caches(context_of(kMega, 1e6, Variant::Stores::nontemporal)) == "transposes gathers rows all");
    CHECK(past_caches(context_of(90 * kMega, 9e7, Variant::Stores::cached)) == "");
}

TEST_CASE("small data are near, and lines are claimed that may lie in a second-level cache") {
    CHECK(context_of(kMega, 1e6).near);
    CHECK(!context_of(2 * kMega, 2e6).near);
    CHECK(context_of(20'000, 20e3).claims);
    CHECK(!context_of(10'000, 10e3).claims);
    CHECK(context_of(1, 1).dst_alignment == 32);
    CHECK(context_of(1, 1).kernels->isa == Isa::scalar);
}

TEST_CASE("nests of one program share its units, and the rows of one source") {
    const PlanContext far = context_of(90 * kMega, 9e7);
    const PlanContext alone = with_neighbours(far, {rows(64000)});
    CHECK(alone.alone);
    CHECK(alone.unit_bytes == 4096);
    CHECK(alone.side_by_side_bytes == 0);
    Transfer repeated = rows(64000);
    repeated.repeat.count = 2;
    CHECK(!with_neighbours(far, {repeated}).alone);

    std::vector<Transfer> columns;
    for (std::int64_t k = 0; k < 8; ++k) columns.push_back(rows(64000, 128 + k * 64, 512));
    const PlanContext shared = with_neighbours(far, columns);
    CHECK(!shared.alone);
    CHECK(shared.unit_bytes == 2048);
    CHECK(shared.side_by_side_from == 128);
    CHECK(shared.side_by_side_bytes == 512);
    CHECK(with_neighbours(context_of(kMega, 1e6), columns).side_by_side_bytes == 0);  // where the caches have all of it
    columns[3].nest.src_offset += 1;
    CHECK(with_neighbours(far, columns).side_by_side_bytes == 0);
    columns.assign(40, rows(640));
    CHECK(with_neighbours(far, columns).unit_bytes == 1024);
}
