// Contiguous bytes: rows, short runs and streamed stores, for any vector width.
#pragma once

#include <bit>
#include <cstring>

#include "kernels/entry.hpp"

namespace dnnmove {
namespace {

inline constexpr std::int64_t kPrefetchBytes = 2048;
inline constexpr std::int64_t kLongRow = 384;  // bytes
// Longer rows are not claimed: the hardware asks for their lines. (Emerald Rapids, two threads, 3 to 13 MB: of 130 to 330 bytes
// 1.0 to 1.2 times as fast if they are, from 460 bytes on level.)
inline constexpr std::int64_t kClaimedRow = 512;  // bytes

// Bytes from `p` to the next line.
inline std::int64_t to_line(const std::byte* p) {
    return static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(p) & (kLine - 1));
}

// What one register holds at most of bytes that no Simd is named for.
#if defined(__AVX512F__)
inline constexpr std::size_t kRegister = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t kRegister = 32;
#else
inline constexpr std::size_t kRegister = 16;
#endif

template <std::size_t bytes>
struct RegisterOf {
    typedef char Type __attribute__((vector_size(bytes), aligned(1), may_alias));
};
template <>
struct RegisterOf<1> {
    typedef char Type;
};

// Bytes between a load and a store, in as few registers as hold them. (For local arrays and copies of a constant size GCC 12 takes
// registers of 16 bytes, where AVX-512 is not asked for, and stores arrays of more than one of them to the stack, too.)
template <std::size_t bytes, std::size_t widest = kRegister>
struct InRegisters {
    static constexpr std::size_t kHead = bytes < widest ? std::bit_floor(bytes) : widest;
    using Head = typename RegisterOf<kHead>::Type;

    explicit InRegisters(const std::byte* p) : head(*reinterpret_cast<const Head*>(p)), rest(p + kHead) {}
    void store(std::byte* p) const {
        *reinterpret_cast<Head*>(p) = head;
        rest.store(p + kHead);
    }

