// Kernels whose callers are checked against the contract: those of debug builds.
#include "kernels/checked.hpp"

#include <cstdio>
#include <cstdlib>

namespace dnnmove {
namespace {

void stop(const char* kernel, const char* expected) {
    std::fprintf(stderr, "dnnmove: a call of the kernel %s breaks its contract: %s\n", kernel, expected);
    std::abort();
}

bool on_line(const std::byte* address) { return (reinterpret_cast<std::uintptr_t>(address) & (kLine - 1)) == 0; }

bool whole_lines(std::int64_t bytes) { return bytes % kLine == 0; }

// The checks of one kernel's arguments.
class Check {
public:
    explicit Check(const char* kernel) : kernel_(kernel) {}
    const Check& that(bool holds, const char* expected) const {
        if (!holds) on_violation(kernel_, expected);
        return *this;
    }
    const Check& stores(KernelStores how) const { return that(!how.claim || !how.nontemporal, "claim: by ordinary stores"); }
    const Check& loops(const KernelLoop& one) const { return that(one.extent >= 0, "extents are not negative"); }
    const Check& rows_begin_lines(const std::byte* dst, const std::int64_t* dst_rows, std::int64_t rows) const {
        bool all = true;
        for (std::int64_t i = 0; i < rows; ++i) all = all && on_line(dst + dst_rows[i]);
        return that(all, "non-temporal: every row of the destination begins on a line");
    }
    const Check& ahead(const RowsAhead& ahead) const {
        return that(ahead.rows != nullptr, "rows to ask for are given, though they may be those that are read");
    }

private:
    const char* kernel_;
};

// One instance per instruction set.
template <int isa>
struct Checked {
    static inline Kernels inner;

