// Exchanges records with their fields (AoS <-> SoA) by vpermi2b (AVX-512 VBMI): buffers anywhere, every
// line of either side touched once.
#pragma once

#include <immintrin.h>

#include "kernels/by_number.hpp"
#include "kernels/contract.hpp"
#include "kernels/rows.hpp"
#include "kernels/simd_avx512.hpp"

namespace dnnmove {
namespace {

inline constexpr std::int64_t kExchangeAhead = 2048;  // bytes of all sources together

template <bool nontemporal>
inline void put_exchanged(std::byte* to, __m512i vector, bool claim) {
    if (claim) __builtin_prefetch(to);
    put_vector<Simd512, nontemporal>(to, vector);
}

// Where the vectors of the next block lie, and how far each moves per block.
struct ExchangeCursors {
    static constexpr std::int32_t kMost = ExchangeBlock::most_vectors(kLine);
    const std::byte* from[kMost];
    std::byte* to[kMost];
    std::int64_t from_moves[kMost];
    std::int64_t to_moves[kMost];
};

// A few vectors on each side, every one made of all: sources and indices stay in registers.
template <int count>
struct FewExchanged {
    template <bool nontemporal>
    [[gnu::noinline]] static void run(const ExchangeBlock& block, const ExchangeCursors& at, std::int64_t blocks,
                                      std::int64_t ahead, bool claim) {
        __m512i index[count][count - 1];
        const std::byte* from[count];
        std::byte* to[count];
#pragma GCC unroll 4
        for (int v = 0; v < count; ++v) {
            from[v] = at.from[v];
            to[v] = at.to[v];
#pragma GCC unroll 4
            for (int s = 0; s < count - 1; ++s) index[v][s] = _mm512_load_si512(block.steps[v * (count - 1) + s].index);
        }
        for (std::int64_t i = 0; i < blocks; ++i) {
            __m512i x[count];
#pragma GCC unroll 4
            for (int v = 0; v < count; ++v) {
                if (ahead != 0) __builtin_prefetch(from[v] + ahead);
                x[v] = _mm512_loadu_si512(from[v]);
                from[v] += at.from_moves[v];
            }
#pragma GCC unroll 4
            for (int v = 0; v < count; ++v) {
                __m512i vector = _mm512_permutex2var_epi8(x[0], index[v][0], x[1]);
#pragma GCC unroll 4
                for (int s = 1; s < count - 1; ++s) vector = _mm512_permutex2var_epi8(vector, index[v][s], x[s + 1]);
                put_exchanged<nontemporal>(to[v], vector, claim);
                to[v] += at.to_moves[v];
            }
        }
    }
};

template <int count>
inline void run_exchange(const ExchangeBlock& block, const ExchangeCursors& at, std::int64_t blocks, KernelStores stores) {
    std::int64_t total = 0;
    for (std::int32_t v = 0; v < block.count; ++v) total = total > at.from_moves[v] ? total : at.from_moves[v];
    // Sources that move by little are many: each is asked for less far ahead.
    const std::int64_t ahead = !stores.prefetch ? 0 : kExchangeAhead * total / (64 * block.count);
    if (stores.nontemporal) {
        FewExchanged<count>::template run<true>(block, at, blocks, ahead, false);
    } else {
        FewExchanged<count>::template run<false>(block, at, blocks, ahead, stores.claim);
    }
}

void exchange(const ExchangeBlock& block, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t records,
              KernelStores stores) noexcept {
    ExchangeCursors at;
    for (std::int32_t v = 0; v < block.count; ++v) {
        const ExchangeVector& source = block.sources[v];
        const ExchangeVector& destination = block.destinations[v];
        at.from[v] = srcs[source.buffer] + source.offset;
        at.from_moves[v] = block.src_moves[source.buffer];
        at.to[v] = dsts[destination.buffer] + destination.offset;
        at.to_moves[v] = block.dst_moves[destination.buffer];
    }
    const auto run = [&](std::int64_t blocks, KernelStores how) {
        with_number<2, 3, 4>(block.count, [&]<int count>() { run_exchange<count>(block, at, blocks, how); });
    };
    run(records / block.records, stores);
    if (records % block.records == 0) return;
    const std::int64_t last = records - block.records;
    for (std::int32_t v = 0; v < block.count; ++v) {
        at.from[v] += last * (at.from_moves[v] / block.records);
        at.to[v] += last * (at.to_moves[v] / block.records);
    }
    run(1, KernelStores{});
}

}  // namespace
}  // namespace dnnmove
