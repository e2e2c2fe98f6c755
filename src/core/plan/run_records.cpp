// Walks slabs of records and moves their fields.
#include <algorithm>
#include <cstring>

#include "plan/lines.hpp"
#include "plan/problem.hpp"
#include "plan/records.hpp"
#include "runtime/scratch.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kFieldFlushBytes = 4 * 1024;     // of a field, collected before they are streamed
constexpr std::int64_t kExchangedBytes = 8 * 1024;
constexpr std::int64_t kLeastColumn = 64;  // of records, worth and able to be transposed
constexpr std::int64_t kVectorStageBytes = 8 * 1024;  // of records, half of which are collected before they are streamed
constexpr std::int64_t kDealtRun = 1024;  // of a stream, collected before it leaves
constexpr std::int64_t kWideRow = 64;            // a strip's row may be written as so many bytes
constexpr std::int64_t kPanelBytes = 512;          // of a field, per pass over the records
constexpr std::int64_t kStreamedPanelBytes = 256;
constexpr std::int64_t kAheadBytes = 256;

// Bytes from `a` to `b`, which may lie in different arrays.
std::int64_t distance(const std::byte* a, const std::byte* b) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(b) - reinterpret_cast<std::uintptr_t>(a));
}

// Into the second-level cache: it is a slab's worth until they are read. (Inlined: see prefetch_run() in kernels/rows.hpp.)
[[gnu::always_inline]] inline void prefetch_lines(const std::byte* from, std::int64_t bytes) {
    for (std::int64_t k = 0; k < bytes; k += kLine) __builtin_prefetch(from + k, 0, 2);
}

}  // namespace

void Records::run(const std::byte* const* srcs, std::byte* const* dsts, std::int64_t begin, std::int64_t end) const noexcept {
    if (begin >= end) return;
    if (stages_) return join_staged({srcs, dsts, begin * slab_, std::min(end * slab_, records_) - begin * slab_});
    if (groups_[0].method == Method::lines) {
        return move_lines({srcs, dsts, begin * slab_, std::min(end * slab_, records_) - begin * slab_});
    }
    const Method method = groups_[0].method;
    for (std::int64_t unit = begin; unit < end; ++unit) {
        const std::int64_t from = unit * slab_;
        const std::int64_t to = by_blocks() && unit + 1 == units_ ? records_ : std::min(from + slab_, records_);
        const Slab slab{srcs, dsts, from, to - from};
        if (method == Method::weave) {
            weave_slab(slab);
        } else if (method == Method::vectors) {
            split_ ? split_vectors(slab) : join_vectors(slab);
        } else if (method == Method::exchange) {
            exchange_slab(slab);
        } else if (split_) {
            split_slab(slab);
        } else {
            join_slab(slab, dsts[buffer_] + fields_[0].at + from * pitch_, [](std::size_t) {});
        }
    }
}

void Records::move_lines(const Slab& slab) const noexcept {
    const RecordBlock block{fields_.data(), static_cast<std::int32_t>(fields_.size()), pitch_, slab.begin,
                            slab.begin + slab.count};
    if (split_) {
        kernels_->split_records(block, slab.srcs[buffer_], slab.dsts);
    } else {
        kernels_->join_records(block, slab.srcs, slab.dsts[buffer_], KernelStores{streams_, streams_});
    }
}