    Head head;
    [[no_unique_address]] InRegisters<bytes - kHead, widest> rest;
};
template <std::size_t widest>
struct InRegisters<0, widest> {
    explicit InRegisters(const std::byte*) {}
    void store(std::byte*) const {}
};

template <std::size_t bytes>
[[gnu::always_inline]] inline void move(const std::byte* src, std::byte* dst) {
    InRegisters<bytes>(src).store(dst);
}

// `count` blocks of `bytes`, from where `offsets` say to places `step` bytes apart. (Four are loaded before the first of them is
// stored: the compiler does not know that they never share a byte.)
template <std::size_t bytes, bool claims, class Offset>
inline void move_from(const std::byte* src, const Offset* offsets, std::int64_t count, std::byte* dst, std::int64_t step) {
    using Block = InRegisters<bytes>;
    std::int64_t k = 0;
    for (; k + 4 <= count; k += 4, dst += 4 * step) {
        for (int i = 0; i < 4 && claims; ++i) __builtin_prefetch(dst + i * step);
        const Block blocks[4] = {Block(src + offsets[k]), Block(src + offsets[k + 1]), Block(src + offsets[k + 2]),
                                 Block(src + offsets[k + 3])};
        for (int i = 0; i < 4; ++i) blocks[i].store(dst + i * step);
    }
    for (; k < count; ++k, dst += step) move<bytes>(src + offsets[k], dst);
}

// `bytes` in (size, size + last], as two pieces that may overlap: the first `size` bytes and the `last` ones.
template <std::size_t size, std::size_t last = size>
[[gnu::always_inline]] inline void move_overlapping(const std::byte* src, std::byte* dst, std::int64_t bytes) {
    const std::int64_t at = bytes - static_cast<std::int64_t>(last);
    const InRegisters<size> head(src);
    const InRegisters<last> tail(src + at);
    head.store(dst);
    tail.store(dst + at);
}

// `bytes` in [0, most].
template <std::int64_t most = kLine>
inline void move_short(const std::byte* src, std::byte* dst, std::int64_t bytes) {
    if (most > 32 && bytes > 32) return move_overlapping<32>(src, dst, bytes);
    if (most > 16 && bytes > 16) return move_overlapping<16>(src, dst, bytes);
    if (bytes > 8) return move_overlapping<8>(src, dst, bytes);
    if (bytes > 4) return move_overlapping<4>(src, dst, bytes);
    if (bytes > 2) return move_overlapping<2>(src, dst, bytes);
    for (std::int64_t k = 0; k < bytes; ++k) dst[k] = src[k];
}

template <class Simd, bool nontemporal>
inline void put_vector(std::byte* to, typename Simd::Vector vector) {
    if constexpr (nontemporal) {
        Simd::stream(to, vector);
    } else {
        Simd::store(to, vector);
    }
}

template <class Simd, bool nontemporal>
inline void put_line(const std::byte* src, std::byte* dst) {
    for (int k = 0; k < kLine; k += Simd::kBytes) put_vector<Simd, nontemporal>(dst + k, Simd::load(src + k));
}

template <class Simd>
inline void move_line(const std::byte* src, std::byte* dst) {
    put_line<Simd, false>(src, dst);
}

template <class Simd>
inline void stream_line(const std::byte* src, std::byte* dst) {
    put_line<Simd, true>(src, dst);
}

// More than a line.
template <class Simd>
[[gnu::always_inline]] inline void move_lines(const std::byte* src, std::byte* dst, std::int64_t bytes) {
    const std::int64_t last = bytes - kLine;
    std::int64_t k = 0;
    if (bytes >= kLongRow) {
        // A vector that lies across two lines costs two stores: in long rows only the first and the last do.
        move_line<Simd>(src, dst);
        k = to_line(dst);
        for (; k + kLine < last; k += 2 * kLine) {  // one line a round would cost a tenth more
            move_line<Simd>(src + k, dst + k);
            move_line<Simd>(src + k + kLine, dst + k + kLine);
        }
    }
    for (; k < last; k += kLine) move_line<Simd>(src + k, dst + k);
    move_line<Simd>(src + last, dst + last);
}

// `ahead` bytes further on lies what the caller copies soon; 0 prefetches nothing.
template <class Simd>
inline void move_row(const std::byte* src, std::byte* dst, std::int64_t bytes, std::int64_t ahead) {
    if (ahead != 0) __builtin_prefetch(src + bytes - 1 + ahead);
    if (bytes <= kLine) return move_short(src, dst, bytes);
    if (ahead == 0) return move_lines<Simd>(src, dst, bytes);
    const std::int64_t last = bytes - kLine;
    for (std::int64_t k = 0; k < last; k += kLine) {
        __builtin_prefetch(src + k + ahead);
        move_line<Simd>(src + k, dst + k);
    }
    __builtin_prefetch(src + last + ahead);
    move_line<Simd>(src + last, dst + last);
}

template <class Simd>
inline void stream_row(const std::byte* src, std::byte* dst, std::int64_t bytes, std::int64_t ahead) {
    const std::int64_t head = to_line(dst);
    if (bytes < head + kLine) return move_row<Simd>(src, dst, bytes, ahead);
    move_short(src, dst, head);
    std::int64_t k = head;
    for (; k + kLine <= bytes; k += kLine) {
        if (ahead != 0) __builtin_prefetch(src + k + ahead);
        stream_line<Simd>(src + k, dst + k);
    }
    move_short(src + k, dst + k, bytes - k);
}

// Asks for the lines of a run, but for a last one that only its end lies in.
// Inlined: GCC takes a function that only prefetches for one without effects, and leaves out calls of it.
[[gnu::always_inline]] inline void prefetch_run(const std::byte* p, std::int64_t bytes) {
    for (std::int64_t k = 0; k < bytes; k += kLine) __builtin_prefetch(p + k);
}

// Rows of whole lines, which begin with one; the lines from `next` on come into the second-level cache meanwhile.
template <class Simd>
inline void stream_rows_asking(const std::byte* src, std::byte* dst, std::int64_t bytes, const KernelLoop& rows,
                               const std::byte* next) {
    for (std::int64_t i = 0; i < rows.extent; ++i, next += bytes) {
        const std::byte* from = src + rows.src_at(i);
        std::byte* to = dst + i * rows.dst_stride;
        for (std::int64_t k = 0; k < bytes; k += kLine) {
            __builtin_prefetch(next + k, 0, 2);
            stream_line<Simd>(from + k, to + k);
        }
    }
}

// Rows of `lines` lines and at most `tail` bytes more, by these lines and their last `tail` bytes. A short tail lies
// across two lines less often than a whole line does.
//
// A function of its own where nothing is asked for: beside other loops GCC keeps the variables of this one on the stack and in mask
// registers. Vectors of a line are all loaded before the first of them is stored. (Zen 5, two threads, 5 to 14 MB in rows of 80 to
// 256 bytes that begin 16 bytes behind a line, as NumPy's large arrays do, against one loop that asks where it is told to: AVX-512
// 0.88 to 1.25 times as fast, nine cases 1.05; AVX2 0.94 to 1.11, nine cases 1.01, but with its loads first 0.8 to 0.95. Vectors of
// 16 bytes 0.89 to 0.99: those keep the one loop.)
template <class Simd, int lines, std::size_t tail, bool asks>
[[gnu::noinline]] void copy_short_rows(const std::byte* src, std::byte* dst, std::int64_t bytes, const KernelLoop& loop,
                                       bool prefetch, bool claim) {
    const auto rows = by_words<KernelLoop>(loop);
    const std::int64_t rows_ahead = (kPrefetchBytes + bytes - 1) / bytes;
    const std::int64_t end = bytes - static_cast<std::int64_t>(tail);
    for (std::int64_t i = 0; i < rows.extent; ++i) {
        const std::byte* from = src + rows.src_at(i);
        std::byte* to = dst + i * rows.dst_stride;
        if (asks && prefetch) {
            const std::byte* ahead = src + rows.src_ahead(i + rows_ahead);
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + bytes - 1);
        }
        if (asks && claim) prefetch_run(to, bytes);
        if constexpr (Simd::kBytes < kLine) {
            for (int k = 0; k < lines; ++k) move_line<Simd>(from + k * kLine, to + k * kLine);
            move<tail>(from + end, to + end);
        } else {
            const InRegisters<lines * kLine> whole(from);
            const InRegisters<tail> last(from + end);
            whole.store(to);
            last.store(to + end);
        }
    }
}

