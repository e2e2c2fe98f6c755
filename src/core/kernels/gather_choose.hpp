// Chooses among the two-window gathers: by how many vectors a block has and how many steps each.
#pragma once

#include <array>
#include <utility>

#include "kernels/by_reference.hpp"
#include "kernels/gather_network.hpp"
#include "kernels/gather_two_windows.hpp"

namespace dnnmove {
namespace {

using WalkBlocks = void (*)(const GatherBlock&, const std::byte*, std::byte*, const KernelLoop&, const KernelLoop&,
                            KernelStores) noexcept;

constexpr int kMostVectors = 8;
constexpr int kMostSteps = 8;
constexpr int kMostTables = 24;  // in registers, of 32

template <int vectors, int steps>
constexpr WalkBlocks own_windows() {
    if constexpr (vectors * steps <= kMostTables) return by_reference<walk_blocks<FewVectors<OwnWindows<vectors, steps>>>>;
    return by_reference<walk_blocks<ManyVectors>>;
}
template <int vectors, int windows>
constexpr WalkBlocks shared_windows() {
    if constexpr (shares_windows(vectors, windows))
        return by_reference<walk_blocks<FewVectors<SharedWindows<vectors, windows>>>>;
    return nullptr;
}

template <int... ks>
constexpr auto own_windows_table(std::integer_sequence<int, ks...>) {
    return std::array<WalkBlocks, sizeof...(ks)>{own_windows<ks / kMostSteps + 1, ks % kMostSteps + 1>()...};
}
template <int... ks>
constexpr auto shared_windows_table(std::integer_sequence<int, ks...>) {
    return std::array<WalkBlocks, sizeof...(ks)>{shared_windows<ks / kMostShared + 1, ks % kMostShared + 1>()...};
}
constexpr auto kOwnWindows = own_windows_table(std::make_integer_sequence<int, kMostVectors * kMostSteps>{});
constexpr auto kSharedWindows = shared_windows_table(std::make_integer_sequence<int, kMostShared * kMostShared>{});

void gather_two_windows(const GatherBlock& block, const std::byte* src, std::byte* dst, const KernelLoop& a,
                        const KernelLoop& b, KernelStores stores) noexcept {
    if (block.vector_bytes < 64 || block.window_bytes < 64) {
        return by_reference<walk_blocks<PartialVectors>>(block, src, dst, a, b, KernelStores{});
    }
    const std::int32_t steps = block.even_steps;
    switch (block.network == 0 ? 0 : block.network * 8 + (block.one_window ? 0 : steps)) {
        case 0: break;
        case 2 * 8: return by_reference<walk_blocks<Network<2, 0>>>(block, src, dst, a, b, stores);
        case 3 * 8: return by_reference<walk_blocks<Network<3, 0>>>(block, src, dst, a, b, stores);
        case 2 * 8 + 1: return by_reference<walk_blocks<Network<2, 1>>>(block, src, dst, a, b, stores);
        case 2 * 8 + 2: return by_reference<walk_blocks<Network<2, 2>>>(block, src, dst, a, b, stores);
        case 2 * 8 + 3: return by_reference<walk_blocks<Network<2, 3>>>(block, src, dst, a, b, stores);
        case 2 * 8 + 4: return by_reference<walk_blocks<Network<2, 4>>>(block, src, dst, a, b, stores);
        case 3 * 8 + 1: return by_reference<walk_blocks<Network<3, 1>>>(block, src, dst, a, b, stores);
        case 3 * 8 + 2: return by_reference<walk_blocks<Network<3, 2>>>(block, src, dst, a, b, stores);
        case 3 * 8 + 3: return by_reference<walk_blocks<Network<3, 3>>>(block, src, dst, a, b, stores);
        default: return by_reference<walk_blocks<Network<3, 4>>>(block, src, dst, a, b, stores);
    }
    if (block.shared_windows > 0) {
        return kSharedWindows[static_cast<std::size_t>((block.count - 1) * kMostShared + block.shared_windows - 1)](
            block, src, dst, a, b, stores);
    }
    if (steps >= 1 && steps <= kMostSteps && block.count <= kMostVectors && !block.zeroes) {
        return kOwnWindows[static_cast<std::size_t>((block.count - 1) * kMostSteps + steps - 1)](block, src, dst, a, b, stores);
    }
    by_reference<walk_blocks<ManyVectors>>(block, src, dst, a, b, stores);
}

}  // namespace
}  // namespace dnnmove