    static void copy_rows(const std::byte* src, std::byte* dst, std::int64_t bytes, const KernelLoop& rows,
                          KernelStores stores) noexcept {
        const Check check("copy_rows");
        check.stores(stores);
        check.that(bytes >= 0, "rows are not negative").loops(rows);
        if (stores.next != nullptr) {
            check.that(stores.nontemporal, "what is asked for meanwhile: non-temporal stores")
                .that(whole_lines(bytes) && whole_lines(rows.dst_stride) && on_line(dst),
                      "what is asked for meanwhile: rows of the destination are whole lines");
        }
        inner.copy_rows(src, dst, bytes, rows, stores);
    }
    static void copy_strips(const std::byte* src, std::byte* dst, std::int64_t bytes, const KernelLoop& rows, std::int64_t room,
                            KernelStores stores) noexcept {
        const Check check("copy_strips");
        check.stores(stores);
        check.loops(rows);
        check.that(rows.extent < 2 || (rows.src_stride >= bytes && rows.dst_stride >= bytes), "rows do not overlap");
        if (stores.nontemporal) {
            check.that(whole_lines(bytes) && on_line(dst) && (rows.extent < 2 || whole_lines(rows.dst_stride)),
                       "non-temporal: every row is whole lines");
        }
        inner.copy_strips(src, dst, bytes, rows, room, stores);
    }
    static void copy_runs(const std::byte* src, std::byte* dst, std::int64_t bytes, const KernelLoop& a, const KernelLoop& b,
                          KernelStores stores) noexcept {
        Check("copy_runs").stores(stores).that(bytes >= 1 && bytes <= 64, "runs of 1 to 64 bytes").loops(a).loops(b);
        inner.copy_runs(src, dst, bytes, a, b, stores);
    }
    template <int log_width>
    static void copy_elements(const ElementBlock& block, const std::byte* src, std::byte* dst, const KernelLoop& a,
                              const ElementsAhead& ahead, KernelStores stores) noexcept {
        Check("copy_elements")
            .stores(stores)
            .that(block.count >= 1 && block.run_count >= (block.line_count == 0 ? 0 : 1), "blocks of an element at least")
            .that(block.line_count == 0 || ahead.steps >= a.extent || ahead.behind != nullptr, "what is asked for is given")
            .loops(a);
        inner.copy_elements[log_width](block, src, dst, a, ahead, stores);
    }
    template <int log_width>
    static void transpose_batch(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                const std::int64_t* dst_rows, std::int64_t columns, std::int64_t rows, const KernelLoop& a,
                                KernelStores stores, std::int64_t ahead) noexcept {
        const std::int64_t row = rows << log_width;
        bool dense = a.extent < 2 || a.dst_stride == columns * row;
        for (std::int64_t i = 0; i < columns; ++i) dense = dense && dst_rows[i] == i * row;
        Check("transpose_batch")
            .that(!stores.nontemporal, "ordinary stores")
            .stores(stores)
            .that(rows >= 2 && row >= 4, "rows of the destination are two elements and 4 bytes at least")
            .that(row >= 16 || (row & (row - 1)) == 0 || dense, "short rows of the destination follow each other")
            .that(!stores.by_tiles || (columns << log_width) >= 16, "tiles have the columns of a lane")
            .that(!stores.by_tiles || row >= 16 || (row & (row - 1)) == 0, "tiles have their rows")
            .loops(a);
        inner.transpose_batch[log_width](src, src_rows, dst, dst_rows, columns, rows, a, stores, ahead);
    }
    static void turn_runs(const std::byte* src, std::byte* dst, std::int64_t bytes, const KernelLoop& a, const KernelLoop& b,
                          KernelStores stores) noexcept {
        Check("turn_runs")
            .stores(stores)
            .that(bytes >= 1 && bytes <= 64, "runs of 1 to 64 bytes")
            .that((a.extent * bytes + 128) * b.extent <= kMaxTurnedBytes, "at most kMaxTurnedBytes")
            .that(b.extent <= 64, "at most 64 steps of b")
            .that(a.extent < 2 || a.dst_stride == bytes, "no gaps along a in the destination");
        inner.turn_runs(src, dst, bytes, a, b, stores);
    }
    static void fill(const std::byte* src, std::byte* dst, std::int64_t bytes, const KernelLoop& a, const KernelLoop& b,
                     KernelStores stores) noexcept {
        Check("fill")
            .stores(stores)
            .that(bytes >= 1 && bytes <= kMaxFillBytes, "elements of 1 to kMaxFillBytes bytes")
            .loops(a)
            .loops(b);
        inner.fill(src, dst, bytes, a, b, stores);
    }
    static void repeat(const std::byte* src, std::int64_t bytes, std::byte* dst, std::int64_t total) noexcept {
        Check("repeat").that(bytes >= 1 && total % bytes == 0, "whole elements").that(total >= kLine, "a line at least");
        inner.repeat(src, bytes, dst, total);
    }
    template <int log_width>
    static void transpose(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                          std::int64_t rows_out, std::int64_t rows_in, KernelStores stores, RowsAhead ahead) noexcept {
        const Check check("transpose");
        if (stores.nontemporal) check.rows_begin_lines(dst, dst_rows, rows_out);
        if (stores.prefetch || stores.nontemporal) check.ahead(ahead);
        check.stores(stores);
        inner.transpose[log_width](src, src_rows, dst, dst_rows, rows_out, rows_in, stores, ahead);
    }
    template <int log_width>
    static void transpose_lines(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                const std::int64_t* dst_rows, std::int64_t rows_out, std::int64_t rows_in, std::int64_t owned,
                                bool first, KernelStores stores, RowsAhead ahead) noexcept {
        Check("transpose_lines")
            .stores(stores)
            .that(rows_in << log_width <= kMaxPanelBytes, "at most kMaxPanelBytes of a row")
            .that(owned <= rows_in, "what is owned is there")
            .ahead(ahead);
        inner.transpose_lines[log_width](src, src_rows, dst, dst_rows, rows_out, rows_in, owned, first, stores, ahead);
    }
    static void transpose_cells(const std::byte* src, const std::int64_t* src_rows, std::byte* dst,
                                const std::int64_t* dst_rows, std::int64_t rows_out, std::int64_t rows_in, std::int64_t owned,
                                bool first, Cells cells, KernelStores stores, RowsAhead ahead) noexcept {
        const Check check("transpose_cells");
        check.stores(stores);
        check
            .that(cells.width >= 1 && cells.width <= cells.cell && cells.cell <= 16, "elements of 1 to 16 bytes in their cells")
            .that(cells.permutes != nullptr, "permutes")
            .that(rows_in * cells.width <= kMaxCellPanelBytes, "at most kMaxCellPanelBytes of a row")
            .that(owned <= rows_in, "what is owned is there");
        if (stores.prefetch) check.ahead(ahead);
        inner.transpose_cells(src, src_rows, dst, dst_rows, rows_out, rows_in, owned, first, cells, stores, ahead);
    }
    static void transpose_rows(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                               std::int64_t rows_out, std::int64_t rows_in, std::int64_t owned, bool first, std::int64_t bytes,
                               KernelStores stores, RowsAhead ahead) noexcept {
        const Check check("transpose_rows");
        check.stores(stores);
        check.that(bytes >= 17, "elements of 17 bytes and more").that(owned <= rows_in, "what is owned is there");
        if (stores.nontemporal) {
            check.that(rows_in * bytes <= kMaxRowPanelBytes, "non-temporal: at most kMaxRowPanelBytes of a row")
                .that(bytes > kLine || rows_in <= kMaxShortRows, "non-temporal: at most kMaxShortRows of up to a line");
        }
        if (stores.prefetch) check.ahead(ahead);
        inner.transpose_rows(src, src_rows, dst, dst_rows, rows_out, rows_in, owned, first, bytes, stores, ahead);
    }
    static void gather(const GatherBlock& block, const std::byte* src, std::byte* dst, const KernelLoop& a, const KernelLoop& b,
                       KernelStores stores) noexcept {
        Check("gather")
            .stores(stores)
            .that(a.extent >= block.loop_steps, "a row has a block's steps at least")
            .that(block.network == 0 || block.network == 2 || block.network == 3, "networks of 2 or 3 rounds")
            .that(block.count == 1 || block.vector_bytes == inner.gather_bytes, "several vectors are whole ones")
            .loops(b);
        if (stores.nontemporal && inner.gather_windows == 1) {
            const std::int64_t bytes = block.loop_steps * a.dst_stride;
            Check("gather")
                .that(bytes == block.count * static_cast<std::int64_t>(block.vector_bytes), "streamed blocks are whole vectors")
                .that(bytes <= kMaxStreamedBlock, "streamed blocks have kMaxStreamedBlock bytes at most");
            for (std::int32_t v = 0; v < block.count; ++v) {
                Check("gather").that(block.vectors[v].dst >= 0 && block.vectors[v].dst + block.vector_bytes <= bytes,
                                     "vectors of a streamed block lie in it");
            }
        }
        inner.gather(block, src, dst, a, b, stores);
    }
    static void gather_runs(const GatherBlock& block, const std::byte* src, std::byte* dst, const KernelLoop& a,
                            const KernelLoop& b, const RunPlace* runs, std::int64_t count) noexcept {
        Check("gather_runs")
            .that(a.extent >= block.loop_steps, "a run has a block's steps at least")
            .that(block.vector_bytes == inner.gather_bytes && block.window_bytes == inner.gather_bytes,
                  "whole vectors and windows")
            .that(b.src_rows == nullptr, "no table of rows")
            .that(count >= 1, "a run at least")
            .loops(b);
        inner.gather_runs(block, src, dst, a, b, runs, count);
    }
    static void weave(const Weave& weave, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t bytes,
                      const KernelLoop& b, KernelStores stores) noexcept {
        check_weave("weave", weave, bytes, kWeaveLane)
            .that(weave.width < kWeaveLane, "elements shorter than a lane")
            .that(!stores.nontemporal, "lanes are not streamed")
            .loops(b);
        inner.weave(weave, srcs, dsts, bytes, b, stores);
    }
    static void weave_lines(const Weave& weave, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t bytes,
                            const KernelLoop& b, KernelStores stores) noexcept {
        check_weave("weave_lines", weave, bytes, kLine)
            .stores(stores)
            .that((weave.streams & (weave.streams - 1)) == 0, "a power of two of them")
            .loops(b);
        inner.weave_lines(weave, srcs, dsts, bytes, b, stores);
    }
    static Check check_weave(const char* kernel, const Weave& weave, std::int64_t bytes, std::int64_t least) {
        return Check(kernel)
            .that(weave.streams >= 2 && weave.streams <= kMostWoven, "2 to kMostWoven streams")
            .that(weave.width <= kWeaveLane && (weave.width & (weave.width - 1)) == 0, "elements of a power of two bytes")
            .that(bytes >= least && bytes % weave.width == 0, "streams of a vector and more, whole elements")
            .that(weave.permutes != nullptr, "permutes");
    }
    static void exchange(const ExchangeBlock& block, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t records,
                         KernelStores stores) noexcept {
        Check("exchange")
            .stores(stores)
            .that(block.count >= 1 && block.count <= ExchangeBlock::most_vectors(inner.exchange_bytes),
                  "1 to most_vectors vectors")
            .that(records >= block.records, "the records of a block at least")
            .that(!stores.nontemporal || inner.exchange_bytes == kLine, "vectors that are no lines are not streamed");
        for (std::int32_t v = 0; v < block.count; ++v) {
            const std::int32_t steps = block.destinations[v].steps;
            Check("exchange").that(steps >= 1 && steps <= ExchangeBlock::kMaxSteps, "1 to kMaxSteps steps of a vector");
        }
        inner.exchange(block, srcs, dsts, records, stores);
    }
    static void split_records(const RecordBlock& block, const std::byte* src, std::byte* const* dsts) noexcept {
        Check("split_records").that(block.count >= 1 && block.count <= kMaxRecordFields, "1 to kMaxRecordFields fields");
        inner.split_records(block, src, dsts);
    }
    static void join_records(const RecordBlock& block, const std::byte* const* srcs, std::byte* dst,
                             KernelStores stores) noexcept {
        std::int64_t at = block.count > 0 ? block.fields[0].at : 0;
        const std::int64_t begin = at;
        bool dense = true;
        for (std::int32_t k = 0; k < block.count; ++k) {
            dense = dense && block.fields[k].at == at;
            at += block.fields[k].width;
        }
        Check("join_records")
            .stores(stores)
            .that(block.count >= 1 && block.count <= kMaxRecordFields, "1 to kMaxRecordFields fields")
            .that(dense && at - begin == block.pitch, "fields without gaps make a record");
        inner.join_records(block, srcs, dst, stores);
    }
    static void join_vectors(const RecordVectors& block, const std::byte* const* srcs, std::byte* dst, std::int64_t records,
                             std::int64_t readable, KernelStores stores) noexcept {
        const std::int64_t bytes = block.records * block.pitch;
        Check("join_vectors")
            .that(!stores.nontemporal, "by ordinary stores")
            .that(block.count >= 1 && records >= block.records, "the records of a block at least")
            .that(readable >= records, "the fields of the records are readable")
            .that(bytes >= inner.record_bytes, "a block is a vector at least");
        std::int64_t end = 0;
        for (std::int32_t v = 0; v < block.count; ++v) {
            const RecordVector& vector = block.vectors[v];
            Check("join_vectors")
                .that(vector.pieces >= 1 && vector.pieces <= RecordVectors::kMaxPieces, "1 to kMaxPieces pieces of a vector")
                .that(vector.offset >= 0 && vector.offset <= end, "vectors follow each other without gaps");
            end = vector.offset + inner.record_bytes;
        }
        Check("join_vectors").that(end == bytes, "vectors end with their block");
        inner.join_vectors(block, srcs, dst, records, readable, stores);
    }
    static void split_vectors(const RecordVectors& block, const std::byte* src, std::byte* const* dsts, std::int64_t records,
                              std::int64_t readable, std::int64_t room, KernelStores stores) noexcept {
        Check("split_vectors")
            .that(!stores.nontemporal, "by ordinary stores")
            .that(block.fields >= 1 && block.fields <= RecordVectors::kMaxFields, "1 to kMaxFields fields")
            .that(records >= 0 && readable >= 0 && room >= 0, "nothing is negative");
        for (std::int32_t f = 0; f < block.fields; ++f) {
            const RecordPiece& piece = block.pieces[f];
            bool within = true;
            for (std::int64_t k = 0; k < block.records * block.widths[f] && k < block.piece_bytes; ++k) {
                within = within && piece.index[k] < 2 * kLine;
            }
            Check("split_vectors")
                .that(piece.field == f && block.widths[f] >= 1, "of every field one piece")
                .that(block.records * block.widths[f] <= block.piece_bytes, "a field's part of a block is a piece at most")
                .that(within, "bytes of two lines");
        }
        inner.split_vectors(block, src, dsts, records, readable, room, stores);
    }
    static void stream(const std::byte* src, std::byte* dst, std::int64_t bytes) noexcept {
        Check("stream").that(bytes >= 0, "bytes are not negative");
        inner.stream(src, dst, bytes);
    }

