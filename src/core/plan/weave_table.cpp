// What weaving streams costs, the tables that kernels/weave_lanes.hpp and weave_lines.hpp work by, and their calls.
#include "plan/weave_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "plan/costs.hpp"
#include "runtime/heap_bytes.hpp"

namespace dnnmove {
namespace {

double waste_of(std::int64_t bytes, std::int64_t vector_bytes) {
    const auto all = static_cast<double>(bytes);
    const auto vector = static_cast<double>(vector_bytes);
    return std::ceil(all / vector) * vector / all;
}

}  // namespace

WeaveTable::WeaveTable(std::int64_t width, std::int64_t streams, bool deals, std::int64_t bytes, const Kernels& kernels)
    : width_(width),
      streams_(streams),
      deals_(deals),
      by_lines_(kernels.weave_lines != nullptr && power_of_two(streams) && bytes >= kLine) {}

double WeaveTable::cost(std::int64_t steps, const Kernels& kernels) const {
    if (!by_lines_) return cost_by_lanes(steps, kernels) * costs_of(kernels).weave;
    const double rounds = std::countr_zero(static_cast<std::uint64_t>(streams_));
    // What is dealt out to few streams waits for its stores, not for permutes.
    return waste_of(steps * width_, kLine) * (deals_ ? 5.5 : 1.5 + rounds) / kLine * costs_of(kernels).weave_lines;
}

// As kernels/weave_lanes.hpp moves records, whose kinds differ in how many lanes are read and written for so many permutes.
// (Zen 5, AVX2, one thread, in the first-level cache, nanoseconds a KB with 9 of the copy: three streams of a byte 17, five 19,
// seven 15, twelve 20; three of 4 bytes 16, five 26, nine 21; of 8 bytes 16, dealt out 20.)
double WeaveTable::cost_by_lanes(std::int64_t steps, const Kernels& kernels) const {
    constexpr double kLonger = 1.1;  // than a lane, or no power of two
    constexpr double kHalves = 2.5;  // lanes that are half of two others
    constexpr double kDealtStream = 0.2;  // whole vectors of records, each stream of which gets a lane at a time
    constexpr double kLastLane = 1.5;  // of records of several lanes: as much as three quarters of two
    const double group_cycles = deals_ ? 4.6 : 3.3;  // of a lane of every record, with two of each stream
    const auto of_lane = static_cast<double>(kWeaveLane / width_);
    const auto record = static_cast<double>(streams_ * width_);
    const bool any = !power_of_two(streams_);
    const bool halves = any && width_ == kWeaveLane / 2 && streams_ % 2 != 0;
    const double groups = std::ceil(record / static_cast<double>(kWeaveLane));
    const auto side = static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(streams_)));
    const double moved = halves || !any ? static_cast<double>(streams_) : groups > 1 ? groups * of_lane : side;
    const double rounds = std::log2(std::min(moved, of_lane));
    double waste = waste_of(steps * width_, kWeaveLane);
    if (any && groups > 1 && kernels.vector_bytes > kWeaveLane) {
        constexpr std::int64_t kTwo = 2 * kWeaveLane;
        const std::int64_t bytes = steps * width_;
        const auto lanes = static_cast<double>((bytes % kTwo + kWeaveLane - 1) / kWeaveLane);
        waste += lanes * (kLastLane - 1) * static_cast<double>(kWeaveLane) / static_cast<double>(bytes);
    }
    const double moves = moved / static_cast<double>(streams_) * (1.5 + rounds) / kLine;
    const double besides = any && groups > 1 && !halves ? groups * group_cycles / (2 * of_lane * record) : 0;
    const double kind = halves        ? kHalves
                        : any         ? kLonger
                        : groups == 1 ? 1
                        : deals_      ? std::max(kLonger, kDealtStream * static_cast<double>(streams_))
                                      : kLonger;
    const double row_cycles = any ? 14 : 8;
    return waste * (moves * kind + besides) + row_cycles / (static_cast<double>(steps) * record);
}

void WeaveTable::make_permutes() { permutes_ = weave_permutes(width_, streams_, deals_, by_lines_); }

void WeaveTable::run(const Kernels& kernels, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t bytes,
                     const KernelLoop& b, KernelStores stores) const noexcept {
    const Weave weave{static_cast<int>(width_), static_cast<int>(streams_), deals_, permutes_.data()};
    (by_lines_ ? kernels.weave_lines : kernels.weave)(weave, srcs, dsts, bytes, b, stores);
}

std::size_t WeaveTable::memory() const { return heap_bytes(permutes_); }

std::vector<GatherIndex> weave_permutes(std::int64_t width, std::int64_t streams, bool deals, bool by_lines) {
    std::vector<GatherIndex> permutes(2);
    if (!by_lines) {
        constexpr std::uint8_t kNothing = 0x80;
        // What a record takes in the lane where streams are apart is a power of two elements.
        const auto side = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(streams)));
        for (std::int64_t byte = 0; byte < kWeaveLane; ++byte) {
            const std::int64_t each = deals ? kWeaveLane / side / width : streams;  // elements of a stream, or of a record
            const std::int64_t element = byte / width;
            const std::int64_t outer = each == 0 ? 0 : element / each;
            const std::int64_t inner = each == 0 ? 0 : element % each;
            const bool picks = deals ? outer < streams : outer < kWeaveLane / side / width;
            const std::int64_t from = (deals ? inner * streams + outer : outer * side + inner) * width + byte % width;
            permutes[0].byte[byte] = picks ? static_cast<std::uint8_t>(from) : kNothing;
        }
        return permutes;
    }
    for (std::int64_t byte = 0; byte < 64; ++byte) {
        const std::int64_t element = byte / width;
        const std::int64_t within = byte % width;
        for (std::int64_t half = 0; half < 2; ++half) {
            const std::int64_t from = deals ? (2 * element + half) * width + within
                                            : element % 2 * 64 + half * 32 + element / 2 * width + within;
            permutes[static_cast<std::size_t>(half)].byte[byte] = static_cast<std::uint8_t>(from);
        }
    }
    return permutes;
}

}  // namespace dnnmove
