// Interleaves 2 to 16 streams of elements, shorter than 16 bytes, into records, or deals these out to as many: in lanes of 16
// bytes, by the first step of a transpose (tile.hpp). A block is a lane of every stream; a vector has one or two of them.
//
// ShortRecords, of up to 16 bytes, as many as fit into a lane where each of them takes a power of two elements, the last of which
// may be none of its own. One permute brings the elements of a stream in such a lane together and leaves out what is none, or the
// other way round. What a lane has too much belongs to the next record, which is stored later.
//
//   a0 b0 c0 a1 b1 c1       a0 a1 | b0 b1 | c0 c1 | -       a0 a1 a2 a3 ...
//   a2 b2 c2 a3 b3 c3       a2 a3 | b2 b3 | c2 c3 | -       b0 b1 b2 b3 ...
//         ...                          ...                  c0 c1 c2 c3 ...
//
// LongRecords, of whole vectors: a vector of as many of them as a lane has elements, at the same place, makes a lane of each
// stream there, and the other way round.
//
// OddRecords, of an odd number of elements of 8 bytes: two of them are as many lanes as there are streams, each of which is half
// of one lane and half of another on the other side.
//
// AnyRecords, of more than 16 bytes: each is several lanes, the last of which repeats part of the one before it.
#pragma once

#include <bit>
#include <cstring>
#include <utility>

#include "kernels/by_number.hpp"
#include "kernels/tile.hpp"

namespace dnnmove {
namespace {

// What lies on the two sides, at the first of the elements that are moved; the separate streams each for itself. One side is only
// read.
struct WovenStreams {
    std::byte* together;
    std::byte* const* separate;
    std::int64_t further;  // bytes from the places of the separate ones
    int count;

    std::byte* at(int stream) const { return separate[stream] + further; }
};

// Lane `block` of one or two vectors of a block each.
template <class Simd, int blocks>
[[gnu::always_inline]] inline typename Simd::Vector load_blocks(const std::byte* from, std::int64_t apart) {
    auto vector = Simd::with_lane(typename Simd::Vector{}, Simd::lane(from), 0);
    if constexpr (blocks == 2) vector = Simd::with_lane(vector, Simd::lane(from + apart), 1);
    return vector;
}

// Of a stream, whose blocks follow each other.
template <class Simd, int blocks>
[[gnu::always_inline]] inline typename Simd::Vector load_stream(const std::byte* from) {
    if constexpr (blocks * kWeaveLane == Simd::kBytes) return Simd::load(from);
    return Simd::with_lane(typename Simd::Vector{}, Simd::lane(from), 0);
}

template <class Simd, int blocks>
[[gnu::always_inline]] inline void store_stream(std::byte* to, typename Simd::Vector vector) {
    if constexpr (blocks * kWeaveLane == Simd::kBytes) return Simd::store(to, vector);
    Simd::template store_lanes<1>(to, vector, 0);
}

template <class Simd, int width, int count, bool deal>
struct ShortRecords {
    using Vector = typename Simd::Vector;
    static constexpr int kStreams = count;
    static constexpr std::int64_t kStep = Simd::kBytes;  // bytes of a stream that are moved at once
    static constexpr int kSide = static_cast<int>(std::bit_ceil(static_cast<unsigned>(count)));
    static constexpr int kGroup = static_cast<int>(kWeaveLane) / kSide;  // bytes of a stream in a lane
    static constexpr bool kPadded = count < kSide;
    static constexpr int kUsed = kGroup * count;  // bytes of a lane that are records
    static constexpr bool kPermutes = width < kGroup && (deal || kPadded);
    // The bytes of a stream whose records lie where a block's last lane goes on behind the block.
    static constexpr std::int64_t kBehind = (kWeaveLane - kUsed + width * count - 1) / (width * count) * width;
    static_assert(width <= kGroup && (!kPadded || kUsed > 8));

