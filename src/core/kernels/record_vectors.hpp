// Makes short records of their fields, vector by vector: each is put together out of a window of every field.
//
//   fields   aaaaaaaa  bbbbbbbb  cccccccc   ->   vectors   abcabca  bcabcab  cabc...
//
// `Vectors` has how a vector is put together: of whole windows, over many blocks; and of what is readable, for one.
#pragma once

#include "kernels/by_number.hpp"
#include "kernels/contract.hpp"

namespace dnnmove {
namespace {

// Bytes of the records that are made at a time: they and their fields stay in the first-level cache. Less where fields are asked
// for, which are those of records so many bytes further on.
inline constexpr std::int64_t kRecordChunk = 8192;
inline constexpr std::int64_t kAskingRecordChunk = 4096;
inline constexpr std::int64_t kRecordsAsked = 8192;

// Blocks [first, last) of consecutive vectors.
struct VectorBlocks {
    const RecordVectors& block;
    const RecordVector* vectors;
    const RecordPiece* pieces;
    const std::byte* const* srcs;
    std::byte* dst;  // of the first record
    std::int64_t first;
    std::int64_t last;
    bool claim;
};

// Where a piece's window lies, and how far it moves per block.
struct WindowCursor {
    const std::byte* at;
    std::int64_t move;

    WindowCursor() = default;
    WindowCursor(const VectorBlocks& all, const RecordPiece& piece) : move(all.block.widths[piece.field] * all.block.records) {
        at = all.srcs[piece.field] + piece.offset + all.first * move;
    }
};

// How many of the blocks have all their windows in front of the `readable` records' ends.
inline std::int64_t blocks_within(const RecordVectors& block, std::int64_t blocks, std::int64_t readable) {
    const RecordPiece* piece = block.pieces;
    for (std::int32_t v = 0; v < block.count; ++v) {
        for (std::int32_t k = 0; k < block.vectors[v].pieces; ++k, ++piece) {
            const std::int64_t width = block.widths[piece->field];
            const std::int64_t room = readable * width - piece->offset - block.piece_bytes;
            const std::int64_t within = room < 0 ? 0 : room / (block.records * width) + 1;
            blocks = within < blocks ? within : blocks;
        }
    }
    return blocks;
}

// Calls join<vectors, steps>() for `vectors` vectors made in `steps` steps each, if they fit: one vector of any number of steps,
// or as many as have `most` steps together.
template <int most_steps, int most, class Join>
inline void with_vectors(std::int32_t vectors, std::int32_t steps, const Join& join) {
    with_number_to<5>(vectors, [&]<int count>() {
        with_number_to<count == 1 ? most_steps : most / count>(steps,
                                                               [&]<int each>() { join.template operator()<count, each>(); });
    });
}

template <class Vectors>
void join_vectors(const RecordVectors& block, const std::byte* const* srcs, std::byte* dst, std::int64_t records,
                  std::int64_t readable, KernelStores stores) noexcept {
    const std::int64_t bytes = block.records * block.pitch;
    const std::int64_t blocks = records / block.records;
    const std::int64_t whole = blocks_within(block, blocks, readable);
    const auto steps_of = [](std::int32_t pieces) { return (pieces + Vectors::kPerStep - 1) / Vectors::kPerStep; };
    std::int32_t most = 0;
    for (std::int32_t v = 0; v < block.count; ++v) most = most > block.vectors[v].pieces ? most : block.vectors[v].pieces;
    // All at once where that fits into registers: their lines are stored one after the other.
    const bool at_once = block.count * steps_of(most) <= Vectors::kMostSteps;
    const std::int64_t made = !stores.prefetch ? kRecordChunk : at_once ? kAskingRecordChunk / 2 : kAskingRecordChunk;
    const std::int64_t chunk = made / bytes + 1;
    const std::int64_t ahead = kRecordsAsked / bytes + 1;
    for (std::int64_t first = 0; first < whole; first += chunk) {
        const std::int64_t last = first + chunk < whole ? first + chunk : whole;
        for (std::int32_t f = 0; stores.prefetch && f < block.fields; ++f) {
            const std::int64_t part = block.widths[f] * block.records;
            for (std::int64_t k = first * part; k < last * part; k += kLine) __builtin_prefetch(srcs[f] + ahead * part + k);
        }
        VectorBlocks all{block, block.vectors, block.pieces, srcs, dst, first, last, stores.claim};
        if (at_once) {
            Vectors::join(block.count, steps_of(most), all);
            continue;
        }
        for (std::int32_t v = 0; v < block.count; ++v) {
            Vectors::join(1, steps_of(all.vectors->pieces), all);
            all.pieces += all.vectors->pieces;
            ++all.vectors;
        }
    }
    const auto join_at = [&](std::int64_t record) {
        const RecordPiece* piece = block.pieces;
        for (std::int32_t v = 0; v < block.count; ++v) {
            const RecordVector& vector = block.vectors[v];
            Vectors::join_readable(piece, vector.pieces, block, srcs, dst + record * block.pitch + vector.offset, record,
                                   readable);
            piece += vector.pieces;
        }
    };
    for (std::int64_t k = whole; k < blocks; ++k) join_at(k * block.records);
    if (blocks * block.records != records) join_at(records - block.records);  // again, some of the records
}

// By permutes within lanes of 16 bytes: every lane picks out of the same 16 bytes.
template <class Lanes>
struct LaneVectors {
    using Vector = typename Lanes::Vector;
    static constexpr std::int64_t kWindow = 16;
    static constexpr std::int32_t kPerStep = 1;  // pieces
    static constexpr std::int32_t kMostSteps = 12;

