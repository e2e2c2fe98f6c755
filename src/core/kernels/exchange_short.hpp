// Exchanges records with their fields (AoS <-> SoA) by permutes of bytes in lanes of 16 bytes: 16 bytes of a buffer at a
// time, of as many blocks as a register has lanes (one or two).
#pragma once

#include <array>
#include <utility>

#include "kernels/by_number.hpp"
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
    std::int64_t blocks;  // whole ones
    std::int64_t last;    // the record from which the last block repeats part of the one before it; 0: none does
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

// A few vectors on each side, every one made of all: each source is loaded once. `even`: the vectors of a side all move alike.
template <class Simd, int count, bool even>
struct FewShort {
    using Vector = typename Simd::Vector;
    static constexpr int kBlocks = Simd::kBytes / kShortExchange;

    // What each vector of a side has, or all of them.
    struct PerVector {
        std::int64_t of[even ? 1 : count];
        std::int64_t operator[](int v) const { return of[even ? 0 : v]; }
    };
    template <class Value>
    [[gnu::always_inline]] static inline PerVector each(const Value& value) {
        PerVector all;
#pragma GCC unroll 8
        for (int v = 0; v < (even ? 1 : count); ++v) all.of[v] = value(v);
        return all;
    }

    // Where the vectors of a side lie.
    template <class Byte>
    struct Places {
        Byte* at[count];
        std::int64_t further = 0;  // of all, where they move alike
        Byte* operator[](int v) const { return at[v] + further; }
        [[gnu::always_inline]] inline void move(const PerVector& step, std::int64_t times) {
            if (even) {
                further += times * step[0];
                return;
            }
#pragma GCC unroll 8
            for (int v = 0; v < count; ++v) at[v] += times * step[v];
        }
    };

    // A block, or two: the second lies `src_step` and `dst_step` further on.
    template <int blocks, bool claims>
    [[gnu::always_inline]] static inline void move(const Vector (&picks)[count][count], const Places<const std::byte>& from,
                                                   const Places<std::byte>& to, const PerVector& src_step,
                                                   const PerVector& dst_step, std::int64_t ahead) {
        Vector x[count];
#pragma GCC unroll 8
        for (int s = 0; s < count; ++s) {
            if (ahead != 0) __builtin_prefetch(from[s] + ahead);
            x[s] = load_lanes<Simd, blocks>(from[s], src_step[s]);
        }
#pragma GCC unroll 8
        for (int v = 0; v < count; ++v) {
            Vector vectors = Simd::shuffle_lanes(x[0], picks[v][0]);
#pragma GCC unroll 8
            for (int s = 1; s < count; ++s) vectors |= Simd::shuffle_lanes(x[s], picks[v][s]);
            if (claims) __builtin_prefetch(to[v]);
            store_lanes<Simd, blocks>(to[v], dst_step[v], vectors);
        }
    }

    template <bool claims>
    static void run(const ExchangeBlock& block, const ShortCursors& at) {
        Vector picks[count][count];
        Places<const std::byte> from;
        Places<std::byte> to;
        for (int v = 0; v < count; ++v) {
            for (int s = 0; s < count; ++s) picks[v][s] = picks_of<Simd>(block.steps[v * count + s]);
            from.at[v] = at.sources[v].at;
            to.at[v] = at.destinations[v].at;
        }
        const std::int64_t groups = at.blocks / kBlocks;
        const bool rest = at.blocks % kBlocks != 0;
        const bool again = at.last != 0;
        const std::int64_t ahead = at.ahead;
        const auto src_step = each([&](int v) { return at.sources[v].move; });
        const auto dst_step = each([&](int v) { return at.destinations[v].move; });
        // From the blocks that are left to the last one.
        const auto src_last = each([&](int v) { return at.last * at.sources[v].record - groups * kBlocks * src_step[v]; });
        const auto dst_last = each([&](int v) { return at.last * at.destinations[v].record - groups * kBlocks * dst_step[v]; });
        for (std::int64_t i = 0; i < groups; ++i) {
            move<kBlocks, claims>(picks, from, to, src_step, dst_step, ahead);
            from.move(src_step, kBlocks);
            to.move(dst_step, kBlocks);
        }
        if (kBlocks == 2 && rest && again) return move<kBlocks, claims>(picks, from, to, src_last, dst_last, ahead);
        if (rest) move<1, claims>(picks, from, to, src_step, dst_step, ahead);
        if (!again) return;
        from.move(src_last, 1);
        to.move(dst_last, 1);
        move<1, false>(picks, from, to, src_step, dst_step, 0);
    }
};