    // `ends`: nothing is read or written behind the last record.
    template <int blocks, bool ends>
    static void move(const WovenStreams& streams, Vector index) {
        constexpr std::int64_t kBlock = kWeaveLane * count;
        Vector x[kSide];
        if constexpr (deal) {
#pragma GCC unroll 16
            for (int k = 0; k < kSide; ++k) {
                const std::byte* const from = streams.together + k * kUsed;
                if (kPadded && ends && k == kSide - 1) {
                    x[k] = Simd::with_lane(Vector{}, load_last(from), 0);
                } else {
                    x[k] = load_blocks<Simd, blocks>(from, kBlock);
                }
                if (kPermutes) x[k] = Simd::shuffle_lanes(x[k], index);
            }
            Tile<Simd, kGroup>::transpose_inside_lanes(x);
#pragma GCC unroll 16
            for (int k = 0; k < count; ++k) store_stream<Simd, blocks>(streams.at(k), x[k]);
        } else {
#pragma GCC unroll 16
            for (int k = 0; k < kSide; ++k) x[k] = k < count ? load_stream<Simd, blocks>(streams.at(k)) : x[count - 1];
            interleave_lanes<Simd, width>(x);
#pragma GCC unroll 2
            for (int block = 0; block < blocks; ++block) {
#pragma GCC unroll 16
                for (int k = 0; k < kSide; ++k) {
                    if (kPermutes && block == 0) x[k] = Simd::shuffle_lanes(x[k], index);
                    std::byte* const to = streams.together + block * kBlock + k * kUsed;
                    if (kPadded && ends && k == kSide - 1) {
                        store_last(to, Simd::lane_of(x[k], block));
                    } else {
                        Simd::template store_lanes<1>(to, x[k], block);
                    }
                }
            }
        }
    }

private:
    // The records of a lane as two parts of 8 bytes, which overlap.
    static typename Simd::Lane load_last(const std::byte* from) {
        std::uint64_t parts[2];
        std::memcpy(&parts[0], from, 8);
        std::memcpy(&parts[1], from + kUsed - 8, 8);
        parts[1] >>= 8 * (16 - kUsed) & 63;
        typename Simd::Lane lane;
        std::memcpy(&lane, parts, sizeof lane);
        return lane;
    }
    static void store_last(std::byte* to, typename Simd::Lane lane) {
        std::uint64_t parts[2];
        std::memcpy(parts, &lane, sizeof lane);
        const std::uint64_t end = parts[0] >> (8 * (kUsed - 8) & 63) | parts[1] << (8 * (16 - kUsed) & 63);
        std::memcpy(to, &parts[0], 8);
        std::memcpy(to + kUsed - 8, &end, 8);
    }
};

template <class Simd, int width, int count, bool deal>
struct LongRecords {
    using Vector = typename Simd::Vector;
    static constexpr int kStreams = count;
    static constexpr std::int64_t kStep = kWeaveLane;
    static constexpr std::int64_t kBehind = 0;
    static constexpr int kPerLane = 16 / width;
    static constexpr int kLanes = Simd::kBytes / 16;
    static constexpr std::int64_t kRecord = width * count;
    static_assert(kRecord % Simd::kBytes == 0);

    template <int, bool>
    static void move(const WovenStreams& streams, Vector) {
#pragma GCC unroll 8
        for (int part = 0; part < kRecord / Simd::kBytes; ++part) {
            const auto stream = [&](int k, int lane) { return streams.at((part * kLanes + lane) * kPerLane + k); };
            const auto record = [&](int k) { return streams.together + k * kRecord + part * Simd::kBytes; };
            Vector x[kPerLane];
#pragma GCC unroll 16
            for (int k = 0; k < kPerLane; ++k) {
                if constexpr (deal) {
                    x[k] = Simd::load(record(k));
                } else {
                    x[k] = Simd::with_lane(Vector{}, Simd::lane(stream(k, 0)), 0);
                    if constexpr (kLanes == 2) x[k] = Simd::with_lane(x[k], Simd::lane(stream(k, 1)), 1);
                }
            }
            interleave_lanes<Simd, width>(x);
#pragma GCC unroll 16
            for (int k = 0; k < kPerLane; ++k) {
                if constexpr (deal) {
                    Simd::template store_lanes<1>(stream(k, 0), x[k], 0);
                    if constexpr (kLanes == 2) Simd::template store_lanes<1>(stream(k, 1), x[k], 1);
                } else {
                    Simd::store(record(k), x[k]);
                }
            }
        }
    }
};

template <class Simd, int width, int, bool deal>
struct OddRecords {
    static_assert(width == 8);
    using Vector = typename Simd::Vector;
    static constexpr int kStreams = 0;  // any
    static constexpr std::int64_t kStep = Simd::kBytes;
    static constexpr std::int64_t kBehind = 0;

