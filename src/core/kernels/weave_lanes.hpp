// Interleaves 2 to 16 streams of elements, shorter than 16 bytes, into records, or deals these out to as many: in lanes of 16
// bytes, by the first step of a transpose (tile.hpp).
//
// ShortRecords, 2, 4, 8 or 16 elements of up to 16 bytes together: a vector of each stream makes as many vectors of records, one
// block in each of its lanes (one or two). Dealing out takes one permute of every vector before, which brings the elements of a
// stream together where a lane has several, and a transpose of these groups of 16 / S bytes:
//   a0 b0 a1 b1   a0 a1 b0 b1   a0 a1 a2 a3
//   a2 b2 a3 b3   a2 a3 b2 b3   b0 b1 b2 b3
//
// LongRecords, of whole vectors: a vector of as many of them as a lane has elements, at the same place, makes a lane of each
// stream there, and the other way round.
//
// AnyRecords, of more than 8 bytes: each is a lane, or several, the last of which repeats part of the one before it. What a shorter
// one leaves of its lane belongs to the next record, which is stored later.
#pragma once

#include <cstring>

#include "kernels/tile.hpp"

namespace dnnmove {
namespace {

inline constexpr std::int64_t kWeaveLane = 16;  // bytes

template <class Simd, int width, int count, bool deal>
struct ShortRecords {
    using Vector = typename Simd::Vector;
    static constexpr int kStreams = count;
    static constexpr std::int64_t kStep = Simd::kBytes;  // bytes of a stream that are moved at once
    static constexpr bool kPadded = false;
    static_assert(width * count <= kWeaveLane);

    // A lane of every stream, or two; `index` groups what is dealt out.
    template <std::int64_t bytes, bool>
    static void move(const std::byte* src, std::byte* dst, std::int64_t pitch, int, Vector index) {
        constexpr bool kTwo = bytes > kWeaveLane;
        const auto lane_of = [&](int stream, int block, std::int64_t separate) {
            return separate != 0 ? stream * pitch + block * kWeaveLane : (block * count + stream) * kWeaveLane;
        };
        Vector x[count];
#pragma GCC unroll 16
        for (int s = 0; s < count; ++s) {
            const std::byte* from = src + lane_of(s, 0, !deal);
            if (kTwo && !deal) {
                x[s] = Simd::load(from);
                continue;
            }
            x[s] = Simd::with_lane(Vector{}, Simd::lane(from), 0);
            if (kTwo) x[s] = Simd::with_lane(x[s], Simd::lane(src + lane_of(s, 1, !deal)), 1);
            if (deal && width * count < kWeaveLane) x[s] = Simd::shuffle_lanes(x[s], index);
        }
        if constexpr (deal) {
            Tile<Simd, kWeaveLane / count>::transpose_inside_lanes(x);
        } else {
            interleave_lanes<Simd, width>(x);
        }
#pragma GCC unroll 16
        for (int s = 0; s < count; ++s) {
            if (kTwo && deal) {
                Simd::store(dst + lane_of(s, 0, deal), x[s]);
                continue;
            }
            Simd::template store_lanes<1>(dst + lane_of(s, 0, deal), x[s], 0);
            if (kTwo) Simd::template store_lanes<1>(dst + lane_of(s, 1, deal), x[s], 1);
        }
    }
};

template <class Simd, int width, int count, bool deal>
struct LongRecords {
    using Vector = typename Simd::Vector;
    static constexpr int kStreams = count;
    static constexpr std::int64_t kStep = kWeaveLane;
    static constexpr bool kPadded = false;
    static constexpr int kPerLane = 16 / width;
    static constexpr int kLanes = Simd::kBytes / 16;
    static constexpr std::int64_t kRecord = width * count;
    static_assert(kRecord % Simd::kBytes == 0);

    template <std::int64_t bytes, bool>
    static void move(const std::byte* src, std::byte* dst, std::int64_t pitch, int, Vector) {
#pragma GCC unroll 8
        for (int part = 0; part < kRecord / Simd::kBytes; ++part) {
            const auto stream = [&](int k, int lane) { return ((part * kLanes + lane) * kPerLane + k) * pitch; };
            const auto record = [&](int k) { return k * kRecord + part * Simd::kBytes; };
            Vector x[kPerLane];
#pragma GCC unroll 16
            for (int k = 0; k < kPerLane; ++k) {
                if constexpr (deal) {
                    x[k] = Simd::load(src + record(k));
                } else {
                    x[k] = Simd::with_lane(Vector{}, Simd::lane(src + stream(k, 0)), 0);
                    if constexpr (kLanes == 2) x[k] = Simd::with_lane(x[k], Simd::lane(src + stream(k, 1)), 1);
                }
            }
            interleave_lanes<Simd, width>(x);
#pragma GCC unroll 16
            for (int k = 0; k < kPerLane; ++k) {
                if constexpr (deal) {
                    Simd::template store_lanes<1>(dst + stream(k, 0), x[k], 0);
                    if constexpr (kLanes == 2) Simd::template store_lanes<1>(dst + stream(k, 1), x[k], 1);
                } else {
                    Simd::store(dst + record(k), x[k]);
                }
            }
        }
    }
};

// `count` streams where records are shorter than a lane; 0: as many as `streams` says.
template <class Simd, int width, int count, bool deal>
struct AnyRecords {
    using Vector = typename Simd::Vector;
    static constexpr int kStreams = count;
    static constexpr std::int64_t kStep = Simd::kBytes;
    static constexpr bool kPadded = count != 0;  // records end inside a lane
    static constexpr int kPerLane = 16 / width;
    static_assert(count < kPerLane && (count == 0 || 2 * count > kPerLane));

