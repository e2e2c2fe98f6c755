// Chooses among the two-window gathers: by how many vectors a block has and how many steps each.
#pragma once

#include <array>
#include <utility>

#include "kernels/gather_network.hpp"
#include "kernels/gather_two_windows.hpp"

namespace dnnmove {
namespace {

constexpr int kMostSteps = 8;

template <int vectors, int steps>
constexpr const BlockMover* own_windows() {
    if constexpr (vectors * steps <= kMostGatherTables) return &block_mover<FewVectors<OwnWindows<vectors, steps>>>;
    return &block_mover<ManyVectors>;
}
template <int vectors, int windows>
constexpr const BlockMover* shared_windows() {
    if constexpr (shares_windows(vectors, windows)) return &block_mover<FewVectors<SharedWindows<vectors, windows>>>;
    return nullptr;
}

template <int... ks>
constexpr auto own_windows_table(std::integer_sequence<int, ks...>) {
    return std::array<const BlockMover*, sizeof...(ks)>{own_windows<ks / kMostSteps + 1, ks % kMostSteps + 1>()...};
}
template <int... ks>
constexpr auto shared_windows_table(std::integer_sequence<int, ks...>) {
    return std::array<const BlockMover*, sizeof...(ks)>{shared_windows<ks / kMostShared + 1, ks % kMostShared + 1>()...};
}
constexpr auto kOwnWindows = own_windows_table(std::make_integer_sequence<int, kMostGatherVectors * kMostSteps>{});
constexpr auto kSharedWindows = shared_windows_table(std::make_integer_sequence<int, kMostShared * kMostShared>{});

const BlockMover& mover_for(const GatherBlock& block) {
    const std::int32_t steps = block.even_steps;
    switch (block.network == 0 ? 0 : block.network * 8 + (block.one_window ? 0 : steps)) {
        case 0: break;
        case 2 * 8: return block_mover<Network<2, 0>>;
        case 3 * 8: return block_mover<Network<3, 0>>;
        case 2 * 8 + 1: return block_mover<Network<2, 1>>;
        case 2 * 8 + 2: return block_mover<Network<2, 2>>;
        case 2 * 8 + 3: return block_mover<Network<2, 3>>;
        case 2 * 8 + 4: return block_mover<Network<2, 4>>;
        case 3 * 8 + 1: return block_mover<Network<3, 1>>;
        case 3 * 8 + 2: return block_mover<Network<3, 2>>;
        case 3 * 8 + 3: return block_mover<Network<3, 3>>;
        default: return block_mover<Network<3, 4>>;
    }
    if (block.shared_windows > 0) {
        return *kSharedWindows[static_cast<std::size_t>((block.count - 1) * kMostShared + block.shared_windows - 1)];
    }
    if (steps >= 1 && steps <= kMostSteps && block.count <= kMostGatherVectors && !block.zeroes) {
        return *kOwnWindows[static_cast<std::size_t>((block.count - 1) * kMostSteps + steps - 1)];
    }
    return block_mover<ManyVectors>;
}

void gather_two_windows(const GatherBlock& block, const std::byte* src, std::byte* dst, const KernelLoop& a,
                        const KernelLoop& b, KernelStores stores) noexcept {
    const bool partial = block.vector_bytes < 64 || block.window_bytes < 64;
    if (partial) stores = {};
    walk_blocks(partial ? block_mover<PartialVectors> : mover_for(block), block, src, dst, a, b, stores);
}

void gather_runs_two_windows(const GatherBlock& block, const std::byte* src, std::byte* dst, const KernelLoop& a,
                             const KernelLoop& b, const RunPlace* runs, std::int64_t count) noexcept {
    const BlockMover& mover = mover_for(block);
    for (std::int64_t k = 0; k < count; ++k) walk_blocks(mover, block, src + runs[k].src, dst + runs[k].dst, a, b, {});
}

}  // namespace
}  // namespace dnnmove