    static Kernels table(const Kernels& kernels) {
        inner = kernels;
        Kernels all = kernels;
        const auto replace = [](auto& kernel, auto with) {
            if (kernel != nullptr) kernel = with;
        };
        replace(all.copy_rows, copy_rows);
        replace(all.copy_strips, copy_strips);
        replace(all.copy_runs, copy_runs);
        replace(all.turn_runs, turn_runs);
        replace(all.fill, fill);
        replace(all.repeat, repeat);
        const auto each_width = [&]<int... log_widths>() {
            (replace(all.transpose[log_widths], transpose<log_widths>), ...);
            (replace(all.transpose_lines[log_widths], transpose_lines<log_widths>), ...);
            (replace(all.copy_elements[log_widths], copy_elements<log_widths>), ...);
        };
        each_width.template operator()<0, 1, 2, 3, 4>();
        const auto each_batch_width = [&]<int... log_widths>() {
            (replace(all.transpose_batch[log_widths], transpose_batch<log_widths>), ...);
        };
        each_batch_width.template operator()<0, 1, 2, 3>();
        replace(all.transpose_cells, transpose_cells);
        replace(all.transpose_rows, transpose_rows);
        replace(all.gather, gather);
        replace(all.gather_runs, gather_runs);
        replace(all.weave, weave);
        replace(all.weave_lines, weave_lines);
        replace(all.exchange, exchange);
        replace(all.split_records, split_records);
        replace(all.join_records, join_records);
        replace(all.join_vectors, join_vectors);
        replace(all.split_vectors, split_vectors);
        replace(all.stream, stream);
        return all;
    }
};

template <int isa>
const Kernels& checked(const Kernels& kernels) {
    static const Kernels table = Checked<isa>::table(kernels);
    return table;
}

}  // namespace

OnViolation on_violation = stop;

const Kernels& checked_kernels(const Kernels& kernels) {
    switch (kernels.isa) {
        case Isa::avx512_vbmi: return checked<3>(kernels);
        case Isa::avx512: return checked<2>(kernels);
        case Isa::avx2: return checked<1>(kernels);
        default: return checked<0>(kernels);
    }
}

}  // namespace dnnmove
