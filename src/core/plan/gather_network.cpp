// Decides whether a gather goes through a network of permutes, and builds its table.
#include "plan/gather_network.hpp"

#include <algorithm>
#include <cstdlib>

namespace dnnmove {
namespace {

constexpr std::size_t kFewWindows = 4;      // no network gains here
constexpr std::size_t kMostWindows = 5;     // per vector before the network: the kernels have four steps
constexpr std::size_t kMostStride = 16;
constexpr std::size_t kMostNetworkLines = 16;

// The most windows that the units with one value of the `rounds` bits from `bit` (of the unit's number) on need.
std::size_t windows_per_value(const std::vector<std::size_t>& homes, std::int32_t rounds, std::int32_t bit) {
    std::uint64_t used[8] = {};
    for (std::size_t k = 0; k < homes.size(); ++k) used[k >> bit & ((1u << rounds) - 1)] |= 1ull << homes[k];
    int most = 0;
    for (const std::uint64_t set : used) most = std::max(most, __builtin_popcountll(set));
    return static_cast<std::size_t>(most);
}

}  // namespace

NetworkShape choose_network(const std::vector<std::int32_t>& places, std::size_t units, GatherPatterns& patterns) {
    NetworkShape shape;
    const std::size_t vectors = places.size() / units;
    if (vectors < 4) return shape;
    std::vector<std::int32_t> windows;
    patterns.cover(places.data(), units, windows);
    if (windows.size() <= kFewWindows || windows.size() > 64) return shape;
    // Vectors of a group read the same lines, best of all in the same order.
    const auto in_order = [&](const std::int32_t* vector) { return std::abs(std::int64_t{vector[0]} - places[0]) < 64; };
    const auto in_any = [&](const std::int32_t* vector) {
        return std::all_of(vector, vector + units, [&](std::int32_t place) {
            return place == GatherPatterns::kNone || std::any_of(windows.begin(), windows.end(), [&](std::int32_t window) {
                       return std::abs(static_cast<std::int64_t>(place) - window) < 128;
                   });
        });
    };
    const auto find_stride = [&](const auto& same_lines) {
        std::size_t stride = 1;
        while (stride < kMostStride && stride * 4 <= vectors && !same_lines(places.data() + stride * units)) ++stride;
        return stride * 4 > vectors ? kMostStride : stride;
    };
    shape.stride = find_stride(in_order);
    if (shape.stride == kMostStride && windows.size() <= kMostNetworkLines) shape.stride = find_stride(in_any);
    if (shape.stride == kMostStride) return shape;
    std::vector<std::size_t> homes(units, 0);
    for (std::size_t k = 0; k < units; ++k) {
        if (places[k] == GatherPatterns::kNone) continue;
        std::size_t home = windows.size() - 1;
        while (windows[home] > places[k]) --home;
        homes[k] = home;
    }
    std::size_t cost = 2 * (windows.size() - 1) + 3 * windows.size();
    for (std::int32_t rounds = 2; rounds <= 3; ++rounds) {
        if (shape.stride << rounds > vectors && rounds == 3) break;
        for (std::int32_t bit = 0; std::size_t{1} << (bit + rounds) <= units; ++bit) {
            const std::size_t each = windows_per_value(homes, rounds, bit);
            // Permutes and loads; loads cross lines as often as not.
            const std::size_t now = 2 * (std::max<std::size_t>(1, each - 1) + static_cast<std::size_t>(rounds)) + 3 * each;
            if (each > kMostWindows || now >= cost) continue;
            cost = now;
            shape.rounds = rounds;
            shape.bit = bit;
        }
    }
    return shape;
}

bool build_network(GatherTable& table, const std::vector<std::int32_t>& places, std::size_t units, std::int32_t unit,
                   const NetworkShape& shape, GatherPatterns& patterns) {
    const std::size_t size = std::size_t{1} << shape.rounds;
    const std::size_t vectors = table.vectors.size();
    // The order of the vectors: groups of every stride-th. A last, short group repeats its last vector.
    std::vector<std::size_t> order;
    order.reserve(vectors + size * shape.stride);
    for (std::size_t from = 0; from < vectors; from += size * shape.stride) {
        for (std::size_t start = from; start < std::min(vectors, from + shape.stride); ++start) {
            std::size_t vector = start;
            for (std::size_t s = 0; s < size; ++s) {
                order.push_back(vector);
                if (vector + shape.stride < std::min(vectors, from + size * shape.stride)) vector += shape.stride;
            }
        }
    }
    if (order.size() * 4 > vectors * 5 + 4 * 4) return false;  // too many repeated

    for (std::int32_t round = 0; round < shape.rounds; ++round) {
        GatherIndex low;
        GatherIndex high;
        const std::uint8_t bit = static_cast<std::uint8_t>(unit << (shape.bit + round));
        for (std::uint8_t byte = 0; byte < 64; ++byte) {
            const bool set = (byte & bit) != 0;
            low.byte[byte] = static_cast<std::uint8_t>(set ? 64 + (byte ^ bit) : byte);
            high.byte[byte] = static_cast<std::uint8_t>(set ? 64 + byte : byte | bit);
        }
        table.indices.push_back(low);
        table.indices.push_back(high);
    }
    std::vector<GatherVector> ordered;
    std::vector<GatherStep> steps;
    ordered.reserve(order.size());
    steps.reserve(order.size() * 2);
    std::vector<std::int32_t> turned(units);
    const std::size_t mask = size - 1;
    for (std::size_t k = 0; k < order.size(); ++k) {
        const std::size_t* group = order.data() + k / size * size;
        const std::size_t m = k % size;
        for (std::size_t u = 0; u < units; ++u) {
            const std::size_t from = group[u >> shape.bit & mask];
            turned[u] = places[from * units + ((u & ~(mask << shape.bit)) | m << shape.bit)];
        }
        GatherVector vector = table.vectors[order[k]];
        if (!patterns.add(turned.data(), kMostWindows, vector, steps)) {
            patterns.clear();
            return false;
        }
        ordered.push_back(vector);
    }
    table.vectors = std::move(ordered);
    table.steps = std::move(steps);
    table.network = shape.rounds;
    return true;
}

}  // namespace dnnmove