    template <int blocks, bool>
    static void move(const WovenStreams& streams, Vector) {
        const std::int64_t block = kWeaveLane * streams.count;
        const int middle = streams.count / 2;  // the lane with the end of one record and the start of the other
        if constexpr (deal) {
            const auto lane = [&](int k) { return load_blocks<Simd, blocks>(streams.together + k * kWeaveLane, block); };
            Vector end = lane(middle);  // of both records
            store_stream<Simd, blocks>(streams.at(0), Simd::low_high(lane(0), end));
            for (int k = 0; k < middle; ++k) {
                const Vector next = lane(middle + 1 + k);
                store_stream<Simd, blocks>(streams.at(2 * k + 1), Simd::high_low(lane(k), next));
                store_stream<Simd, blocks>(streams.at(2 * k + 2), Simd::low_high(lane(k + 1), next));
            }
        } else {
            const auto put = [&](int k, Vector vector) {
                std::byte* const to = streams.together + k * kWeaveLane;
                Simd::template store_lanes<1>(to, vector, 0);
                if constexpr (blocks == 2) Simd::template store_lanes<1>(to + block, vector, 1);
            };
            const Vector start = load_stream<Simd, blocks>(streams.at(0));
            Vector even = start;
            for (int k = 0; k < middle; ++k) {
                const Vector odd = load_stream<Simd, blocks>(streams.at(2 * k + 1));
                put(k, Simd::template unpack_low<8>(even, odd));
                even = load_stream<Simd, blocks>(streams.at(2 * k + 2));
                put(middle + 1 + k, Simd::template unpack_high<8>(odd, even));
            }
            put(middle, Simd::low_high(even, start));
        }
    }
};

template <class Simd, int width, int, bool deal>
struct AnyRecords {
    using Vector = typename Simd::Vector;
    static constexpr int kStreams = 0;
    static constexpr std::int64_t kStep = Simd::kBytes;
    static constexpr std::int64_t kBehind = 0;
    static constexpr int kPerLane = 16 / width;

