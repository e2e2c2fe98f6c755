// Transposes of any extent by register tiles (kernels/tile.hpp), straight to the destination or by way of a
// stage, out of which whole lines are stored.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/tile.hpp"

namespace dnnmove {
namespace {

template <class Simd, int width>
struct Cover {
    using Tile = dnnmove::Tile<Simd, width>;
    static constexpr int kSide = Tile::kSide;
    static constexpr int kPerLane = Tile::kPerLane;
    static constexpr int kLanes = Tile::kLanes;

    // Where the rows of the source end, for who reads beyond the columns of one (or one of them ends, which is as safe): null
    // where nobody may, or, with masks, does.
    static const std::byte* end_of(const std::byte* src, const std::int64_t* src_rows, std::int64_t rows, std::int64_t columns,
                                   bool own_rows) {
        if (own_rows || rows == 0 || Simd::kBytes == kLine) return nullptr;
        return src + (src_rows[0] > src_rows[rows - 1] ? src_rows[0] : src_rows[rows - 1]) + columns * width;
    }

    // Where the destination's rows end if they are shorter than a vector and follow each other without gaps, else null.
    [[gnu::noinline]] static const std::byte* room_of(std::byte* dst, const std::int64_t* dst_rows, std::int64_t rows_out,
                                                      std::int64_t rows_in) {
        if (rows_in >= kSide) return nullptr;
        std::int64_t differences = 0;  // of all, by vectors: to stop at the first takes longer
        for (std::int64_t i = 1; i < rows_out; ++i) differences |= (dst_rows[i] - dst_rows[i - 1]) ^ (rows_in * width);
        if (differences != 0) return nullptr;
        return dst + dst_rows[rows_out - 1] + rows_in * width;
    }

    // Asks for a line of each of the rows [0, columns) of the destination, from element j on. (Where a row ends in one line more, it
    // is the next row's, or waited for.) Inlined, as prefetch_run.
    [[gnu::always_inline]] static inline void claim(const std::byte* dst, const std::int64_t* dst_rows, std::int64_t columns,
                                                    std::int64_t j) {
        if (j * width % kLine != 0) return;
        const std::int64_t pitch = columns < 2 ? kLine : dst_rows[1] - dst_rows[0];
        const std::int64_t step = pitch > 0 && pitch < kLine ? kLine / pitch : 1;  // of short rows, which share lines, some
        for (std::int64_t i = 0; i < columns; i += step) __builtin_prefetch(dst + dst_rows[i] + j * width);
    }

    // Columns that are few: kPerLane at a time.
    template <bool nontemporal, bool prefetch, bool claims>
    static inline void cover_narrow(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                    const std::int64_t* dst_rows, std::int64_t columns, std::int64_t rows_in, RowsAhead ahead,
                                    const std::byte* end) {
        const std::byte* const room = room_of(dst, dst_rows, columns, rows_in);
        for (std::int64_t j = 0; j < rows_in; j += kSide) {
            if (claims) claim(dst, dst_rows, columns, j);
            std::int64_t rows = rows_in - j < kSide ? rows_in - j : kSide;
            if (rows < kSide && rows_in >= kSide && !nontemporal) {
                j = rows_in - kSide;
                rows = kSide;
            }
            for (std::int64_t i = 0; i < columns; i += kPerLane) {
                std::int64_t now = columns - i < kPerLane ? columns - i : kPerLane;
                const bool repeat = Simd::kBytes < kLine || 2 * now > kPerLane;  // a part of a lane costs more
                if (now < kPerLane && columns >= kPerLane && !nontemporal && repeat) {
                    i = columns - kPerLane;
                    now = kPerLane;
                }
                const std::byte* from = src + i * width;
                std::byte* to = dst + j * width;
                const RowsAhead next{ahead.src + i * width, ahead.rows + j};
                const bool whole = now == kPerLane;
                const Columns these{now, end};
                if (rows == kSide && whole) {
                    Tile::template run_narrow<true, true, nontemporal, prefetch>(from, src_rows + j, to, dst_rows + i, these,
                                                                                 rows, next, room);
                } else if (rows == kSide) {
                    Tile::template run_narrow<true, false, nontemporal, prefetch>(from, src_rows + j, to, dst_rows + i, these,
                                                                                  rows, next, room);
                } else {
                    Tile::template run_narrow<false, false, false, prefetch>(from, src_rows + j, to, dst_rows + i, these, rows,
                                                                             next, room);
                }
            }
        }
    }