template <class Simd>
void copy_rows(const std::byte* src, std::byte* dst, std::int64_t bytes, KernelLoop rows, KernelStores stores) noexcept {
    const bool claim = stores.claim && bytes <= kClaimedRow;
    const bool asks = stores.prefetch || claim;
    if (!stores.nontemporal && bytes > kLine && bytes <= 2 * kLine) {
        const auto copy = [&]<std::size_t tail>() {
            if (asks || Simd::kBytes == 16)
                return copy_short_rows<Simd, 1, tail, true>(src, dst, bytes, rows, stores.prefetch, claim);
            copy_short_rows<Simd, 1, tail, false>(src, dst, bytes, rows, false, false);
        };
        if (bytes <= kLine + 16) return copy.template operator()<16>();
        if (bytes <= kLine + 32) return copy.template operator()<32>();
        return copy.template operator()<64>();
    }
    if constexpr (Simd::kBytes == kLine) {
        if (!stores.nontemporal && !asks && bytes > 2 * kLine && bytes <= 4 * kLine) {
            if (bytes <= 3 * kLine) return copy_short_rows<Simd, 2, 64, false>(src, dst, bytes, rows, false, false);
            return copy_short_rows<Simd, 3, 64, false>(src, dst, bytes, rows, false, false);
        }
    }
    if (!stores.nontemporal && !stores.prefetch && bytes > kLine) {
        for (std::int64_t i = 0; i < rows.extent; ++i) {
            std::byte* const to = dst + i * rows.dst_stride;
            if (claim) prefetch_run(to, bytes);
            move_lines<Simd>(src + rows.src_at(i), to, bytes);
        }
        return;
    }
    if (stores.next != nullptr) return stream_rows_asking<Simd>(src, dst, bytes, rows, stores.next);
    // Prefetch along the row where it is long, else the same place some rows further on.
    const bool along = bytes >= 2 * kPrefetchBytes;
    const std::int64_t rows_ahead = (kPrefetchBytes + bytes - 1) / bytes;
    for (std::int64_t i = 0; i < rows.extent; ++i) {
        const std::int64_t at = rows.src_at(i);
        std::byte* to = dst + i * rows.dst_stride;
        const std::int64_t ahead = !stores.prefetch ? 0 : along ? kPrefetchBytes : rows.src_ahead(i + rows_ahead) - at;
        if (stores.nontemporal) {
            stream_row<Simd>(src + at, to, bytes, ahead);
        } else {
            if (claim) prefetch_run(to, bytes);
            move_row<Simd>(src + at, to, bytes, ahead);
        }
    }
}

