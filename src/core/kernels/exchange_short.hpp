// Exchanges records with their fields (AoS <-> SoA) by permutes of bytes in lanes of 16 bytes: 16 bytes of a buffer at a
// time, of as many blocks as a register has lanes (one or two).
#pragma once

#include "kernels/contract.hpp"

namespace dnnmove {
namespace {

inline constexpr std::int64_t kShortExchange = 16;         // bytes of a vector
inline constexpr std::int64_t kShortAhead = 2048;          // bytes of all sources together
inline constexpr std::int64_t kShortChunk = 8192;          // bytes of the records

// Where a vector lies in the first block, and how far it moves per block and per record.
struct ShortCursor {
    std::byte* at;  // of a source only read
    std::int64_t move;
    std::int64_t record;
};

struct ShortCursors {
    ShortCursor sources[ExchangeBlock::kMaxVectors];
    ShortCursor destinations[ExchangeBlock::kMaxVectors];
    std::int64_t blocks;  // whole ones of a row
    std::int64_t last;    // the record from which the last block of a row repeats part of the one before it; 0: none does
    std::int64_t ahead;   // bytes; 0: nothing is asked for
};

// The vectors of `blocks` blocks, each in a lane.
template <class Simd, int blocks>
inline typename Simd::Vector load_lanes(const std::byte* from, std::int64_t move) {
    auto vectors = Simd::with_lane(typename Simd::Vector{}, Simd::lane(from), 0);
    if constexpr (blocks == 2) vectors = Simd::with_lane(vectors, Simd::lane(from + move), 1);
    return vectors;
}

template <class Simd, int blocks>
inline void store_lanes(std::byte* to, std::int64_t move, typename Simd::Vector vectors) {
    Simd::template store_lanes<1>(to, vectors, 0);
    if constexpr (blocks == 2) Simd::template store_lanes<1>(to + move, vectors, 1);
}

template <class Simd>
inline typename Simd::Vector picks_of(const ExchangeStep& step) {
    return Simd::splat(reinterpret_cast<const std::byte*>(step.index), 16);
}

// A few vectors on each side, every one made of all: each source is loaded once.
template <class Simd, int count>
struct FewShort {
    using Vector = typename Simd::Vector;
    static constexpr int kBlocks = Simd::kBytes / kShortExchange;

    template <int blocks, bool claims>
    static void move(const Vector (&picks)[count][count], const std::byte* const (&from)[count], std::byte* const (&to)[count],
                     const ShortCursors& at, std::int64_t block, std::int64_t ahead) {
        Vector x[count];
#pragma GCC unroll 8
        for (int s = 0; s < count; ++s) {
            const std::int64_t step = at.sources[s].move;
            if (ahead != 0) __builtin_prefetch(from[s] + block * step + ahead);
            x[s] = load_lanes<Simd, blocks>(from[s] + block * step, step);
        }
#pragma GCC unroll 8
        for (int v = 0; v < count; ++v) {
            Vector vectors = Simd::shuffle_lanes(x[0], picks[v][0]);
#pragma GCC unroll 8
            for (int s = 1; s < count; ++s) vectors |= Simd::shuffle_lanes(x[s], picks[v][s]);
            const std::int64_t step = at.destinations[v].move;
            if (claims) __builtin_prefetch(to[v] + block * step);
            store_lanes<Simd, blocks>(to[v] + block * step, step, vectors);
        }
    }

    template <bool claims>
    static void run(const ExchangeBlock& block, const ShortCursors& at, const KernelLoop& rows, std::int64_t rows_ahead) {
        Vector picks[count][count];
        for (int v = 0; v < count; ++v) {
            for (int s = 0; s < count; ++s) picks[v][s] = picks_of<Simd>(block.steps[v * count + s]);
        }
        for (std::int64_t j = 0; j < rows.extent; ++j) {
            const std::byte* from[count];
            std::byte* to[count];
            const std::int64_t src = rows.src_at(j);
            const std::int64_t ahead = rows_ahead == 0 ? at.ahead : rows.src_ahead(j + rows_ahead) - src;
#pragma GCC unroll 8
            for (int v = 0; v < count; ++v) {
                from[v] = at.sources[v].at + src;
                to[v] = at.destinations[v].at + j * rows.dst_stride;
            }
            std::int64_t i = 0;
            for (; i + kBlocks <= at.blocks; i += kBlocks) move<kBlocks, claims>(picks, from, to, at, i, ahead);
            if (i < at.blocks) move<1, claims>(picks, from, to, at, i, ahead);
            if (at.last == 0) continue;
#pragma GCC unroll 8
            for (int v = 0; v < count; ++v) {
                from[v] += at.last * at.sources[v].record;
                to[v] += at.last * at.destinations[v].record;
            }
            move<1, false>(picks, from, to, at, 0, 0);
        }
    }
};

// One destination vector of the blocks [first, last), of `count` steps; `src` and `dst` bytes behind the cursors.
template <class Simd, int count>
inline void exchange_short_vector(const ExchangeStep* steps, const ShortCursor* sources, const ShortCursor& destination,
                                  std::int64_t first, std::int64_t last, std::int64_t records, std::int64_t src,
                                  std::int64_t dst, bool claim) {
    constexpr int kBlocks = Simd::kBytes / kShortExchange;
    typename Simd::Vector picks[count];
    const std::byte* from[count];
    std::int64_t moves[count];
    for (int s = 0; s < count; ++s) {
        const ShortCursor& source = sources[steps[s].first];
        picks[s] = picks_of<Simd>(steps[s]);
        from[s] = source.at + src + records * source.record;
        moves[s] = source.move;
    }
    std::byte* const to = destination.at + dst + records * destination.record;
    const auto move = [&]<int blocks>(std::int64_t i) {
        auto vectors = Simd::shuffle_lanes(load_lanes<Simd, blocks>(from[0] + i * moves[0], moves[0]), picks[0]);
#pragma GCC unroll 11
        for (int s = 1; s < count; ++s) {
            vectors |= Simd::shuffle_lanes(load_lanes<Simd, blocks>(from[s] + i * moves[s], moves[s]), picks[s]);
        }
        if (claim) __builtin_prefetch(to + i * destination.move);
        store_lanes<Simd, blocks>(to + i * destination.move, destination.move, vectors);
    };
    std::int64_t i = first;
    for (; i + kBlocks <= last; i += kBlocks) move.template operator()<kBlocks>(i);
    if (i < last) move.template operator()<1>(i);
}

// Any number of vectors, one after the other over as many blocks as stay in the first-level cache.
template <class Simd>
struct ManyShort {
    // Blocks [first, last) from a record on.
    static void chunk(const ExchangeBlock& block, const ShortCursors& at, std::int64_t first, std::int64_t last,
                      std::int64_t record, std::int64_t src, std::int64_t dst, bool claim) {
        using Vector = void (*)(const ExchangeStep*, const ShortCursor*, const ShortCursor&, std::int64_t, std::int64_t,
                                std::int64_t, std::int64_t, std::int64_t, bool);
        static constexpr Vector kBySteps[ExchangeBlock::kMaxSteps] = {
            exchange_short_vector<Simd, 1>,  exchange_short_vector<Simd, 2>, exchange_short_vector<Simd, 3>,
            exchange_short_vector<Simd, 4>,  exchange_short_vector<Simd, 5>, exchange_short_vector<Simd, 6>,
            exchange_short_vector<Simd, 7>,  exchange_short_vector<Simd, 8>, exchange_short_vector<Simd, 9>,
            exchange_short_vector<Simd, 10>, exchange_short_vector<Simd, 11>};
        const ExchangeStep* steps = block.steps;
        for (std::int32_t v = 0; v < block.count; ++v) {
            const std::int32_t count = block.destinations[v].steps;
            kBySteps[count - 1](steps, at.sources, at.destinations[v], first, last, record, src, dst, claim);
            steps += count;
        }
    }

