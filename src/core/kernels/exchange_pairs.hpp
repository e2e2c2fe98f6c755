// Exchanges records with their fields (AoS <-> SoA) by vpshufb (AVX2): 16 bytes a vector, two blocks at a time.
#pragma once

#include <immintrin.h>

#include "kernels/contract.hpp"

namespace dnnmove {
namespace {

inline constexpr std::int64_t kShortExchange = 16;         // bytes of a vector
inline constexpr std::int64_t kPairsAhead = 2048;          // bytes of all sources together
inline constexpr std::int64_t kPairsChunk = 8192;          // bytes of the records

// Where a vector lies in the first block, and how far it moves per block and per record.
struct PairCursor {
    std::byte* at;  // of a source only read
    std::int64_t move;
    std::int64_t record;
};

struct Pairs {
    PairCursor sources[ExchangeBlock::kMaxVectors];
    PairCursor destinations[ExchangeBlock::kMaxVectors];
    std::int64_t blocks;  // whole ones of a row
    std::int64_t last;    // the record from which the last block of a row repeats part of the one before it; 0: none does
    std::int64_t ahead;   // bytes; 0: nothing is asked for
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
    static void move(const __m256i (&picks)[count][count], const std::byte* const (&from)[count], std::byte* const (&to)[count],
                     const Pairs& pairs, std::int64_t block, std::int64_t ahead) {
        __m256i x[count];
#pragma GCC unroll 4
        for (int s = 0; s < count; ++s) {
            const std::int64_t step = pairs.sources[s].move;
            if (ahead != 0) __builtin_prefetch(from[s] + block * step + ahead);
            x[s] = load_pair<pair>(from[s] + block * step, step);
        }
#pragma GCC unroll 4
        for (int v = 0; v < count; ++v) {
            __m256i vectors = _mm256_shuffle_epi8(x[0], picks[v][0]);
#pragma GCC unroll 4
            for (int s = 1; s < count; ++s) vectors = _mm256_or_si256(vectors, _mm256_shuffle_epi8(x[s], picks[v][s]));
            const std::int64_t step = pairs.destinations[v].move;
            store_pair<pair>(to[v] + block * step, step, vectors);
        }
    }

    static void run(const ExchangeBlock& block, const Pairs& pairs, const KernelLoop& rows, std::int64_t rows_ahead) {
        __m256i picks[count][count];
        for (int v = 0; v < count; ++v) {
            for (int s = 0; s < count; ++s) picks[v][s] = picks_of(block.steps[v * count + s]);
        }
        for (std::int64_t j = 0; j < rows.extent; ++j) {
            const std::byte* from[count];
            std::byte* to[count];
            const std::int64_t src = rows.src_at(j);
            const std::int64_t ahead = rows_ahead == 0 ? pairs.ahead : rows.src_ahead(j + rows_ahead) - src;
#pragma GCC unroll 4
            for (int v = 0; v < count; ++v) {
                from[v] = pairs.sources[v].at + src;
                to[v] = pairs.destinations[v].at + j * rows.dst_stride;
            }
            std::int64_t i = 0;
            for (; i + 2 <= pairs.blocks; i += 2) move<true>(picks, from, to, pairs, i, ahead);
            if (i < pairs.blocks) move<false>(picks, from, to, pairs, i, ahead);
            if (pairs.last == 0) continue;
#pragma GCC unroll 4
            for (int v = 0; v < count; ++v) {
                from[v] += pairs.last * pairs.sources[v].record;
                to[v] += pairs.last * pairs.destinations[v].record;
            }
            move<false>(picks, from, to, pairs, 0, 0);
        }
    }
};

// One destination vector of the blocks [first, last), of `count` steps; `src` and `dst` bytes behind the cursors.
template <int count>
inline void exchange_short_vector(const ExchangeStep* steps, const PairCursor* sources, const PairCursor& destination,
                                  std::int64_t first, std::int64_t last, std::int64_t records, std::int64_t src,
                                  std::int64_t dst) {
    __m256i picks[count];
    const std::byte* from[count];
    std::int64_t moves[count];
    for (int s = 0; s < count; ++s) {
        const PairCursor& source = sources[steps[s].first];
        picks[s] = picks_of(steps[s]);
        from[s] = source.at + src + records * source.record;
        moves[s] = source.move;
    }
    std::byte* const to = destination.at + dst + records * destination.record;
    const auto move = [&]<bool pair>(std::int64_t i) {
        __m256i vectors = _mm256_shuffle_epi8(load_pair<pair>(from[0] + i * moves[0], moves[0]), picks[0]);
#pragma GCC unroll 11
        for (int s = 1; s < count; ++s) {
            const __m256i x = load_pair<pair>(from[s] + i * moves[s], moves[s]);
            vectors = _mm256_or_si256(vectors, _mm256_shuffle_epi8(x, picks[s]));
        }
        store_pair<pair>(to + i * destination.move, destination.move, vectors);
    };
    std::int64_t i = first;
    for (; i + 2 <= last; i += 2) move.template operator()<true>(i);
    if (i < last) move.template operator()<false>(i);
}

// Any number of vectors, one after the other over as many blocks as stay in the first-level cache.
struct ManyPairs {
    // Blocks [first, last) from a record on.
    static void chunk(const ExchangeBlock& block, const Pairs& pairs, std::int64_t first, std::int64_t last,
                      std::int64_t record, std::int64_t src, std::int64_t dst) {
        using Vector = void (*)(const ExchangeStep*, const PairCursor*, const PairCursor&, std::int64_t, std::int64_t,
                                std::int64_t, std::int64_t, std::int64_t);
        static constexpr Vector kBySteps[ExchangeBlock::kMaxSteps] = {
            exchange_short_vector<1>, exchange_short_vector<2>,  exchange_short_vector<3>, exchange_short_vector<4>,
            exchange_short_vector<5>, exchange_short_vector<6>,  exchange_short_vector<7>, exchange_short_vector<8>,
            exchange_short_vector<9>, exchange_short_vector<10>, exchange_short_vector<11>};
        const ExchangeStep* steps = block.steps;
        for (std::int32_t v = 0; v < block.count; ++v) {
            const std::int32_t count = block.destinations[v].steps;
            kBySteps[count - 1](steps, pairs.sources, pairs.destinations[v], first, last, record, src, dst);
            steps += count;
        }
    }