inline constexpr std::int64_t kRunsAhead = 16;

// Rows of runs that a list finds, rather than a list of rows?
inline bool is_list(const KernelLoop& a, const KernelLoop& b) {
    return b.src_rows != nullptr && (a.extent == 1 || a.dst_stride > b.dst_stride);
}

// Runs of so many bytes.
template <std::size_t bytes, std::size_t widest = kRegister>
struct MoveRun {
    void operator()(const std::byte* from, std::byte* to) const { InRegisters<bytes, widest>(from).store(to); }
};

// Runs of a line, under AVX2 in registers of 16 bytes. (Zen 4, from places whole pages apart 1.35 to 1.55 times as fast, from others
// level.)
using MoveLineRun = MoveRun<kLine, kRegister == 32 ? 16 : kRegister>;

// Runs of `bytes` in (size, size + last]. (The fewer bytes lie in both pieces, the fewer of these stores cross a line: Zen 4, AVX2,
// 20 bytes as 16 and 4 instead of 16 and 16, 1.2 times as fast.)
template <std::size_t size, std::size_t last>
struct MoveLongerRun {
    std::int64_t bytes;
    void operator()(const std::byte* from, std::byte* to) const { move_overlapping<size, last>(from, to, bytes); }
};

// One run from each place of a list, a.extent times.
template <bool claims, class Move>
inline void move_listed(const std::byte* src, std::byte* dst, const KernelLoop& a, const KernelLoop& b, bool prefetch,
                        Move move_run) {
    const std::int64_t* at = b.src_rows;
    const auto move_at = [&](std::int64_t j) {
        std::byte* const to = dst + j * b.dst_stride;
        if (claims) __builtin_prefetch(to);
        move_run(src + at[j], to);
    };
    for (std::int64_t i = 0; i < a.extent; ++i, src += a.src_stride, dst += a.dst_stride) {
        std::int64_t j = 0;
        if (prefetch) {
            for (; j + kRunsAhead < b.extent; ++j) {
                __builtin_prefetch(src + at[j + kRunsAhead]);
                move_at(j);
            }
        }
        for (; j < b.extent; ++j) move_at(j);
    }
}

// Of what one register holds nothing is asked for: the core begins to load more runs than that would be ahead of. (Zen 5, this
// loop by itself, one thread, against one run after the other, 16 ahead of which is asked for: 2 MB and 10,000 places 1.0 to 1.9
// times as fast, 4 MB 1.0 to 1.05, 200 MB 1.1 to 1.35.)
template <bool claims, std::size_t bytes>
requires(std::has_single_bit(bytes) && bytes <= 16)
inline void move_listed(const std::byte* src, std::byte* dst, const KernelLoop& a, const KernelLoop& b, bool, MoveRun<bytes>) {
    for (std::int64_t i = 0; i < a.extent; ++i, src += a.src_stride, dst += a.dst_stride) {
        move_from<bytes, claims>(src, b.src_rows, b.extent, dst, b.dst_stride);
    }
}

// (Not inlined: beside the other sizes' loops GCC keeps less of these in registers. Emerald Rapids, AVX2, rows of three runs of 12
// bytes: 0.8 of the speed.)
template <bool claims, class Move>
[[gnu::noinline]] void move_runs(Move move_run, const std::byte* src, std::byte* dst, const KernelLoop& along,
                                 const KernelLoop& across, std::int64_t ahead) {
    const auto a = by_words<KernelLoop>(along), b = by_words<KernelLoop>(across);
    if (is_list(a, b)) return move_listed<claims>(src, dst, a, b, ahead != 0, move_run);
    for (std::int64_t j = 0; j < b.extent; ++j) {
        const std::byte* from = src + b.src_at(j);
        std::byte* to = dst + j * b.dst_stride;
        for (std::int64_t i = 0; i < a.extent; ++i) {
            if (ahead != 0) __builtin_prefetch(from + ahead);
            if (claims) __builtin_prefetch(to);
            move_run(from, to);
            from += a.src_stride;
            to += a.dst_stride;
        }
    }
}

