// Turns blocks of short runs: read along the source, written along the destination, through a buffer in
// the first-level cache. For runs of sizes that no transpose takes, where copying one by one in either
// order would go back to the same lines again and again.
#pragma once

#include "kernels/rows.hpp"

namespace dnnmove {
namespace {

// The runs of one source row, `pitch` apart in the buffer, each moved as `size` bytes, at least as many as
// it has. What is too much comes from the next run and is overwritten by the next row; the last run has
// no next one.
template <std::size_t size>
inline void spread_runs(const std::byte* src, std::byte* to, std::int64_t bytes, KernelLoop b, std::int64_t pitch) {
    const std::int64_t most = b.src_stride >= bytes && static_cast<std::int64_t>(size) <= 2 * bytes ? b.extent - 1 : 0;
    std::int64_t j = 0;
    for (; j < most; ++j) move<size>(src + j * b.src_stride, to + j * pitch);
    for (; j < b.extent; ++j) move_short(src + j * b.src_stride, to + j * pitch, bytes);
}

template <std::size_t size>
inline void spread_rows(const std::byte* src, std::byte* to, std::int64_t bytes, KernelLoop a, KernelLoop b, std::int64_t pitch,
                        bool prefetch) {
    const std::int64_t span = (b.extent - 1) * b.src_stride + bytes;
    const std::int64_t rows_ahead = kPrefetchBytes / span + 1;
    for (std::int64_t i = 0; i < a.extent; ++i) {
        const std::byte* from = src + i * a.src_stride;
        if (prefetch) {
            // Few rows ahead, behind the last one those of the next block: rows may share few cache sets.
            const std::int64_t row = i + rows_ahead;
            const std::byte* next = src +
                                    (row < a.extent ? row * a.src_stride : (row - a.extent) % a.extent * a.src_stride + span);
            for (std::int64_t k = 0; k < span; k += kLine) __builtin_prefetch(next + k, 0, 2);
        }
        spread_runs<size>(from, to + i * bytes, bytes, b, pitch);
    }
}

template <class Simd>
[[gnu::always_inline]] inline void turn_runs(const std::byte* src, std::byte* dst, std::int64_t bytes, KernelLoop a,
                                             KernelLoop b, KernelStores stores) noexcept {
    alignas(64) std::byte block[kMaxTurnedBytes];
    const std::int64_t row = a.extent * bytes;
    const std::int64_t pitch = (row + 2 * kLine - 1) / kLine * kLine;
    if (bytes > 32) {
        spread_rows<64>(src, block, bytes, a, b, pitch, stores.prefetch);
    } else if (bytes > 16) {
        spread_rows<32>(src, block, bytes, a, b, pitch, stores.prefetch);
    } else if (bytes > 8) {
        spread_rows<16>(src, block, bytes, a, b, pitch, stores.prefetch);
    } else {
        spread_rows<8>(src, block, bytes, a, b, pitch, stores.prefetch);
    }
    for (std::int64_t j = 0; j < b.extent; ++j) {
        if (stores.nontemporal) {
            stream_row<Simd>(block + j * pitch, dst + j * b.dst_stride, row, 0);
        } else {
            move_row<Simd>(block + j * pitch, dst + j * b.dst_stride, row, 0);
        }
    }
}

}  // namespace
}  // namespace dnnmove
