// Elements one by one, each from where a table says: what no vector can make of a few windows.
#pragma once

#include <algorithm>

#include "kernels/rows.hpp"

namespace dnnmove {
namespace {

template <std::size_t bytes>
void copy_elements(const ElementBlock& block, const std::byte* src, std::byte* dst, const KernelLoop& a,
                   const ElementsAhead& ahead, KernelStores stores) noexcept {
    // Lines to ask for with each run: all at once they would keep those from coming that are needed now.
    const std::int32_t share = block.line_count == 0 ? 0 : (block.line_count + block.run_count - 1) / block.run_count;
    for (std::int64_t i = 0; i < a.extent; ++i) {
        const std::byte* const next = (i < ahead.steps ? ahead.src : ahead.behind) + i * a.src_stride;
        std::int32_t k = 0;
        for (std::int32_t r = 0; r < block.run_count; ++r) {
            for (const std::int32_t upto = std::min(k + share, block.line_count); k < upto; ++k)
                __builtin_prefetch(next + block.lines[k]);
            std::byte* const to = dst + block.runs[r].dst;
            if (stores.claim) prefetch_run(to, block.count * static_cast<std::int64_t>(bytes));
            move_from<bytes, false>(src + block.runs[r].src, block.offsets, block.count, to, bytes);
        }
        src += a.src_stride;
        dst += a.dst_stride;
    }
}

}  // namespace
}  // namespace dnnmove