template <class Index>
inline bool are_indices(const std::byte* list, std::int64_t count, std::int64_t length) noexcept {
    const auto* const indices = reinterpret_cast<const Index*>(list);
    // Index + length, and what that lacks to 2 * length - 1, have no sign then.
    const auto places = static_cast<std::uint64_t>(length);
    std::uint64_t signs = 0;
    for (std::int64_t k = 0; k < count; ++k) {
        const std::uint64_t from_begin = static_cast<std::uint64_t>(std::int64_t{indices[k]}) + places;
        signs |= from_begin | (2 * places - 1 - from_begin);
    }
    return signs >> 63 == 0;
}

template <class Index>
inline void find_places(const std::byte* list, std::int64_t count, std::int64_t length, std::int64_t stride,
                        std::int64_t* offsets) noexcept {
    const auto* const indices = reinterpret_cast<const Index*>(list);
    const auto places = static_cast<std::uint64_t>(length);
    for (std::int64_t k = 0; k < count; ++k) {
        // (Without branches: signs may come in any order.)
        const std::int64_t index = indices[k];
        const std::uint64_t place = static_cast<std::uint64_t>(index) + (static_cast<std::uint64_t>(index >> 63) & places);
        offsets[k] = static_cast<std::int64_t>(place & -std::uint64_t{place < places}) * stride;
    }
}

template <bool claims>
[[gnu::always_inline]] inline void copy_runs_ahead(const std::byte* src, std::byte* dst, std::int64_t bytes,
                                                   const KernelLoop& a, const KernelLoop& b, std::int64_t ahead) {
    const auto run = [&](auto move_run) { move_runs<claims>(move_run, src, dst, a, b, ahead); };
    switch (bytes) {
        case 1: return run(MoveRun<1>());
        case 2: return run(MoveRun<2>());
        case 3: return run(MoveRun<3>());
        case 4: return run(MoveRun<4>());
        case 8: return run(MoveRun<8>());
        case 16: return run(MoveRun<16>());
        case 32: return run(MoveRun<32>());
        case 64: return run(MoveLineRun());
        default: break;
    }
    if (bytes > 48) return run(MoveLongerRun<32, 32>{bytes});
    if (bytes > 40) return run(MoveLongerRun<32, 16>{bytes});
    if (bytes > 36) return run(MoveLongerRun<32, 8>{bytes});
    if (bytes > 32) return run(MoveLongerRun<32, 4>{bytes});
    if (bytes > 24) return run(MoveLongerRun<16, 16>{bytes});
    if (bytes > 20) return run(MoveLongerRun<16, 8>{bytes});
    if (bytes > 16) return run(MoveLongerRun<16, 4>{bytes});
    if (bytes > 12) return run(MoveLongerRun<8, 8>{bytes});
    if (bytes > 8) return run(MoveLongerRun<8, 4>{bytes});
    run(MoveLongerRun<4, 4>{bytes});
}

[[gnu::always_inline]] inline void copy_runs(const std::byte* src, std::byte* dst, std::int64_t bytes, KernelLoop a,
                                             KernelLoop b, KernelStores stores) noexcept {
    // Close runs are found by the hardware; distant ones are asked for some runs ahead, or, where b's steps stay in their lines,
    // a whole b ahead: there the next call continues.
    const std::int64_t distance = a.src_stride < 0 ? -a.src_stride : a.src_stride;
    const std::int64_t close = is_list(a, b) ? 1 : 0;
    const bool again = b.src_rows == nullptr && b.extent > 1 && b.src_stride != 0 && b.src_stride < kLine &&
                       b.src_stride > -kLine;
    const std::int64_t far = again ? b.extent * b.src_stride : kRunsAhead * a.src_stride;
    const std::int64_t ahead = stores.prefetch ? (distance >= kLine ? far : close) : 0;
    if (stores.claim) return copy_runs_ahead<true>(src, dst, bytes, a, b, ahead);
    copy_runs_ahead<false>(src, dst, bytes, a, b, ahead);
}

template <class Simd>
void stream(const std::byte* src, std::byte* dst, std::int64_t bytes) noexcept {
    stream_row<Simd>(src, dst, bytes, 0);
}

template <class Simd>
void fence() noexcept {
    Simd::fence();
}

}  // namespace
}  // namespace dnnmove
