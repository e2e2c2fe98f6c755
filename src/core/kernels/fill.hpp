// Fills: an element or a short row, repeated without gaps, for any vector width.
//
// All but the ends of a fill is stored line by line: a vector that lies across two lines costs two
// stores. What the lines hold comes from registers where the element divides a vector, else from a
// pattern in the first-level cache: some elements in a row, and the line that follows them.
#pragma once

#include "kernels/by_number.hpp"
#include "kernels/rows.hpp"

namespace dnnmove {
namespace {

inline constexpr std::int64_t kMaxPeriod = 2 * kMaxFillBytes;
inline constexpr std::int64_t kWorthPeriod = 512;  // a shorter one is mostly the way back to its start
inline constexpr std::int64_t kShortFill = 512;
// Longer fills are not claimed: the hardware asks for their lines. (Emerald Rapids, two threads, 7 to 16 MB: of 20 to 290 bytes
// 0.96 to 1.9 times as fast if they are, of 784 1.04 to 1.13, of 2000 and more 0.8 to 1.04.)
inline constexpr std::int64_t kClaimedFill = 1024;
template <class Simd>
inline constexpr int kHeldLines = 15 * Simd::kBytes / kLine;  // of a pattern, in registers

// Less than a line beside lines that are streamed. Nothing of those may be stored twice, nor may this store
// be a masked one: either costs as much as many lines.
template <class Simd>
inline void store_rest(std::byte* to, typename Simd::Vector line, std::int64_t bytes) {
    alignas(64) std::byte whole[kLine];
    for (std::int64_t k = 0; k < kLine; k += Simd::kBytes) Simd::store(whole + k, line);
    move_short(whole, to, bytes);
}

// [to, to + total) from one vector, `bytes` a divisor of it and of `total`.
template <class Simd, bool nontemporal>
inline void fill_line(typename Simd::Vector line, std::int64_t bytes, std::byte* to, std::int64_t total) {
    if (total < Simd::kBytes) return Simd::store_partial(to, line, total);
    const std::int64_t head = to_line(to);
    const typename Simd::Vector last = line;
    if (head + kLine <= total) {
        if constexpr (nontemporal) {
            store_rest<Simd>(to, line, head);
        } else {
            for (std::int64_t k = 0; k < head; k += Simd::kBytes) Simd::store(to + k, line);
        }
        if (head % bytes != 0) {
            alignas(64) std::byte twice[2 * Simd::kBytes];
            Simd::store(twice, line);
            Simd::store(twice + Simd::kBytes, line);
            line = Simd::load(twice + head % bytes);
        }
        std::int64_t k = head;
        for (; k + kLine <= total; k += kLine) {
            for (int v = 0; v < kLine; v += Simd::kBytes) put_vector<Simd, nontemporal>(to + k + v, line);
        }
        if constexpr (nontemporal) return store_rest<Simd>(to + k, line, total - k);
        for (; k + Simd::kBytes <= total; k += Simd::kBytes) Simd::store(to + k, line);
    } else {
        for (std::int64_t k = 0; k + Simd::kBytes <= total; k += Simd::kBytes) Simd::store(to + k, line);
    }
    Simd::store(to + total - Simd::kBytes, last);
}

// The shortest period in whole lines, where one is in reach; else that of some elements.
inline std::int64_t period_of(std::int64_t bytes, std::int64_t total) {
    const std::int64_t whole = bytes * (kLine / ((bytes | kLine) & -(bytes | kLine)));
    if (whole <= kMaxPeriod && 2 * whole <= total) return whole;
    // Another number of lines each time round is mispredicted.
    const std::int64_t worth = total < 8 * kWorthPeriod ? kLine : kWorthPeriod;
    return (worth + bytes - 1) / bytes * bytes;
}

// The element over and over, at least `built` bytes, at most two lines or an element more.
template <class Simd>
inline void build_pattern(const std::byte* element, std::int64_t bytes, std::byte* pattern, std::int64_t built) {
    if (bytes > kLine) {
        for (std::int64_t done = 0; done < built; done += bytes) move_row<Simd>(element, pattern + done, bytes, 0);
        return;
    }
    if constexpr (Simd::kBytes == kLine) {
        typename Simd::Vector line = Simd::load_partial(element, bytes);
        std::int64_t step = bytes;
        if (2 * bytes <= kLine) {
            step = kLine / bytes * bytes;
            for (std::int64_t done = 0; done < step; done += bytes) Simd::store(pattern + done, line);
            line = Simd::load(pattern);
        }
        for (std::int64_t done = 0; done < built; done += step) Simd::store(pattern + done, line);
    } else {
        for (std::int64_t done = 0; done < built; done += bytes) move_short(element, pattern + done, bytes);
    }
}

// Whole lines from a pattern of `lines` lines, all in registers; how many bytes those rounds wrote.
template <class Simd, bool nontemporal, int lines>
inline std::int64_t repeat_lines(const std::byte* pattern, std::byte* to, std::int64_t total) {
    constexpr int kVectors = lines * static_cast<int>(kLine) / Simd::kBytes;
    typename Simd::Vector held[kVectors];
    for (int v = 0; v < kVectors; ++v) held[v] = Simd::load(pattern + v * Simd::kBytes);
    std::int64_t k = 0;
    for (; k + lines * kLine <= total; k += lines * kLine) {
#pragma GCC unroll 15
        for (int v = 0; v < kVectors; ++v) put_vector<Simd, nontemporal>(to + k + v * Simd::kBytes, held[v]);
    }
    return k;
}

// [to, to + total) from a pattern of `period` bytes and a line; total >= a line.
template <class Simd, bool nontemporal>
inline void repeat_pattern(const std::byte* pattern, std::int64_t period, std::byte* to, std::int64_t total) {
    const std::int64_t head = to_line(to);
    if (total < head + kLine) return move_row<Simd>(pattern, to, total, 0);
    // Where compilers see that the pattern is a local array, they make its copies calls of memcpy.
    asm volatile("" : "+r"(pattern));
    if constexpr (nontemporal) {
        move_short(pattern, to, head);
    } else {
        move_line<Simd>(pattern, to);
    }
    std::int64_t at = head;  // in the pattern
    std::int64_t k = head;
    if (period <= kHeldLines<Simd> * kLine && period % kLine == 0) {
        with_number_to<kHeldLines<Simd>>(
            period / kLine, [&]<int lines>() { k += repeat_lines<Simd, nontemporal, lines>(pattern + at, to + k, total - k); });
    }
    while (k + kLine <= total) {
        const std::int64_t left = (total - k) / kLine * kLine;
        const std::int64_t round = (period - at + kLine - 1) / kLine * kLine;
        const std::int64_t now = round < left ? round : left;
        for (std::int64_t line = 0; line < now; line += kLine) put_line<Simd, nontemporal>(pattern + at + line, to + k + line);
        k += now;
        at += now;
        if (at >= period) at -= period;
    }
    move_short(pattern + at, to + k, total - k);
}

// Few elements: each is stored as it is, over what the one before it has left behind its end.
template <class Simd>
inline void repeat_element(const std::byte* element, std::int64_t bytes, std::byte* to, std::int64_t total) {
    std::int64_t k = 0;
    if constexpr (Simd::kBytes == kLine) {
        if (bytes <= kLine) {
            const typename Simd::Vector line = Simd::load_partial(element, bytes);
            for (; k + kLine <= total; k += bytes) Simd::store(to + k, line);
        }
    }
    for (; k < total; k += bytes) move_row<Simd>(element, to + k, bytes, 0);
}

template <class Simd, bool nontemporal>
inline void fill_from_patterns(const std::byte* src, std::byte* dst, std::int64_t bytes, std::int64_t total, KernelLoop b,
                               std::int64_t claimed) {
    constexpr std::int64_t kRoom = kMaxPeriod + kMaxFillBytes + 2 * kLine;
    // The next fill's pattern is built before this one's is read: no load waits for a store just made.
    alignas(64) std::byte patterns[2][kRoom];
    const std::int64_t period = period_of(bytes, total);
    build_pattern<Simd>(src + b.src_at(0), bytes, patterns[0], period + kLine);
    for (std::int64_t j = 0; j < b.extent; ++j) {
        if (j + 1 < b.extent) build_pattern<Simd>(src + b.src_at(j + 1), bytes, patterns[(j + 1) % 2], period + kLine);
        std::byte* const to = dst + j * b.dst_stride;
        prefetch_run(to, claimed);
        repeat_pattern<Simd, nontemporal>(patterns[j % 2], period, to, total);
    }
}

// Fills of a few vectors, which are not worth the way to a line. Of shorter ones that follow each other
// each is a whole vector, and the next overwrites what is too much.
template <class Simd, std::int64_t bytes>
inline void fill_short_of(const std::byte* src, std::byte* dst, std::int64_t total, KernelLoop b, bool claim) {
    const std::int64_t last = total - Simd::kBytes;
    std::int64_t j = 0;
    if (last >= 0) {
        for (; j < b.extent; ++j) {
            const auto line = Simd::splat(src + b.src_at(j), bytes);
            std::byte* to = dst + j * b.dst_stride;
            if (claim) prefetch_run(to, total);
            for (std::int64_t k = 0; k < last; k += Simd::kBytes) Simd::store(to + k, line);
            Simd::store(to + last, line);
        }
        return;
    }
    if (b.dst_stride == total) {
        const std::int64_t whole = b.extent - (Simd::kBytes - 1) / total;
        for (; j < whole; ++j) {
            if (claim) __builtin_prefetch(dst + j * total);
            Simd::store(dst + j * total, Simd::splat(src + b.src_at(j), bytes));
        }
    }
    for (; j < b.extent; ++j) Simd::store_partial(dst + j * b.dst_stride, Simd::splat(src + b.src_at(j), bytes), total);
}

template <class Simd>
inline void fill_short(const std::byte* src, std::byte* dst, std::int64_t bytes, std::int64_t total, KernelLoop b, bool claim) {
    with_number<1, 2, 4, 8, 16, 32, 64>(bytes, [&]<int width>() {
        if constexpr (width <= Simd::kBytes) fill_short_of<Simd, width>(src, dst, total, b, claim);
    });
}

template <class Simd>
void fill(const std::byte* src, std::byte* dst, std::int64_t bytes, KernelLoop a, KernelLoop b, KernelStores stores) noexcept {
    const std::int64_t total = a.extent * bytes;
    const std::int64_t claimed = stores.claim && total <= kClaimedFill ? total : 0;
    if (Simd::kBytes % bytes == 0 && total <= kShortFill && !stores.nontemporal) {
        fill_short<Simd>(src, dst, bytes, total, b, stores.claim);
    } else if (Simd::kBytes % bytes == 0) {
        for (std::int64_t j = 0; j < b.extent; ++j) {
            const auto line = Simd::splat(src + b.src_at(j), bytes);
            std::byte* const to = dst + j * b.dst_stride;
            if (stores.nontemporal) {
                fill_line<Simd, true>(line, bytes, to, total);
            } else {
                prefetch_run(to, claimed);
                fill_line<Simd, false>(line, bytes, to, total);
            }
        }
    } else if (total < kWorthPeriod || a.extent < 4) {
        for (std::int64_t j = 0; j < b.extent; ++j) {
            std::byte* const to = dst + j * b.dst_stride;
            prefetch_run(to, claimed);
            repeat_element<Simd>(src + b.src_at(j), bytes, to, total);
        }
    } else if (stores.nontemporal) {
        fill_from_patterns<Simd, true>(src, dst, bytes, total, b, 0);
    } else {
        fill_from_patterns<Simd, false>(src, dst, bytes, total, b, claimed);
    }
}

}  // namespace
}  // namespace dnnmove