    static void run(const ExchangeBlock& block, const ShortCursors& at, const KernelLoop& rows, bool claim) {
        const std::int64_t most = 2 * (kShortChunk / (2 * kShortExchange * block.count) + 1);  // whole pairs
        for (std::int64_t j = 0; j < rows.extent; ++j) {
            const std::int64_t src = rows.src_at(j);
            const std::int64_t dst = j * rows.dst_stride;
            for (std::int64_t first = 0; first < at.blocks; first += most) {
                const std::int64_t last = first + most < at.blocks ? first + most : at.blocks;
                for (std::int32_t v = 0; at.ahead != 0 && v < block.count; ++v) {
                    const ShortCursor& source = at.sources[v];
                    for (std::int64_t i = first; i < last; ++i) __builtin_prefetch(source.at + src + (i + most) * source.move);
                }
                chunk(block, at, first, last, 0, src, dst, claim);
            }
            if (at.last != 0) chunk(block, at, 0, 1, at.last, src, dst, false);
        }
    }
};

template <class Simd>
void exchange_short(const ExchangeBlock& block, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t records,
                    const KernelLoop& rows, KernelStores stores) noexcept {
    ShortCursors at;
    bool dense = block.count <= ExchangeBlock::few_vectors(kShortExchange);
    std::int64_t total = 0;
    const ExchangeStep* step = block.steps;
    const int log2 = __builtin_ctzll(static_cast<unsigned long long>(block.records));
    for (std::int32_t v = 0; v < block.count; ++v) {
        const ExchangeVector& source = block.sources[v];
        const ExchangeVector& destination = block.destinations[v];
        const std::int64_t src_move = block.src_moves[source.buffer];
        const std::int64_t dst_move = block.dst_moves[destination.buffer];
        at.sources[v] = {const_cast<std::byte*>(srcs[source.buffer]) + source.offset, src_move, src_move >> log2};
        at.destinations[v] = {dsts[destination.buffer] + destination.offset, dst_move, dst_move >> log2};
        total = total > src_move ? total : src_move;
        for (std::int32_t s = 0; s < destination.steps; ++s) dense = dense && step[s].first == s;
        dense = dense && destination.steps == block.count;
        step += destination.steps;
    }
    at.blocks = records >> log2;
    at.last = at.blocks << log2 == records ? 0 : records - block.records;
    const std::int64_t row = at.blocks * kShortExchange * block.count;  // bytes
    // Sources that move by little are many: each is asked for less far ahead. Of short rows later ones are asked for.
    at.ahead = stores.prefetch ? kShortAhead * total / (kShortExchange * block.count) : 0;
    const std::int64_t rows_ahead = stores.prefetch && rows.extent > 1 && row < 2 * kShortAhead ? kShortAhead / row + 1 : 0;
    const auto run = [&]<int count>() {
        if (stores.claim) return FewShort<Simd, count>::template run<true>(block, at, rows, rows_ahead);
        FewShort<Simd, count>::template run<false>(block, at, rows, rows_ahead);
    };
    switch (dense ? block.count : 0) {
        case 2: return run.template operator()<2>();
        case 3: return run.template operator()<3>();
        case 4: return run.template operator()<4>();
        case 5: return run.template operator()<5>();
        case 6: return run.template operator()<6>();
        case 7: return run.template operator()<7>();
        case 8: return run.template operator()<8>();
        default: return ManyShort<Simd>::run(block, at, rows, stores.claim);
    }
}

}  // namespace
}  // namespace dnnmove
