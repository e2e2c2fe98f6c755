// Exchanges records with their fields (AoS <-> SoA) by vpshufb (AVX2): 16 bytes a vector, two blocks at a time.
#pragma once

#include <immintrin.h>

#include "kernels/contract.hpp"

namespace dnnmove {
namespace {

inline constexpr std::int64_t kShortExchange = 16;         // bytes of a vector
inline constexpr std::int64_t kPairsAhead = 2048;          // bytes of all sources together
inline constexpr std::int64_t kPairsChunk = 8192;          // bytes of the records
inline constexpr std::int32_t kFewShortVectors = 4;        // of a block that stays in registers

// Where a vector lies in the first block, and how far it moves per block.
struct PairCursor {
    const std::byte* from;
    std::byte* to;
    std::int64_t move;
};

// The vectors of two blocks; of one, twice, where there is no other.
template <bool pair>
inline __m256i load_pair(const std::byte* from, std::int64_t move) {
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    if constexpr (!pair) return _mm256_castsi128_si256(first);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(first),
                                   _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + move)), 1);
}

template <bool pair>
inline void store_pair(std::byte* to, std::int64_t move, __m256i vectors) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(vectors));
    if constexpr (pair) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + move), _mm256_extracti128_si256(vectors, 1));
}

inline __m256i picks_of(const ExchangeStep& step) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(step.index)));
}

// A few vectors on each side, every one made of all: each source is loaded once.
template <int count>
struct FewPairs {
    template <bool pair>
    static void move(const __m256i (&picks)[count][count], const PairCursor* sources, const PairCursor* destinations,
                     std::int64_t block, std::int64_t ahead) {
        __m256i x[count];
#pragma GCC unroll 4
        for (int s = 0; s < count; ++s) {
            const std::byte* const from = sources[s].from + block * sources[s].move;
            if (ahead != 0) __builtin_prefetch(from + ahead);
            x[s] = load_pair<pair>(from, sources[s].move);
        }
#pragma GCC unroll 4
        for (int v = 0; v < count; ++v) {
            __m256i vectors = _mm256_shuffle_epi8(x[0], picks[v][0]);
#pragma GCC unroll 4
            for (int s = 1; s < count; ++s) vectors = _mm256_or_si256(vectors, _mm256_shuffle_epi8(x[s], picks[v][s]));
            store_pair<pair>(destinations[v].to + block * destinations[v].move, destinations[v].move, vectors);
        }
    }

    static void run(const ExchangeBlock& block, const PairCursor* sources, const PairCursor* destinations, std::int64_t blocks,
                    std::int64_t ahead) {
        __m256i picks[count][count];
        for (int v = 0; v < count; ++v) {
            for (int s = 0; s < count; ++s) picks[v][s] = picks_of(block.steps[v * count + s]);
        }
        std::int64_t i = 0;
        for (; i + 2 <= blocks; i += 2) move<true>(picks, sources, destinations, i, ahead);
        if (i < blocks) move<false>(picks, sources, destinations, i, ahead);
    }
};

// One destination vector of the blocks [first, last), of `count` steps.
template <int count>
inline void exchange_short_vector(const ExchangeStep* steps, const PairCursor* sources, const PairCursor& destination,
                                  std::int64_t first, std::int64_t last) {
    __m256i picks[count];
    PairCursor from[count];
    for (int s = 0; s < count; ++s) {
        picks[s] = picks_of(steps[s]);
        from[s] = sources[steps[s].first];
    }
    const auto move = [&]<bool pair>(std::int64_t i) {
        __m256i vectors = _mm256_shuffle_epi8(load_pair<pair>(from[0].from + i * from[0].move, from[0].move), picks[0]);
#pragma GCC unroll 11
        for (int s = 1; s < count; ++s) {
            const __m256i x = load_pair<pair>(from[s].from + i * from[s].move, from[s].move);
            vectors = _mm256_or_si256(vectors, _mm256_shuffle_epi8(x, picks[s]));
        }
        store_pair<pair>(destination.to + i * destination.move, destination.move, vectors);
    };
    std::int64_t i = first;
    for (; i + 2 <= last; i += 2) move.template operator()<true>(i);
    if (i < last) move.template operator()<false>(i);
}

// Any number of vectors, one after the other over as many blocks as stay in the first-level cache.
inline void exchange_many_pairs(const ExchangeBlock& block, const PairCursor* sources, const PairCursor* destinations,
                                std::int64_t blocks, std::int64_t ahead) {
    using Vector = void (*)(const ExchangeStep*, const PairCursor*, const PairCursor&, std::int64_t, std::int64_t);
    static constexpr Vector kBySteps[ExchangeBlock::kMaxSteps] = {
        exchange_short_vector<1>, exchange_short_vector<2>,  exchange_short_vector<3>, exchange_short_vector<4>,
        exchange_short_vector<5>, exchange_short_vector<6>,  exchange_short_vector<7>, exchange_short_vector<8>,
        exchange_short_vector<9>, exchange_short_vector<10>, exchange_short_vector<11>};
    const std::int64_t chunk = 2 * (kPairsChunk / (2 * kShortExchange * block.count) + 1);  // whole pairs
    for (std::int64_t first = 0; first < blocks; first += chunk) {
        const std::int64_t last = first + chunk < blocks ? first + chunk : blocks;
        for (std::int32_t v = 0; ahead != 0 && v < block.count; ++v) {
            for (std::int64_t i = first; i < last; ++i) __builtin_prefetch(sources[v].from + (i + chunk) * sources[v].move);
        }
        const ExchangeStep* steps = block.steps;
        for (std::int32_t v = 0; v < block.count; ++v) {
            kBySteps[block.destinations[v].steps - 1](steps, sources, destinations[v], first, last);
            steps += block.destinations[v].steps;
        }
    }
}

void exchange_pairs(const ExchangeBlock& block, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t blocks,
                    KernelStores stores) noexcept {
    PairCursor sources[ExchangeBlock::kMaxVectors];
    PairCursor destinations[ExchangeBlock::kMaxVectors];
    bool dense = block.count <= kFewShortVectors;
    std::int64_t total = 0;
    const ExchangeStep* step = block.steps;
    for (std::int32_t v = 0; v < block.count; ++v) {
        const ExchangeVector& source = block.sources[v];
        const ExchangeVector& destination = block.destinations[v];
        sources[v].from = srcs[source.buffer] + source.offset;
        sources[v].move = block.src_moves[source.buffer];
        destinations[v].to = dsts[destination.buffer] + destination.offset;
        destinations[v].move = block.dst_moves[destination.buffer];
        total = total > sources[v].move ? total : sources[v].move;
        for (std::int32_t s = 0; s < destination.steps; ++s) dense = dense && step[s].first == s;
        dense = dense && destination.steps == block.count;
        step += destination.steps;
    }
    // Sources that move by little are many: each is asked for less far ahead.
    const std::int64_t ahead = stores.prefetch ? kPairsAhead * total / (kShortExchange * block.count) : 0;
    switch (dense ? block.count : 0) {
        case 2: return FewPairs<2>::run(block, sources, destinations, blocks, ahead);
        case 3: return FewPairs<3>::run(block, sources, destinations, blocks, ahead);
        case 4: return FewPairs<4>::run(block, sources, destinations, blocks, ahead);
        default: return exchange_many_pairs(block, sources, destinations, blocks, ahead);
    }
}

}  // namespace
}  // namespace dnnmove
