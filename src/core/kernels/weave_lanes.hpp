// Interleaves 2, 4 or 8 streams of elements so short that 16 bytes hold one of each stream and more, or deals one out to as
// many: in lanes of 16 bytes, of as many blocks as a register has lanes (one or two).
//
// Interleaving is what the first step of a transpose does (tile.hpp). Dealing out takes one permute of every vector, which
// brings the elements of a stream together, and a transpose of these groups of 16 / S bytes:
//   a0 b0 a1 b1   a0 a1 b0 b1   a0 a1 a2 a3
//   a2 b2 a3 b3   a2 a3 b2 b3   b0 b1 b2 b3
#pragma once

#include "kernels/tile.hpp"

namespace dnnmove {
namespace {

template <class Simd, int width, int streams, bool deal>
struct LaneWeave {
    using Vector = typename Simd::Vector;
    static constexpr std::int64_t kLane = 16;
    static_assert(width * streams < kLane);

    // A lane of every stream, or two; `index` groups what is dealt out.
    template <int blocks>
    static void move(const std::byte* src, std::byte* dst, std::int64_t pitch, Vector index) {
        const auto lane_of = [&](int stream, int block, std::int64_t separate) {
            return separate != 0 ? stream * pitch + block * kLane : (block * streams + stream) * kLane;
        };
        Vector x[streams];
#pragma GCC unroll 8
        for (int s = 0; s < streams; ++s) {
            const std::byte* from = src + lane_of(s, 0, !deal);
            if (blocks == 2 && !deal) {
                x[s] = Simd::load(from);
                continue;
            }
            x[s] = Simd::with_lane(Vector{}, Simd::lane(from), 0);
            if (blocks == 2) x[s] = Simd::with_lane(x[s], Simd::lane(src + lane_of(s, 1, !deal)), 1);
            if (deal) x[s] = Simd::shuffle_lanes(x[s], index);
        }
        if constexpr (deal) {
            Tile<Simd, kLane / streams>::transpose_inside_lanes(x);
        } else {
            interleave_lanes<Simd, width>(x);
        }
#pragma GCC unroll 8
        for (int s = 0; s < streams; ++s) {
            if (blocks == 2 && deal) {
                Simd::store(dst + lane_of(s, 0, deal), x[s]);
                continue;
            }
            Simd::template store_lanes<1>(dst + lane_of(s, 0, deal), x[s], 0);
            if (blocks == 2) Simd::template store_lanes<1>(dst + lane_of(s, 1, deal), x[s], 1);
        }
    }

    static void rows(const std::byte* src, std::byte* dst, const GatherIndex* permutes, std::int64_t bytes, std::int64_t pitch,
                     KernelLoop b, KernelStores stores) {
        constexpr int kBlocks = Simd::kBytes / kLane;
        constexpr std::int64_t kSrc = deal ? streams : 1;
        constexpr std::int64_t kDst = deal ? 1 : streams;
        const Vector index = Simd::splat(reinterpret_cast<const std::byte*>(permutes[0].byte), kLane);
        // Long rows are asked for along their streams, of short ones some rows further on.
        const std::int64_t all = bytes * streams;
        const bool along = all >= 2 * kPrefetchBytes || b.extent == 1;
        const std::int64_t rows_ahead = (kPrefetchBytes + all - 1) / all;
        for (std::int64_t j = 0; j < b.extent; ++j) {
            const std::byte* from = src + b.src_at(j);
            std::byte* to = dst + j * b.dst_stride;
            const std::int64_t ahead = along ? kPrefetchBytes / streams * kSrc : b.src_ahead(j + rows_ahead) - b.src_at(j);
            std::int64_t k = 0;
            for (; k + Simd::kBytes <= bytes; k += Simd::kBytes) {
                for (int s = 0; stores.prefetch && s < streams; ++s) {
                    __builtin_prefetch(from + ahead + k * kSrc + s * (deal ? Simd::kBytes : pitch));
                }
                for (int s = 0; stores.claim && s < streams; ++s) {
                    __builtin_prefetch(to + k * kDst + s * (deal ? pitch : Simd::kBytes));
                }
                move<kBlocks>(from + k * kSrc, to + k * kDst, pitch, index);
            }
            for (; k < bytes; k += kLane) {
                if (k + kLane > bytes) k = bytes - kLane;  // part of the block before again
                move<1>(from + k * kSrc, to + k * kDst, pitch, index);
            }
        }
    }
};

// As the contract's weave, by ordinary stores.
template <class Simd>
void weave_lanes(const std::byte* src, std::byte* dst, int width, int streams, bool deal, const GatherIndex* permutes,
                 std::int64_t bytes, std::int64_t pitch, KernelLoop b, KernelStores stores) noexcept {
    const auto run = [&]<int w, int s>() {
        if (deal) return LaneWeave<Simd, w, s, true>::rows(src, dst, permutes, bytes, pitch, b, stores);
        LaneWeave<Simd, w, s, false>::rows(src, dst, permutes, bytes, pitch, b, stores);
    };
    switch (width * 16 + streams) {
        case 16 + 2: return run.template operator()<1, 2>();
        case 16 + 4: return run.template operator()<1, 4>();
        case 16 + 8: return run.template operator()<1, 8>();
        case 32 + 2: return run.template operator()<2, 2>();
        case 32 + 4: return run.template operator()<2, 4>();
        default: return run.template operator()<4, 2>();
    }
}

}  // namespace
}  // namespace dnnmove
