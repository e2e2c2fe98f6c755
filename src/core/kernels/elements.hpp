// Elements one by one, each from where a table says: what no vector can make of a few windows.
#pragma once

#include <algorithm>

#include "kernels/collect.hpp"

namespace dnnmove {
namespace {

// Runs by one table: of elements shorter than a vector two at a time.
template <std::size_t bytes>
class RunsOfElements {
public:
    explicit RunsOfElements(const ElementBlock& of) : block(of) {}

    void add(const std::byte* src, std::byte* dst) {
        if constexpr (bytes == 16) {
            move_from<bytes, false>(src, block.offsets, block.count, dst, bytes);
        } else if (waiting_src == nullptr) {
            waiting_src = src;
            waiting_dst = dst;
        } else {
            copy<2>({waiting_src, src}, {waiting_dst, dst});
            waiting_src = nullptr;
        }
    }
    void finish() {
        if constexpr (bytes < 16) {
            if (waiting_src != nullptr) copy<1>({waiting_src}, {waiting_dst});
        }
    }

private:
    template <int runs>
    void copy(const std::byte* const (&src)[runs], std::byte* const (&dst)[runs]) const {
        const std::int32_t* const offsets = block.offsets;
        Collected<bytes>::template copy<runs>(src, [=](std::int64_t k) { return std::int64_t{offsets[k]}; }, dst, block.count);
    }

    const ElementBlock& block;
    const std::byte* waiting_src = nullptr;
    std::byte* waiting_dst = nullptr;
};

template <std::size_t bytes>
void copy_elements(const ElementBlock& block, const std::byte* src, std::byte* dst, const KernelLoop& a,
                   const ElementsAhead& ahead, KernelStores stores) noexcept {
    // Lines to ask for with each run: all at once they would keep those from coming that are needed now.
    const std::int32_t share = block.line_count == 0 ? 0 : (block.line_count + block.run_count - 1) / block.run_count;
    RunsOfElements<bytes> runs(block);
    for (std::int64_t i = 0; i < a.extent; ++i) {
        const std::byte* const next = (i < ahead.steps ? ahead.src : ahead.behind) + i * a.src_stride;
        std::int32_t k = 0;
        for (std::int32_t r = 0; r < block.run_count; ++r) {
            for (const std::int32_t upto = std::min(k + share, block.line_count); k < upto; ++k)
                __builtin_prefetch(next + block.lines[k]);
            std::byte* const to = dst + block.runs[r].dst;
            if (stores.claim) prefetch_run(to, block.count * static_cast<std::int64_t>(bytes));
            runs.add(src + block.runs[r].src, to);
        }
        src += a.src_stride;
        dst += a.dst_stride;
    }
    runs.finish();
}

}  // namespace
}  // namespace dnnmove