    template <int blocks, bool>
    static void move(const WovenStreams& streams, Vector) {
        const std::int64_t record = streams.count * width;
        const std::int64_t block = kPerLane * record;
        for (int first = 0;; first += kPerLane) {
            if (first + kPerLane > streams.count) first = streams.count - kPerLane;
            std::byte* const together = streams.together + first * width;
            Vector x[kPerLane];
#pragma GCC unroll 16
            for (int k = 0; k < kPerLane; ++k) {
                x[k] = deal ? load_blocks<Simd, blocks>(together + k * record, block)
                            : load_stream<Simd, blocks>(streams.at(first + k));
            }
            interleave_lanes<Simd, width>(x);
            if constexpr (deal) {
#pragma GCC unroll 16
                for (int k = 0; k < kPerLane; ++k) store_stream<Simd, blocks>(streams.at(first + k), x[k]);
            } else {
#pragma GCC unroll 2
                for (int lane = 0; lane < blocks; ++lane) {
#pragma GCC unroll 16
                    for (int k = 0; k < kPerLane; ++k) {
                        Simd::template store_lanes<1>(together + lane * block + k * record, x[k], lane);
                    }
                }
            }
            if (first + kPerLane == streams.count) return;
        }
    }
};

// `together` is the array of records, `separate` has the streams.
template <class Simd, class Records, bool deal>
void weave_records(const Weave& weave, std::byte* together, std::byte* const* separate, std::int64_t bytes, const KernelLoop& b,
                   KernelStores stores) {
    constexpr std::int64_t kStep = Records::kStep;
    constexpr int kBlocks = static_cast<int>(kStep / kWeaveLane);
    // Asked for at once: half a line, since streams may begin inside lines.
    constexpr std::int64_t kAsk = 32;
    // Values: the stores could alias them.
    const int count = Records::kStreams != 0 ? Records::kStreams : weave.streams;
    std::byte* streams[kMostWoven];
    for (int s = 0; s < count; ++s) streams[s] = separate[s];
    const auto index = Simd::splat(reinterpret_cast<const std::byte*>(weave.permutes[0].byte), kWeaveLane);
    // Long streams are asked for along them, of short ones some rows further on: so far that they come from memory in time.
    // (Zen 5, two threads, past the caches, 19 sets of streams of 40 to 800 bytes, against 2 KiB further on and along those that
    // make 4 KiB together: AVX2 1.18 times as fast, without AVX-512 VBMI 1.11, the portable kernels 1.18.)
    constexpr std::int64_t kRowsAheadBytes = 8 * 1024;
    const std::int64_t all = bytes * count;
    const bool along = bytes >= kPrefetchBytes;
    const std::int64_t rows_ahead = (kRowsAheadBytes + all - 1) / all;
    // What follows a padded record belongs to the next row, if there is one.
    const bool goes_on = deal ? b.src_rows == nullptr && b.src_stride >= kWeaveLane : b.dst_stride == all;
    for (std::int64_t j = 0; j < b.extent; ++j) {
        const std::int64_t src_row = b.src_at(j);
        const std::int64_t dst_row = j * b.dst_stride;
        std::byte* const records = together + (deal ? src_row : dst_row);
        const std::int64_t row = deal ? dst_row : src_row;  // of the streams
        const std::int64_t ahead = along ? kPrefetchBytes / (deal ? 1 : count) : b.src_ahead(j + rows_ahead) - src_row;
        const std::int64_t end = goes_on && j + 1 < b.extent ? bytes : bytes - Records::kBehind;
        const auto at = [&](std::int64_t k) {
            std::int64_t further = row + k;
            asm("" : "+r"(further));  // no instruction: GCC keeps it, rather than how far each stream is from the others
            return WovenStreams{records + k * count, streams, further, count};
        };
        std::int64_t k = 0;
        for (; k + kStep <= end; k += kStep) {
            const WovenStreams place = at(k);
            const bool asks = kStep % kAsk == 0 || k % kAsk == 0;
            // (Into the second-level cache. Zen 4, two threads, 17, 12 and 13 random NHWC shuffles of 4 to 100 MB: AVX2 1.05, 1.03 and
            // 0.99 times as fast, some of 8 and 10 groups 1.2 to 1.5; 12 and 13 by the portable kernels 0.97.)
            for (int s = 0; asks && stores.prefetch && s < count; ++s) {
                __builtin_prefetch((deal ? place.together + s * kAsk : place.at(s)) + ahead, 0, 2);
            }
            // Of a stream that is stored to, the line that the next bytes go on into.
            for (int s = 0; asks && stores.claim && s < count; ++s) {
                __builtin_prefetch(deal ? place.at(s) + (kStep - 1) : place.together + s * kAsk);
            }
            Records::template move<kBlocks, false>(place, index);
        }
        for (; k < bytes; k += kWeaveLane) {
            if (k + kWeaveLane > bytes) k = bytes - kWeaveLane;  // part of the block before again
            if (Records::kBehind != 0 && k + kWeaveLane > end) {
                Records::template move<1, true>(at(k), index);
            } else {
                Records::template move<1, false>(at(k), index);
            }
        }
    }
}

// As the contract's weave, by ordinary stores.
template <class Simd>
void weave_lanes(const Weave& weave, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t bytes, KernelLoop b,
                 KernelStores stores) noexcept {
    const auto run = [&]<template <class, int, int, bool> class Records, int width, int count = 0>() {
        if (weave.deals) {
            weave_records<Simd, Records<Simd, width, count, true>, true>(weave, const_cast<std::byte*>(srcs[0]), dsts, bytes, b,
                                                                         stores);
        } else {
            weave_records<Simd, Records<Simd, width, count, false>, false>(weave, dsts[0], const_cast<std::byte* const*>(srcs),
                                                                           bytes, b, stores);
        }
    };
    // The streams of a lane, from 2 on.
    const auto run_short = [&]<int width>() {
        return [&]<int... before>(std::integer_sequence<int, before...>) {
            return ((weave.streams == before + 2 && (run.template operator()<ShortRecords, width, before + 2>(), true)) || ...);
        }(std::make_integer_sequence<int, 16 / width - 1>());
    };
    const auto run_width = [&]<int width>() {
        if (run_short.template operator()<width>()) return;
        if constexpr (width > 1) {
            if (weave.streams == 16) return run.template operator()<LongRecords, width, 16>();
        }
        if constexpr (width > 2) {
            if (weave.streams == 8) return run.template operator()<LongRecords, width, 8>();
        }
        if constexpr (width == 8) {
            if (weave.streams == 4) return run.template operator()<LongRecords, width, 4>();
            if (weave.streams % 2 != 0) return run.template operator()<OddRecords, width>();
        }
        if constexpr (width > 1) run.template operator()<AnyRecords, width>();
    };
    with_number<1, 2, 4, 8>(weave.width, run_width);
}

}  // namespace
}  // namespace dnnmove