void Records::exchange_slab(const Slab& slab) const noexcept {
    const std::byte* from[ExchangeBlock::kMaxVectors];
    std::byte* to[ExchangeBlock::kMaxVectors];
    const std::int64_t block = exchange_.records;
    const std::size_t destinations = split_ ? fields_.size() : 1;
    const auto step_of = [&](std::size_t k) { return split_ ? fields_[k].width : pitch_; };
    const auto place = [&](std::int64_t record) {
        const std::int64_t at = fields_[0].at + record * pitch_;
        if (split_) {
            from[0] = slab.srcs[buffer_] + at;
        } else {
            to[0] = slab.dsts[buffer_] + at;
        }
        for (std::size_t k = 0; k < fields_.size(); ++k) {
            const Field& field = fields_[k];
            if (split_) {
                to[k] = slab.dsts[field.buffer] + field.offset + record * field.width;
            } else {
                from[k] = slab.srcs[field.buffer] + field.offset + record * field.width;
            }
        }
    };
    const std::int64_t blocks = slab.count / block;
    place(slab.begin);
    const bool aligned = std::all_of(to, to + destinations, [](const std::byte* p) { return into_line(p) == 0; });
    if (!streams_ || (aligned && kernels_->exchange_bytes == kLine)) {
        kernels_->exchange(exchange_.block(), from, to, slab.count,
                           {.nontemporal = streams_, .prefetch = prefetch_, .claim = claims_});
        return;
    }
    // Vectors that would straddle lines, and those that are shorter, go to the lines by way of a stage.
    alignas(64) std::byte stage[kExchangedBytes + 2 * kLine * (ExchangeBlock::kMaxVectors + 1)];
    const std::int64_t most = std::max<std::int64_t>(1, kExchangedBytes / (pitch_ * block));
    for (std::int64_t done = 0; done < blocks; done += most) {
        const std::int64_t now = std::min(most, blocks - done);
        std::byte* staged[ExchangeBlock::kMaxVectors];
        place(slab.begin + done * block);
        std::byte* free = stage;
        for (std::size_t k = 0; k < destinations; ++k) {
            staged[k] = free + into_line(to[k]);
            free += 2 * kLine + now * block * step_of(k);
            free -= into_line(free);
        }
        kernels_->exchange(exchange_.block(), from, staged, now * block, KernelStores{false, true});
        for (std::size_t k = 0; k < destinations; ++k) {
            kernels_->stream(staged[k], to[k], now * block * step_of(k));
        }
    }
    if (slab.count % block != 0) {  // again, some of the records
        place(slab.begin + slab.count - block);
        kernels_->exchange(exchange_.block(), from, to, block, KernelStores{});
    }
}

// Makes records of `slab`, by move(from, to, count, done), which makes so many of them, a block's at least, after those that are done:
// past the caches by way of a stage.
template <class Move>
void Records::join_pieces(const Slab& slab, std::int64_t block, Move move) const noexcept {
    std::byte* to = slab.dsts[buffer_] + fields_[0].at + slab.begin * pitch_;
    const std::byte* from[RecordVectorTable::kMaxFields];
    for (std::size_t k = 0; k < fields_.size(); ++k) {
        from[k] = slab.srcs[fields_[k].buffer] + fields_[k].offset + slab.begin * fields_[k].width;
    }
    if (!streams_) return move(from, to, slab.count, 0);
    // Half of it is room for a block more than is wanted, of vectors or of woven lines.
    static_assert(kVectorStageBytes / 2 >= 2 * std::max(RecordVectorTable::kMaxBytes, kMostWoven * kLine));
    LineStage<kVectorStageBytes> stage(*kernels_);
    const std::int64_t most = std::max(block, kVectorStageBytes / 2 / pitch_ / block * block);
    for (std::int64_t done = 0; done < slab.count;) {
        const std::int64_t left = slab.count - done;
        const std::int64_t now = left < most + block ? left : most;  // no rest of less than a block
        move(from, stage.place(to + done * pitch_), now, done);
        stage.add(now * pitch_);
        for (std::size_t k = 0; k < fields_.size(); ++k) from[k] += now * fields_[k].width;
        done += now;
        if (done == slab.count) break;
        stage.send_lines(
            [&](const std::byte* made, std::byte* lines, std::int64_t bytes) { kernels_->stream(made, lines, bytes); });
    }
    stage.finish();
}

// Deals records of `slab` out, by move(from, to, count, done, room), which may write so many bytes behind every field's last one.
// Past the caches by way of a stage, `most` records at a time, which make whole lines of every field, and no rest of less than `block`.
template <class Move>
void Records::split_pieces(const Slab& slab, std::int64_t most, std::int64_t block, Move move) const noexcept {
    const std::byte* from = slab.srcs[buffer_] + fields_[0].at + slab.begin * pitch_;
    std::byte* to[RecordVectors::kMaxFields];
    for (std::size_t k = 0; k < fields_.size(); ++k) {
        to[k] = slab.dsts[fields_[k].buffer] + fields_[k].offset + slab.begin * fields_[k].width;
    }
    if (!streams_) return move(from, to, slab.count, 0, 0);
    // (Fields do not overlap, so that they are no longer than their records.)
    constexpr std::int64_t kMost = kMostWoven * (kDealtRun + kLine);
    static_assert(kMost >= kLine * RecordVectorTable::kMaxSplitPitch && kMost >= kVectorStageBytes);
    alignas(kLine) std::byte stage[kMost + 3 * kLine * (RecordVectors::kMaxFields + 1)];
    for (std::int64_t done = 0; done < slab.count;) {
        const std::int64_t left = slab.count - done;
        const std::int64_t now = left < most + block ? left : most;
        std::byte* staged[RecordVectors::kMaxFields];
        std::byte* free = stage;
        for (std::size_t k = 0; k < fields_.size(); ++k) {
            staged[k] = free + into_line(to[k]);
            free += 3 * kLine + now * fields_[k].width;  // and room for what a vector writes behind it
            free -= into_line(free);
        }
        move(from + done * pitch_, staged, now, done, kLine);
        for (std::size_t k = 0; k < fields_.size(); ++k) {
            const std::int64_t bytes = now * fields_[k].width;
            kernels_->stream(staged[k], to[k], bytes);
            to[k] += bytes;
        }
        done += now;
    }
}