    template <int vectors, int pieces>
    [[gnu::noinline]] static void join_by(const VectorBlocks& all) {
        Vector index[vectors][pieces];
        WindowCursor from[vectors][pieces];
        std::byte* to[vectors];
        const RecordPiece* piece = all.pieces;
        const std::int64_t move = all.block.records * all.block.pitch;
#pragma GCC unroll 5
        for (int v = 0; v < vectors; ++v) {
            const std::int32_t own = all.vectors[v].pieces;
#pragma GCC unroll 16
            for (int k = 0; k < pieces; ++k) {
                const RecordPiece& one = piece[k < own ? k : 0];
                from[v][k] = {all, one};
                const std::byte none{RecordPiece::kNone};
                index[v][k] = k < own ? Lanes::load(reinterpret_cast<const std::byte*>(one.index)) : Lanes::splat(&none, 1);
            }
            piece += own;
            to[v] = all.dst + all.first * move + all.vectors[v].offset;
        }
        const bool claim = all.claim;
        for (std::int64_t left = all.last - all.first; left > 0; --left) {
#pragma GCC unroll 5
            for (int v = 0; v < vectors; ++v) {
                Vector vector{};
#pragma GCC unroll 16
                for (int k = 0; k < pieces; ++k) {
                    vector |= Lanes::shuffle_lanes(Lanes::splat(from[v][k].at, kWindow), index[v][k]);
                    from[v][k].at += from[v][k].move;
                }
                if (claim) __builtin_prefetch(to[v]);
                Lanes::store(to[v], vector);
                to[v] += move;
            }
        }
    }

    static void join(std::int32_t vectors, std::int32_t pieces, const VectorBlocks& all) {
        with_vectors<RecordVectors::kMaxPieces, kMostSteps>(vectors, pieces,
                                                            [&]<int count, int each>() { join_by<count, each>(all); });
    }

    static void join_readable(const RecordPiece* piece, std::int32_t pieces, const RecordVectors& block,
                              const std::byte* const* srcs, std::byte* to, std::int64_t record, std::int64_t readable) {
        Vector vector{};
        for (std::int32_t k = 0; k < pieces; ++k, ++piece) {
            const std::int64_t width = block.widths[piece->field];
            const std::int64_t left = (readable - record) * width - piece->offset;
            const auto lane = Lanes::lane_partial(srcs[piece->field] + record * width + piece->offset,
                                                  left < kWindow ? left : kWindow);
            alignas(kWindow) std::byte window[kWindow];
            Lanes::template store_lanes<1>(window, Lanes::with_lane(Vector{}, lane, 0), 0);
            vector |= Lanes::shuffle_lanes(Lanes::splat(window, kWindow),
                                           Lanes::load(reinterpret_cast<const std::byte*>(piece->index)));
        }
        Lanes::store(to, vector);
    }
};

}  // namespace
}  // namespace dnnmove