    static void run(const ExchangeBlock& block, const Pairs& pairs, const KernelLoop& rows) {
        const std::int64_t most = 2 * (kPairsChunk / (2 * kShortExchange * block.count) + 1);  // whole pairs
        for (std::int64_t j = 0; j < rows.extent; ++j) {
            const std::int64_t src = rows.src_at(j);
            const std::int64_t dst = j * rows.dst_stride;
            for (std::int64_t first = 0; first < pairs.blocks; first += most) {
                const std::int64_t last = first + most < pairs.blocks ? first + most : pairs.blocks;
                for (std::int32_t v = 0; pairs.ahead != 0 && v < block.count; ++v) {
                    const PairCursor& source = pairs.sources[v];
                    for (std::int64_t i = first; i < last; ++i) __builtin_prefetch(source.at + src + (i + most) * source.move);
                }
                chunk(block, pairs, first, last, 0, src, dst);
            }
            if (pairs.last != 0) chunk(block, pairs, 0, 1, pairs.last, src, dst);
        }
    }
};

void exchange_pairs(const ExchangeBlock& block, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t records,
                    const KernelLoop& rows, KernelStores stores) noexcept {
    Pairs pairs;
    bool dense = block.count <= ExchangeBlock::kFewVectors;
    std::int64_t total = 0;
    const ExchangeStep* step = block.steps;
    const int log2 = __builtin_ctzll(static_cast<unsigned long long>(block.records));
    for (std::int32_t v = 0; v < block.count; ++v) {
        const ExchangeVector& source = block.sources[v];
        const ExchangeVector& destination = block.destinations[v];
        const std::int64_t src_move = block.src_moves[source.buffer];
        const std::int64_t dst_move = block.dst_moves[destination.buffer];
        pairs.sources[v] = {const_cast<std::byte*>(srcs[source.buffer]) + source.offset, src_move, src_move >> log2};
        pairs.destinations[v] = {dsts[destination.buffer] + destination.offset, dst_move, dst_move >> log2};
        total = total > src_move ? total : src_move;
        for (std::int32_t s = 0; s < destination.steps; ++s) dense = dense && step[s].first == s;
        dense = dense && destination.steps == block.count;
        step += destination.steps;
    }
    pairs.blocks = records >> log2;
    pairs.last = pairs.blocks << log2 == records ? 0 : records - block.records;
    const std::int64_t row = pairs.blocks * kShortExchange * block.count;  // bytes
    // Sources that move by little are many: each is asked for less far ahead. Of short rows later ones are asked for.
    pairs.ahead = stores.prefetch ? kPairsAhead * total / (kShortExchange * block.count) : 0;
    const std::int64_t rows_ahead = stores.prefetch && rows.extent > 1 && row < 2 * kPairsAhead ? kPairsAhead / row + 1 : 0;
    switch (dense ? block.count : 0) {
        case 2: return FewPairs<2>::run(block, pairs, rows, rows_ahead);
        case 3: return FewPairs<3>::run(block, pairs, rows, rows_ahead);
        case 4: return FewPairs<4>::run(block, pairs, rows, rows_ahead);
        default: return ManyPairs::run(block, pairs, rows);
    }
}

}  // namespace
}  // namespace dnnmove