void Records::weave_slab(const Slab& slab) const noexcept {
    const std::int64_t width = fields_[0].width;
    const std::int64_t block = woven_fields_.vector_bytes() / width;
    const KernelStores stores{.prefetch = prefetch_, .claim = claims_};
    // One row: what is asked for ahead are the records, or elements, of later ones.
    const auto weave = [&](const std::byte* const* from, std::byte* const* to, std::int64_t count) {
        woven_fields_.run(*kernels_, from, to, count * width, {1, count * (split_ ? pitch_ : width), 0}, stores);
    };
    if (split_) {
        split_pieces(slab, kDealtRun / width, block,
                     [&](const std::byte* from, std::byte* const* to, std::int64_t count, std::int64_t, std::int64_t) {
                         weave(&from, to, count);
                     });
    } else {
        join_pieces(slab, block, [&](const std::byte* const* from, std::byte* to, std::int64_t count, std::int64_t) {
            weave(from, &to, count);
        });
    }
}

void Records::join_vectors(const Slab& slab) const noexcept {
    const RecordVectors block = vectors_.block();
    const KernelStores stores{.prefetch = streams_, .claim = claims_};
    const std::int64_t readable = records_ - slab.begin;
    join_pieces(slab, block.records, [&](const std::byte* const* from, std::byte* to, std::int64_t count, std::int64_t done) {
        kernels_->join_vectors(block, from, to, count, readable - done, stores);
    });
}

void Records::split_vectors(const Slab& slab) const noexcept {
    const RecordVectors block = vectors_.block();
    const std::int64_t span = fields_.back().at + fields_.back().width - fields_[0].at;
    const std::int64_t readable = (records_ - slab.begin - 1) * pitch_ + span;
    split_pieces(slab, std::max(kLine, kVectorStageBytes / 2 / pitch_ / kLine * kLine), 1,
                 [&](const std::byte* from, std::byte* const* to, std::int64_t count, std::int64_t done, std::int64_t room) {
                     kernels_->split_vectors(block, from, to, count, readable - done * pitch_, room, {.prefetch = streams_});
                 });
}

void Records::split_slab(const Slab& slab) const noexcept {
    for (const Group& group : groups_) {
        if (group.method == Method::transpose) {
            transpose_to_fields(slab, group);
        } else if (group.method == Method::columns && slab.count >= kLeastColumn) {
            columns_to_fields(slab, group);
        } else {
            for (std::size_t k = group.first; k < group.first + group.count; ++k) strip_to_field(slab, fields_[k]);
        }
    }
}

void Records::transpose_to_fields(const Slab& slab, const Group& group) const noexcept {
    const Field& first = fields_[group.first];
    const std::int64_t width = first.width;
    const auto fields = static_cast<std::int64_t>(group.count);
    std::byte* base = slab.dsts[first.buffer] + first.offset;
    std::int64_t dst_rows[kMaxGroup];
    std::int64_t phases = into_line(base);
    for (std::size_t k = 0; k < group.count; ++k) {
        const Field& field = fields_[group.first + k];
        std::byte* to = slab.dsts[field.buffer] + field.offset;
        dst_rows[k] = distance(base, to);
        phases |= into_line(to);
    }
    const std::byte* src = slab.srcs[buffer_] + first.at;
    const std::size_t element = log2_of(width);
    const std::int64_t line_records = kLine / width;
    const std::int64_t panel = (streams_ ? kStreamedPanelBytes : kPanelBytes) / width;
    const std::int64_t end = slab.begin + slab.count;
    for (std::int64_t at = slab.begin; at < end; at += panel) {
        const std::int64_t count = std::min(panel, end - at);
        const std::byte* from = src + at * pitch_;
        std::byte* to = base + at * width;
        // Long runs of fields are prefetched along, of short ones the next panel's.
        const bool along = fields * width > 2 * kAheadBytes;
        const RowsAhead ahead{along ? from + kAheadBytes : from + panel * pitch_, rows_.data()};
        if (!streams_) {
            kernels_->transpose[element](from, rows_.data(), to, dst_rows, fields, count,
                                         {.prefetch = prefetch_, .claim = claims_}, ahead);
        } else if ((phases | at * width % kLine) == 0 && (count % line_records == 0 || at + count == records_)) {
            const std::int64_t whole = count - count % line_records;
            if (whole != 0) kernels_->transpose[element](from, rows_.data(), to, dst_rows, fields, whole, {true, true}, ahead);
            if (whole != count) {
                kernels_->transpose[element](from + whole * pitch_, rows_.data(), to + whole * width, dst_rows, fields,
                                             count - whole, KernelStores{}, ahead);
            }
        } else {
            const std::int64_t readable = std::min(records_ - at, count + line_records);
            kernels_->transpose_lines[element](from, rows_.data(), to, dst_rows, fields, readable, count, at == 0, {true, true},
                                               ahead);
        }
    }
}

