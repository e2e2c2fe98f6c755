// Copies strips of records: rows shorter than the distance between them on one side, a slab at a time.
#pragma once

#include "kernels/contract.hpp"
#include "kernels/rows.hpp"

namespace dnnmove {
namespace {

// Rows of at most `wide` bytes, every one moved as `wide` bytes: what follows a row is overwritten later.
// The last ones, of which that is not so, are moved by their size.
template <int wide>
inline void copy_wide_strips(const std::byte* src, std::byte* dst, std::int64_t bytes, KernelLoop rows) {
    const std::int64_t exact = (wide - 1) / bytes;
    std::int64_t i = 0;
    for (; i < rows.extent - exact; ++i) {
        move<wide>(src, dst);
        src += rows.src_stride;
        dst += rows.dst_stride;
    }
    for (; i < rows.extent; ++i) {
        move_short(src, dst, bytes);
        src += rows.src_stride;
        dst += rows.dst_stride;
    }
}

template <class Simd>
void copy_strips(const std::byte* src, std::byte* dst, std::int64_t bytes, KernelLoop rows, std::int64_t room,
                 KernelStores stores) noexcept {
    if (stores.nontemporal) {
        for (std::int64_t i = 0; i < rows.extent; ++i) {
            for (std::int64_t k = 0; k < bytes; k += kLine) stream_line<Simd>(src + k, dst + k);
            src += rows.src_stride;
            dst += rows.dst_stride;
        }
        return;
    }
    if (bytes <= 4 && room >= 4) return copy_wide_strips<4>(src, dst, bytes, rows);
    if (bytes > 4 && bytes <= 8 && room >= 8) return copy_wide_strips<8>(src, dst, bytes, rows);
    if (bytes > 8 && bytes <= 16 && room >= 16) return copy_wide_strips<16>(src, dst, bytes, rows);
    if (bytes > 16 && bytes <= 32 && room >= 32) return copy_wide_strips<32>(src, dst, bytes, rows);
    if (bytes > 32 && bytes <= 64 && room >= 64) return copy_wide_strips<64>(src, dst, bytes, rows);
    if (bytes <= kLine) return copy_runs(src, dst, bytes, rows, {1, 0, 0}, {});
    for (std::int64_t i = 0; i < rows.extent; ++i) {
        move_row<Simd>(src, dst, bytes, 0);
        src += rows.src_stride;
        dst += rows.dst_stride;
    }
}

}  // namespace
}  // namespace dnnmove