// One destination vector of the blocks [first, last) from a record on, of `count` steps. `even`: all sources move alike.
template <class Simd, int count, bool even>
inline void exchange_short_vector(const ExchangeStep* steps, const ShortCursor* sources, const ShortCursor& destination,
                                  std::int64_t first, std::int64_t last, std::int64_t record, bool claim) {
    constexpr int kBlocks = Simd::kBytes / kShortExchange;
    typename Simd::Vector picks[count];
    const std::byte* from[count];
    std::int64_t moves[count];
#pragma GCC unroll 11
    for (int s = 0; s < count; ++s) {
        const ShortCursor& source = sources[steps[s].first];
        picks[s] = picks_of<Simd>(steps[s]);
        from[s] = source.at + record * source.record + first * source.move;
        moves[s] = source.move;
    }
    const std::int64_t dst_move = destination.move;
    std::byte* to = destination.at + record * destination.record + first * dst_move;
    std::int64_t further = 0;  // of all sources, where they move alike
    const auto move = [&]<int blocks>() {
        const auto vector_of = [&](int s) {
            return Simd::shuffle_lanes(load_lanes<Simd, blocks>(from[s] + further, moves[even ? 0 : s]), picks[s]);
        };
        auto vectors = vector_of(0);
#pragma GCC unroll 11
        for (int s = 1; s < count; ++s) vectors |= vector_of(s);
        if (claim) __builtin_prefetch(to);
        store_lanes<Simd, blocks>(to, dst_move, vectors);
    };
    std::int64_t i = first;
    for (; i + kBlocks <= last; i += kBlocks) {
        move.template operator()<kBlocks>();
        to += kBlocks * dst_move;
        if (even) {
            further += kBlocks * moves[0];
        } else {
#pragma GCC unroll 11
            for (int s = 0; s < count; ++s) from[s] += kBlocks * moves[s];
        }
    }
    if (i < last) move.template operator()<1>();
}

// Any number of vectors, one after the other over as many blocks as stay in the first-level cache.
template <class Simd, bool even>
struct ManyShort {
    // Blocks [first, last) from a record on.
    static void chunk(const ExchangeBlock& block, const ShortCursors& at, std::int64_t first, std::int64_t last,
                      std::int64_t record, bool claim) {
        using Vector = void (*)(const ExchangeStep*, const ShortCursor*, const ShortCursor&, std::int64_t, std::int64_t,
                                std::int64_t, bool);
        static constexpr auto kBySteps = []<int... ks>(std::integer_sequence<int, ks...>) {
            return std::array<Vector, sizeof...(ks)>{exchange_short_vector<Simd, ks + 1, even>...};
        }(std::make_integer_sequence<int, ExchangeBlock::kMaxSteps>{});
        const ExchangeStep* steps = block.steps;
        for (std::int32_t v = 0; v < block.count; ++v) {
            const std::int32_t count = block.destinations[v].steps;
            kBySteps[static_cast<std::size_t>(count - 1)](steps, at.sources, at.destinations[v], first, last, record, claim);
            steps += count;
        }
    }

    static void run(const ExchangeBlock& block, const ShortCursors& at, bool claim) {
        const std::int64_t most = 2 * (kShortChunk / (2 * kShortExchange * block.count) + 1);  // whole pairs
        for (std::int64_t first = 0; first < at.blocks; first += most) {
            const std::int64_t last = first + most < at.blocks ? first + most : at.blocks;
            for (std::int32_t v = 0; at.ahead != 0 && v < block.count; ++v) {
                const ShortCursor& source = at.sources[v];
                for (std::int64_t i = first; i < last; ++i) __builtin_prefetch(source.at + (i + most) * source.move);
            }
            chunk(block, at, first, last, 0, claim);
        }
        if (at.last != 0) chunk(block, at, 0, 1, at.last, false);
    }
};

template <class Simd>
void exchange_short(const ExchangeBlock& block, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t records,
                    KernelStores stores) noexcept {
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
    // Sources that move by little are many: each is asked for less far ahead.
    at.ahead = stores.prefetch ? kShortAhead * total / (kShortExchange * block.count) : 0;
    bool even = true;
    for (std::int32_t v = 1; v < block.count; ++v) {
        even = even && at.sources[v].move == at.sources[0].move && at.destinations[v].move == at.destinations[0].move;
    }
    const auto run_few = [&]<int count, bool alike>() {
        if (stores.claim) return FewShort<Simd, count, alike>::template run<true>(block, at);
        FewShort<Simd, count, alike>::template run<false>(block, at);
    };
    const auto run = [&]<int count>() {
        if (even) return run_few.template operator()<count, true>();
        run_few.template operator()<count, false>();
    };
    if (dense && with_number<2, 3, 4, 5, 6, 7, 8>(block.count, run)) return;
    if (even) return ManyShort<Simd, true>::run(block, at, stores.claim);
    ManyShort<Simd, false>::run(block, at, stores.claim);
}

}  // namespace
}  // namespace dnnmove