    // `ends`: nothing is read or written behind the last record.
    template <std::int64_t bytes, bool ends>
    static void move(const std::byte* src, std::byte* dst, std::int64_t pitch, int streams, Vector) {
        constexpr int kBlocks = static_cast<int>(bytes / kWeaveLane);
        if constexpr (kPadded) streams = count;
        const std::int64_t record = streams * width;
        const std::int64_t block = kPerLane * record;
        for (int first = 0;; first += kPerLane) {
            if (!kPadded && first + kPerLane > streams) first = streams - kPerLane;
            Vector x[kPerLane];
#pragma GCC unroll 16
            for (int k = 0; k < kPerLane; ++k) {
                const std::int64_t stream = kPadded && k >= count ? count - 1 : first + k;
                const std::byte* const from = src + (deal ? k * record + first * width : stream * pitch);
                if constexpr (kBlocks == 2 && !deal) {
                    x[k] = Simd::load(from);
                } else if (kPadded && ends && deal && k == kPerLane - 1) {
                    x[k] = Simd::with_lane(Vector{}, load_last(from), 0);
                } else {
                    x[k] = Simd::with_lane(Vector{}, Simd::lane(from), 0);
                    if constexpr (kBlocks == 2) x[k] = Simd::with_lane(x[k], Simd::lane(from + block), 1);
                }
            }
            interleave_lanes<Simd, width>(x);
            if constexpr (deal) {
#pragma GCC unroll 16
                for (int k = 0; k < (kPadded ? count : kPerLane); ++k) {
                    std::byte* const to = dst + (first + k) * pitch;
                    if constexpr (kBlocks == 2) {
                        Simd::store(to, x[k]);
                    } else {
                        Simd::template store_lanes<1>(to, x[k], 0);
                    }
                }
            } else {
#pragma GCC unroll 2
                for (int lane = 0; lane < kBlocks; ++lane) {
#pragma GCC unroll 16
                    for (int k = 0; k < kPerLane; ++k) {
                        std::byte* const to = dst + lane * block + k * record + first * width;
                        if (kPadded && ends && k == kPerLane - 1) {
                            store_last(to, Simd::lane_of(x[k], lane));
                        } else {
                            Simd::template store_lanes<1>(to, x[k], lane);
                        }
                    }
                }
            }
            if (kPadded || first + kPerLane == streams) return;
        }
    }

private:
    // A record as two parts of 8 bytes, which overlap.
    static constexpr int kRecord = count * width;
    static typename Simd::Lane load_last(const std::byte* from) {
        std::uint64_t parts[2];
        std::memcpy(&parts[0], from, 8);
        std::memcpy(&parts[1], from + kRecord - 8, 8);
        parts[1] >>= 8 * (16 - kRecord) & 63;
        typename Simd::Lane lane;
        std::memcpy(&lane, parts, sizeof lane);
        return lane;
    }
    static void store_last(std::byte* to, typename Simd::Lane lane) {
        std::uint64_t parts[2];
        std::memcpy(parts, &lane, sizeof lane);
        const std::uint64_t end = parts[0] >> (8 * (kRecord - 8) & 63) | parts[1] << (8 * (16 - kRecord) & 63);
        std::memcpy(to, &parts[0], 8);
        std::memcpy(to + kRecord - 8, &end, 8);
    }
};

template <class Simd, class Records, bool deal>
void weave_records(const std::byte* src, std::byte* dst, int streams, const GatherIndex* permutes, std::int64_t bytes,
                   std::int64_t pitch, const KernelLoop& b, KernelStores stores) {
    constexpr std::int64_t kStep = Records::kStep;
    if constexpr (Records::kStreams != 0) streams = Records::kStreams;
    // Asked for at once: half a line, since streams may begin inside lines.
    constexpr std::int64_t kAsk = 32;
    const std::int64_t src_scale = deal ? streams : 1;
    const std::int64_t dst_scale = deal ? 1 : streams;
    const auto index = Simd::splat(reinterpret_cast<const std::byte*>(permutes[0].byte), kWeaveLane);
    // Long streams are asked for along them, of short ones some rows further on: so far that they come from memory in time.
    // (Zen 5, two threads, past the caches, 19 sets of streams of 40 to 800 bytes, against 2 KiB further on and along those that
    // make 4 KiB together: AVX2 1.18 times as fast, without AVX-512 VBMI 1.11, the portable kernels 1.18.)
    constexpr std::int64_t kRowsAheadBytes = 8 * 1024;
    const std::int64_t all = bytes * streams;
    const bool along = bytes >= kPrefetchBytes;
    const std::int64_t rows_ahead = (kRowsAheadBytes + all - 1) / all;
    // What follows a padded record belongs to the next row, if there is one.
    const bool goes_on = deal ? b.src_rows == nullptr && b.src_stride >= kWeaveLane : b.dst_stride == all;
    for (std::int64_t j = 0; j < b.extent; ++j) {
        const std::byte* from = src + b.src_at(j);
        std::byte* to = dst + j * b.dst_stride;
        const std::int64_t ahead = along ? kPrefetchBytes / streams * src_scale : b.src_ahead(j + rows_ahead) - b.src_at(j);
        const bool ends = Records::kPadded && !(goes_on && j + 1 < b.extent);
        const std::int64_t end = ends ? bytes - 1 : bytes;
        std::int64_t k = 0;
        for (; k + kStep <= end; k += kStep) {
            const bool asks = kStep % kAsk == 0 || k % kAsk == 0;
            for (int s = 0; asks && stores.prefetch && s < streams; ++s) {
                __builtin_prefetch(from + ahead + k * src_scale + s * (deal ? kAsk : pitch));
            }
            for (int s = 0; asks && stores.claim && s < streams; ++s) {
                __builtin_prefetch(to + k * dst_scale + s * (deal ? pitch : kAsk));
            }
            Records::template move<kStep, false>(from + k * src_scale, to + k * dst_scale, pitch, streams, index);
        }
        for (; k < bytes; k += kWeaveLane) {
            if (k + kWeaveLane > bytes) k = bytes - kWeaveLane;  // part of the block before again
            if (ends && k + kWeaveLane == bytes) {
                Records::template move<kWeaveLane, Records::kPadded>(from + k * src_scale, to + k * dst_scale, pitch, streams,
                                                                     index);
            } else {
                Records::template move<kWeaveLane, false>(from + k * src_scale, to + k * dst_scale, pitch, streams, index);
            }
        }
    }
}

// As the contract's weave, by ordinary stores.
template <class Simd>
void weave_lanes(const std::byte* src, std::byte* dst, int width, int streams, bool deal, const GatherIndex* permutes,
                 std::int64_t bytes, std::int64_t pitch, KernelLoop b, KernelStores stores) noexcept {
    const auto run = [&]<template <class, int, int, bool> class Records, int w, int count>() {
        if (deal) {
            weave_records<Simd, Records<Simd, w, count, true>, true>(src, dst, streams, permutes, bytes, pitch, b, stores);
        } else {
            weave_records<Simd, Records<Simd, w, count, false>, false>(src, dst, streams, permutes, bytes, pitch, b, stores);
        }
    };
    switch (width * 16 + streams) {
        case 16 + 2: return run.template operator()<ShortRecords, 1, 2>();
        case 16 + 4: return run.template operator()<ShortRecords, 1, 4>();
        case 16 + 8: return run.template operator()<ShortRecords, 1, 8>();
        case 16 + 9: return run.template operator()<AnyRecords, 1, 9>();
        case 16 + 10: return run.template operator()<AnyRecords, 1, 10>();
        case 16 + 11: return run.template operator()<AnyRecords, 1, 11>();
        case 16 + 12: return run.template operator()<AnyRecords, 1, 12>();
        case 16 + 13: return run.template operator()<AnyRecords, 1, 13>();
        case 16 + 14: return run.template operator()<AnyRecords, 1, 14>();
        case 16 + 15: return run.template operator()<AnyRecords, 1, 15>();
        case 16 + 16: return run.template operator()<ShortRecords, 1, 16>();
        case 32 + 2: return run.template operator()<ShortRecords, 2, 2>();
        case 32 + 4: return run.template operator()<ShortRecords, 2, 4>();
        case 32 + 5: return run.template operator()<AnyRecords, 2, 5>();
        case 32 + 6: return run.template operator()<AnyRecords, 2, 6>();
        case 32 + 7: return run.template operator()<AnyRecords, 2, 7>();
        case 32 + 8: return run.template operator()<ShortRecords, 2, 8>();
        case 32 + 16: return run.template operator()<LongRecords, 2, 16>();
        case 64 + 2: return run.template operator()<ShortRecords, 4, 2>();
        case 64 + 3: return run.template operator()<AnyRecords, 4, 3>();
        case 64 + 4: return run.template operator()<ShortRecords, 4, 4>();
        case 64 + 8: return run.template operator()<LongRecords, 4, 8>();
        case 64 + 16: return run.template operator()<LongRecords, 4, 16>();
        case 128 + 2: return run.template operator()<ShortRecords, 8, 2>();
        case 128 + 4: return run.template operator()<LongRecords, 8, 4>();
        case 128 + 8: return run.template operator()<LongRecords, 8, 8>();
        case 128 + 16: return run.template operator()<LongRecords, 8, 16>();
        default: break;
    }
    switch (width) {
        case 2: return run.template operator()<AnyRecords, 2, 0>();
        case 4: return run.template operator()<AnyRecords, 4, 0>();
        default: return run.template operator()<AnyRecords, 8, 0>();
    }
}

}  // namespace
}  // namespace dnnmove