// Their bytes are transposed as if each were a field; the columns of wider ones are woven again.
void Records::columns_to_fields(const Slab& slab, const Group& group) const noexcept {
    with_stage<Columns>([&](Columns& columns) { columns_by(columns, slab, group); });
}

void Records::columns_by(Columns& columns, const Slab& slab, const Group& group) const noexcept {
    const Field& first = fields_[group.first];
    const Field& last = fields_[group.first + group.count - 1];
    const std::int64_t count = last.at + last.width - first.at;  // of columns
    const std::int64_t most = kColumnBytes / count / kLine * kLine;
    const std::int64_t apart = most + 3 * kLine;  // room for a last part that is no panel of its own, and no power of two
    std::int64_t places[kMaxColumns];
    for (std::int64_t k = 0; k < count; ++k) places[k] = k * apart;
    for (std::int64_t done = 0; done < slab.count;) {
        const std::int64_t left = slab.count - done;
        const std::int64_t now = left < most + kLeastColumn ? left : most;
        const std::byte* from = slab.srcs[buffer_] + first.at + (slab.begin + done) * pitch_;
        for (std::int64_t at = 0; at < now; at += kMaxPanelRows) {
            const std::int64_t rows = std::min(kMaxPanelRows, now - at);
            kernels_->transpose[0](from + at * pitch_, rows_.data(), columns.bytes + at, places, count, rows,
                                   {.prefetch = prefetch_}, {from + (at + rows) * pitch_, rows_.data()});
        }
        for (std::size_t k = group.first; k < group.first + group.count; ++k) {
            const Field& field = fields_[k];
            const std::byte* made = columns.bytes + (field.at - first.at) * apart;
            std::byte* to = slab.dsts[field.buffer] + field.offset + (slab.begin + done) * field.width;
            if (field.width > 1) {
                const std::byte* bytes[kMaxColumnField];
                for (std::int64_t c = 0; c < field.width; ++c) bytes[c] = made + c * apart;
                std::byte* joined = streams_ ? columns.field + into_line(to) : to;
                kernels_->join_vectors(woven(field.width).block(), bytes, joined, now, apart, {});
                made = joined;
            }
            if (streams_) {
                kernels_->stream(made, to, now * field.width);
            } else if (field.width == 1) {
                std::memcpy(to, made, static_cast<std::size_t>(now));
            }
        }
        done += now;
    }
}

void Records::strip_to_field(const Slab& slab, const Field& field) const noexcept {
    const std::int64_t width = field.width;
    const std::byte* records = slab.srcs[buffer_] + slab.begin * pitch_;
    const std::byte* from = records + field.at;
    std::byte* to = slab.dsts[field.buffer] + field.offset + slab.begin * width;
    // While a slab is dealt out, the next one is asked for from its begin to its end.
    const std::byte* ahead = records + fields_[0].at + slab.count * (pitch_ + field.at - fields_[0].at);
    if (prefetch_) prefetch_lines(ahead, slab.count * width);
    if (!streams_) return kernels_->copy_strips(from, to, width, {slab.count, pitch_, width}, kWideRow, {});
    if (width % kLine == 0 && into_line(to) == 0) {
        return kernels_->copy_strips(from, to, width, {slab.count, pitch_, width}, width, KernelStores{true, false});
    }
    if (width >= kLeastStreamedRun) {
        return kernels_->copy_rows(from, to, width, {slab.count, pitch_, width}, KernelStores{true, false});
    }
    LineStage<kFieldFlushBytes + kLeastStreamedRun> stage(*kernels_);
    const std::int64_t most = std::max<std::int64_t>(1, kFieldFlushBytes / width);
    for (std::int64_t done = 0; done < slab.count; done += most) {
        const std::int64_t count = std::min(most, slab.count - done);
        kernels_->copy_strips(from + done * pitch_, stage.place(to + done * width), width, {count, pitch_, width}, kWideRow,
                              {});
        stage.add(count * width);
        if (done + count == slab.count) break;
        stage.send_lines(
            [&](const std::byte* made, std::byte* lines, std::int64_t bytes) { kernels_->stream(made, lines, bytes); });
    }
    stage.finish();
}