    // Fewer rows than a tile has, by tiles of fewer lanes; where they do not divide the rows, the last repeats
    // some of those before it, which costs less than a partial tile.
    template <bool whole_columns, bool prefetch>
    static inline void cover_rest(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                  const std::int64_t* dst_rows, Columns columns, std::int64_t done, std::int64_t rows_in,
                                  RowsAhead ahead, const std::byte* room) {
        for (std::int64_t j = done; j < rows_in;) {
            const std::int64_t left = rows_in - j;
            if (left <= Tile::kFewRows && j != 0) {
                return Tile::template run_few_rows<prefetch>(src, src_rows + j, dst + j * width, dst_rows, columns.count, left,
                                                             {ahead.src, ahead.rows + j});
            }
            std::int64_t rows = kPerLane;  // of the least tile that holds all, else of the largest that they fill
            while (rows < left && 2 * rows <= rows_in && rows < kSide) rows *= 2;
            if (rows_in < kPerLane) rows = left;
            if (rows >= left) j = rows_in - rows;
            std::byte* to = dst + j * width;
            const RowsAhead next{ahead.src, ahead.rows + j};
            if (rows == kSide) {
                Tile::template run<whole_columns, false, prefetch>(src, src_rows + j, to, dst_rows, columns, next);
            } else if (rows < kPerLane) {
                Tile::template run_part<whole_columns, prefetch>(src, src_rows + j, to, dst_rows, columns, rows, next, room);
            } else if (rows == kPerLane) {
                if constexpr (kLanes > 1) {
                    Tile::template run_short<1, whole_columns, prefetch>(src, src_rows + j, to, dst_rows, columns, next);
                }
            } else {
                if constexpr (kLanes > 2) {
                    Tile::template run_short<2, whole_columns, prefetch>(src, src_rows + j, to, dst_rows, columns, next);
                }
            }
            j += rows;
        }
    }

    // A line of each row of a tile, side by side. (Zen 4, AVX2, staged, source rows multiples of 4 KiB apart, eight shapes of 0.25 to 34
    // MB: elements of 2 bytes 1.02 to 1.3 times as fast, bytes 1.1 to 1.35; other rows 0.87 to 0.98; elements of 4 and 8 bytes, whose
    // tiles have fewer rows, 0.83 to 1.04; 2 bytes not staged 0.9.)
    struct CopiedLines {
        static constexpr bool kUsed = kSide > kSmallSetLines;

        static constexpr auto kRows = [] {
            std::array<std::int64_t, kSide> rows{};
            for (std::int64_t row = 0; row < kSide; ++row) rows[static_cast<std::size_t>(row)] = row * kLine;
            return rows;
        }();

        void take(const std::byte* src, const std::int64_t* src_rows) {
            for (std::int64_t row = 0; row < kSide; ++row) move_line<Simd>(src + src_rows[row], bytes + row * kLine);
        }

        alignas(kLine) std::byte bytes[kUsed ? kSide * kLine : 1];
    };

    // Tiles of a line of each source row beside each other, then those of the next rows, as far as there are whole tiles and
    // lines; returns how many columns these are. (Not inlined: beside these tiles GCC keeps less of other ones' in registers.)
    template <bool prefetch>
    [[gnu::noinline]] static std::int64_t cover_source_lines(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                                             const std::int64_t* dst_rows, std::int64_t rows_out,
                                                             std::int64_t rows_in, RowsAhead ahead, bool copied) {
        constexpr std::int64_t kColumns = std::max<std::int64_t>(kSide, kLine / width);
        constexpr Columns kWhole{kSide, nullptr};
        if (rows_in < kSide) return 0;
        CopiedLines lines;
        const std::int64_t end = rows_out - rows_out % kColumns;
        for (std::int64_t first = 0; first < end; first += kColumns) {
            std::int64_t j = 0;
            for (; j + kSide <= rows_in; j += kSide) {
                const std::byte* from = src + first * width;
                const std::int64_t* from_rows = src_rows + j;
                if constexpr (CopiedLines::kUsed) {
                    if (copied) {
                        lines.take(from, from_rows);
                        from = lines.bytes;
                        from_rows = lines.kRows.data();
                    }
                }
                for (std::int64_t i = 0; i < kColumns; i += kSide) {
                    Tile::template run<true, false, prefetch>(from + i * width, from_rows, dst + j * width,
                                                              dst_rows + first + i, kWhole,
                                                              {ahead.src + (first + i) * width, ahead.rows + j});
                }
            }
            for (std::int64_t i = first; i < first + kColumns && j < rows_in; i += kSide) {
                cover_rest<true, prefetch>(src + i * width, src_rows, dst, dst_rows + i, kWhole, j, rows_in,
                                           {ahead.src + i * width, ahead.rows}, nullptr);
            }
        }
        return end;
    }