// `to` is where the slab's first record is made; done(k) is called after the field before the k-th.
template <class Done>
void Records::join_slab(const Slab& slab, std::byte* to, Done done) const noexcept {
    for (const Group& group : groups_) {
        if (group.method == Method::transpose) {
            transpose_to_records(slab, group, to + (fields_[group.first].at - fields_[0].at));
            done(group.first + group.count);
            continue;
        }
        for (std::size_t k = group.first; k < group.first + group.count; ++k) {
            strip_to_records(slab, fields_[k], to + (fields_[k].at - fields_[0].at));
            done(k + 1);
        }
    }
}

// Slabs are made in two stages in turn. While one is made, the other is streamed piece by piece: ordinary
// stores have to wait for the non-temporal ones before them, so neither should come in long bursts.
void Records::join_staged(const Slab& all) const noexcept {
    with_stage<Stages>([&](Stages& stages) { join_by(stages, all); });
}

void Records::join_by(Stages& stages, const Slab& all) const noexcept {
    std::byte* records = all.dsts[buffer_] + fields_[0].at;  // of the first record of all
    const std::byte* made = nullptr;  // what is not streamed yet
    std::byte* to = nullptr;
    std::int64_t left = 0;
    const auto stream = [&](std::int64_t bytes) {
        kernels_->stream(made, to, bytes);
        made += bytes;
        to += bytes;
        left -= bytes;
    };
    std::size_t turn = 0;
    for (std::int64_t done = 0; done < all.count; done += slab_) {
        const Slab slab{all.srcs, all.dsts, all.begin + done, std::min(slab_, all.count - done)};
        std::byte* place = records + slab.begin * pitch_;
        std::byte* stage = stages.bytes[turn] + into_line(place);
        const std::int64_t bytes = left;
        join_slab(slab, stage, [&](std::size_t fields) {
            const auto share = static_cast<std::int64_t>(bytes * static_cast<std::int64_t>(fields) /
                                                         static_cast<std::int64_t>(fields_.size()));
            std::int64_t now = share - (bytes - left);
            now -= into_line(to + now);  // as far as a line begins
            if (now > 0) stream(now);
        });
        if (left != 0) stream(left);
        made = stage;
        to = place;
        left = slab.count * pitch_;
        turn = 1 - turn;
    }
    if (left != 0) stream(left);
}

void Records::transpose_to_records(const Slab& slab, const Group& group, std::byte* to) const noexcept {
    const Field& first = fields_[group.first];
    const std::byte* base = slab.srcs[first.buffer] + first.offset;
    std::int64_t src_rows[kMaxGroup];
    for (std::size_t k = 0; k < group.count; ++k) {
        const Field& field = fields_[group.first + k];
        src_rows[k] = distance(base, slab.srcs[field.buffer] + field.offset);
    }
    for (std::int64_t done = 0; done < slab.count; done += kMaxPanelRows) {
        const std::byte* from = base + (slab.begin + done) * first.width;
        kernels_->transpose[log2_of(first.width)](
            from, src_rows, to + done * pitch_, rows_.data(), std::min(kMaxPanelRows, slab.count - done),
            static_cast<std::int64_t>(group.count), {.prefetch = prefetch_, .own_rows = true, .claim = claims_},
            {from + 2 * kAheadBytes, src_rows});
    }
}

void Records::strip_to_records(const Slab& slab, const Field& field, std::byte* to) const noexcept {
    const std::byte* from = slab.srcs[field.buffer] + field.offset + slab.begin * field.width;
    if (prefetch_) prefetch_lines(from + slab.count * field.width, slab.count * field.width);
    // What a row writes behind itself belongs to later fields of its record.
    kernels_->copy_strips(from, to, field.width, {slab.count, field.width, pitch_}, fields_[0].at + pitch_ - field.at, {});
}

}  // namespace dnnmove