    // rows_out x rows_in elements by tiles; columns that are left repeat part of the tile before them where
    // there is one.
    template <bool nontemporal, bool prefetch, bool claims = false>
    static inline void cover(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                             std::int64_t rows_out, std::int64_t rows_in, RowsAhead ahead, KernelStores stores) {
        std::int64_t i = 0;
        if constexpr (Simd::kBytes < kLine && !nontemporal && !claims) {
            if (stores.source_lines != SourceLines::parts) {
                i = cover_source_lines<prefetch>(src, src_rows, dst, dst_rows, rows_out, rows_in, ahead,
                                                 stores.source_lines == SourceLines::copied);
            }
        }
        const std::byte* const room = rows_in < kPerLane && rows_out > 0 ? room_of(dst, dst_rows, rows_out, rows_in) : nullptr;
        for (; i < rows_out; i += kSide) {
            std::int64_t columns = rows_out - i < kSide ? rows_out - i : kSide;
            const std::byte* const end = columns == kSide
                                             ? nullptr
                                             : end_of(src + i * width, src_rows, rows_in, columns, stores.own_rows);
            const bool parts_are_slow = Simd::kBytes < kLine && rows_out < kSide;  // to load: there are no masks
            if (columns <= kLanes / 2 * kPerLane || (parts_are_slow && kLanes > 1 && columns < kSide)) {
                cover_narrow<nontemporal, prefetch, claims>(src + i * width, src_rows, dst, dst_rows + i, columns, rows_in,
                                                            {ahead.src + i * width, ahead.rows}, end);
                continue;
            }
            if (columns < kSide && rows_out >= kSide && !nontemporal) {
                i = rows_out - kSide;
                columns = kSide;
            }
            const std::byte* from = src + i * width;
            const Columns these{columns, end};
            const RowsAhead next{ahead.src + i * width, ahead.rows};
            std::int64_t j = 0;
            for (; j + kSide <= rows_in; j += kSide) {
                const RowsAhead of_tile{next.src, next.rows + j};
                if (claims) claim(dst, dst_rows + i, columns, j);
                if (columns == kSide) {
                    Tile::template run<true, nontemporal, prefetch>(from, src_rows + j, dst + j * width, dst_rows + i, these,
                                                                    of_tile);
                } else {
                    Tile::template run_columns<nontemporal, prefetch>(from, src_rows + j, dst + j * width, dst_rows + i, these,
                                                                      of_tile);
                }
            }
            if (j == rows_in) continue;
            if (claims) claim(dst, dst_rows + i, columns, j);
            if (columns == kSide) {
                cover_rest<true, prefetch>(from, src_rows, dst, dst_rows + i, these, j, rows_in, next, room);
            } else {
                cover_rest<false, prefetch>(from, src_rows, dst, dst_rows + i, these, j, rows_in, next, room);
            }
        }
    }
};

template <class Simd, int width>
void transpose(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
               std::int64_t rows_out, std::int64_t rows_in, KernelStores stores, RowsAhead ahead) noexcept {
    if (stores.nontemporal) {
        Cover<Simd, width>::template cover<true, true>(src, src_rows, dst, dst_rows, rows_out, rows_in, ahead, stores);
    } else if (stores.claim && stores.prefetch) {
        Cover<Simd, width>::template cover<false, true, true>(src, src_rows, dst, dst_rows, rows_out, rows_in, ahead, stores);
    } else if (stores.claim) {
        Cover<Simd, width>::template cover<false, false, true>(src, src_rows, dst, dst_rows, rows_out, rows_in, ahead, stores);
    } else if (stores.prefetch) {
        Cover<Simd, width>::template cover<false, true>(src, src_rows, dst, dst_rows, rows_out, rows_in, ahead, stores);
    } else {
        Cover<Simd, width>::template cover<false, false>(src, src_rows, dst, dst_rows, rows_out, rows_in, ahead, stores);
    }
}

// Writes the lines of one panel's rows out of a staging buffer: see transpose_lines in the contract. Meanwhile it asks for
// `asked` rows ahead, about a line with each line that it writes.
template <class Simd>
inline void stream_panel(const std::byte* stage, std::int64_t pitch, std::byte* dst, const std::int64_t* dst_rows,
                         std::int64_t rows, std::int64_t end, std::int64_t limit, bool first, bool nontemporal,
                         RowsAhead ahead = {}, std::int64_t asked = 0) {
    std::int64_t j = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
        for (const std::int64_t upto = (row + 1) * asked / rows; j < upto; ++j)
            __builtin_prefetch(ahead.src + ahead.rows[j], 0, 2);
        std::byte* to = dst + dst_rows[row];
        const std::byte* from = stage + row * pitch;
        std::int64_t k = to_line(to);
        if (k > end) k = end;
        if (first) move_short(from, to, k);
        if (nontemporal) {
            for (; k < limit && k + kLine <= end; k += kLine) stream_line<Simd>(from + k, to + k);
        } else {
            for (; k < limit && k + kLine <= end; k += kLine) move_line<Simd>(from + k, to + k);
        }
        if (k < limit) move_short(from + k, to + k, end - k);
    }
}

// Columns that are staged at a time: their rows of a panel, and what is read for them, stay in the first-level cache.
//   Streamed, a line of each row of the source, or of bytes half of one: what comes from memory is asked for row by row.
//   (Zen 4, by shorter vectors, whole lines at once: source rows multiples of 4 KiB apart, past the caches, two threads: 4 and 8
//   bytes 1.2 to 2.5 times as fast by AVX2, bytes, of which it takes as many columns, 1.0 to 1.3; other pitches 0.93 to 1.14.)
//   Through the caches up to four lines of so many rows as a tile has, then of the next: what comes from another cache comes
//   sooner where lines follow each other. (Zen 5, rows that share cache sets, 1 to 8 MB, by vectors of a line: 1.1 to 1.8 times
//   the speed of a line of each row, four lines of wide elements and two of narrow ones; bytes are level or slower. Such a stage
//   fills Zen 4's first-level cache: plan/strategies/tile_transpose_sizes.cpp says where it helps.)
template <class Simd, int width>
struct StagedColumns {
    static constexpr int kSide = Simd::kBytes / width;
    static constexpr bool kGroups = Simd::kBytes < kLine || width > 1;
    static constexpr int kStreamed = std::max(kSide, std::min<int>(kLine / width, 32));
    static constexpr int kLines = kLine / width;
    static constexpr int kCached = kGroups ? std::min<int>(4 * kLine / width, 64) : kStreamed;
    static constexpr int kMost = std::max(kLines, kCached);
};

// Transposes panels of a tile's columns into a staging buffer and writes whole lines of every row out of it. (Ice Lake,
// streamed: with prefetches between the tiles, or some lines written after each, it takes up to 1.6 times as long; without
// non-temporal stores, twice.)
template <class Simd, int width>
void transpose_lines(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                     std::int64_t rows_out, std::int64_t rows_in, std::int64_t owned, bool first, KernelStores stores,
                     RowsAhead ahead) noexcept {
    using Staged = StagedColumns<Simd, width>;
    constexpr std::int64_t kPitch = kMaxPanelBytes + kLine;  // bytes; not a power of two: spreads the cache sets
    alignas(64) std::byte stage[Staged::kMost * kPitch];
    std::int64_t stage_rows[Staged::kMost];
    for (int i = 0; i < Staged::kMost; ++i) stage_rows[i] = i * kPitch;
    const bool groups = Staged::kGroups && !stores.nontemporal;
    const std::int64_t streamed = stores.source_lines != SourceLines::parts ? Staged::kLines : Staged::kStreamed;
    const std::int64_t columns = stores.nontemporal ? streamed : Staged::kCached;
    for (std::int64_t i = 0; i < rows_out; i += columns) {
        const std::int64_t rows = std::min(rows_out - i, columns);
        for (std::int64_t j = 0; j < rows_in;) {
            const bool last = !groups || rows_in - j < 2 * Staged::kSide;  // with what is left of the rows
            const std::int64_t now = last ? rows_in - j : Staged::kSide;
            Cover<Simd, width>::template cover<false, false>(src + i * width, src_rows + j, stage + j * width, stage_rows, rows,
                                                             now, {src + i * width, src_rows + j}, stores);
            j += now;
        }
        stream_panel<Simd>(stage, kPitch, dst, dst_rows + i, rows, rows_in * width, owned * width, first, stores.nontemporal,
                           {ahead.src + i * width, ahead.rows}, groups ? 0 : rows_in);
    }
}

}  // namespace
}  // namespace dnnmove
