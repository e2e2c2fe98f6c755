// Several transfers as one walk: records on one side, their fields in separate buffers on the other.
//
// Splitting an array along its last axes deals records out to their fields, concatenating makes records
// of them (AoS <-> SoA). Copied field by field, every line of the records would be touched once per
// field that it holds a part of; here a slab of records stays in the cache until all its fields are done.
//
//   records  a0 b0 b0 c0 a1 b1 b1 c1 a2 b2 b2 c2 ...      pitch 4
//   fields   a0 a1 a2 ...    b0 b0 b1 b1 b2 b2 ...    c0 c1 c2 ...
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/exchange_table.hpp"
#include "plan/problem.hpp"
#include "plan/record_vectors.hpp"
#include "plan/shares.hpp"
#include "plan/transfer.hpp"
#include "plan/weave_table.hpp"

namespace dnnmove {

// Transfers of several sources that Records may take together, as transfers of their own: joined to records, any number of them;
// split off, of a few sources only, since records of each are planned by themselves.
std::vector<Transfer> with_fields_apart(std::vector<Transfer> transfers);

class Records {
public:
    static constexpr std::int64_t kMaxPitch = 64 * 1024;  // bytes

    // Takes those of the canonical `transfers` of one source each, not yet `taken`, that one walk serves, and marks them.
    // Empty where there are none.
    static std::optional<Records> take(const std::vector<Transfer>& transfers, std::vector<bool>& taken,
                                       const PlanContext& context);

    // Slabs of records; each writes bytes that no other does, in any order.
    std::int64_t units() const { return units_; }
    Sharing sharing() const { return {.units = units_}; }
    // Must the thread that ran it fence its stores?
    bool streams() const { return streams_; }
    void run(const std::byte* const* srcs, std::byte* const* dsts, std::int64_t begin, std::int64_t end) const noexcept;
    // Bytes that the walk holds.
    std::size_t memory() const;
    // One line: direction, fields, slabs and how each group of fields moves.
    std::string describe() const;

    using Field = RecordField;
    // How consecutive fields move: all at once, as streams that are woven, by vectors of whole records, by an exchange or by whole
    // lines; equal ones as rows of a register transpose; narrow ones byte by byte, as columns, likewise; or one by one as strips
    // of bytes.
    enum class Method { weave, vectors, exchange, lines, transpose, columns, strips };
    struct Group {
        Method method;
        std::size_t first;
        std::size_t count;
    };

private:
    // Records [begin, begin + count) of one slab.
    struct Slab {
        const std::byte* const* srcs;
        std::byte* const* dsts;
        std::int64_t begin;
        std::int64_t count;
    };
    static constexpr std::size_t kMaxGroup = 256;  // fields
    static constexpr std::int64_t kStageBytes = 48 * 1024;  // of records, collected before they are streamed
    struct Stages {
        alignas(kLine) std::byte bytes[2][kStageBytes + 2 * kLine];
    };
    // Bytes of records, each place of a record in a column of its own, and what is made of some of them.
    static constexpr std::int64_t kColumnBytes = 32 * 1024;
    static constexpr std::int64_t kMaxColumns = 64;
    static constexpr std::int64_t kMaxColumnField = 4;  // bytes
    struct Columns {
        alignas(kLine) std::byte bytes[kColumnBytes + (kMaxColumns + 1) * 3 * kLine];
        alignas(kLine) std::byte field[kColumnBytes + 4 * kLine];
    };
    static constexpr std::int64_t kMaxPanelRows = 512;  // records in one transpose

    void plan(const PlanContext& context);
    void group_fields(const std::vector<std::int64_t>& widths);
    void group_columns();
    bool goes_on(const Group& columns, const Group& next) const;
    double cycles_of(const Group& group, double strip) const;
    double grouped_cycles() const;
    void choose_method(const std::vector<std::int64_t>& widths);
    void choose_slabs(const std::vector<std::int64_t>& widths);
    // Do all fields move at once, in blocks of some records? (Then the last slab has the rest, less than a slab, too.)
    bool by_blocks() const {
        const Method method = groups_[0].method;
        return method == Method::weave || method == Method::vectors || method == Method::exchange;
    }
    bool dense() const;  // no gaps within and between the records
    bool as_well_apart() const;  // what was planned is not faster than a copy of each field by itself
    void move_lines(const Slab& slab) const noexcept;
    void exchange_slab(const Slab& slab) const noexcept;
    template <class Move>
    void join_pieces(const Slab& slab, std::int64_t block, Move move) const noexcept;
    template <class Move>
    void split_pieces(const Slab& slab, std::int64_t most, std::int64_t block, Move move) const noexcept;
    void weave_slab(const Slab& slab) const noexcept;
    void join_vectors(const Slab& slab) const noexcept;
    void split_vectors(const Slab& slab) const noexcept;
    void split_slab(const Slab& slab) const noexcept;
    template <class Done>
    void join_slab(const Slab& slab, std::byte* to, Done done) const noexcept;
    void join_staged(const Slab& all) const noexcept;
    void join_by(Stages& stages, const Slab& all) const noexcept;
    void transpose_to_fields(const Slab& slab, const Group& group) const noexcept;
    void columns_to_fields(const Slab& slab, const Group& group) const noexcept;
    const RecordVectorTable& woven(std::int64_t width) const { return woven_[static_cast<std::size_t>(width - 2)]; }
    void columns_by(Columns& columns, const Slab& slab, const Group& group) const noexcept;
    void transpose_to_records(const Slab& slab, const Group& group, std::byte* to) const noexcept;
    void strip_to_field(const Slab& slab, const Field& field) const noexcept;
    void strip_to_records(const Slab& slab, const Field& field, std::byte* to) const noexcept;

    const Kernels* kernels_ = nullptr;
    bool split_ = true;
    bool streams_ = false;  // stores bypass the caches
    bool prefetch_ = false;  // the records exceed the caches nearby
    bool claims_ = false;  // see PlanContext
    bool stages_ = false;  // records are made in a stage and streamed
    int buffer_ = 0;  // of the records
    std::int64_t pitch_ = 0;  // bytes from record to record
    std::int64_t records_ = 0;
    std::int64_t slab_ = 1;  // records
    std::int64_t units_ = 1;
    std::vector<Field> fields_;  // in the order of the record
    std::vector<Group> groups_;
    ExchangeTable exchange_;
    WeaveTable woven_fields_;
    RecordVectorTable vectors_;
    std::vector<RecordVectorTable> woven_;  // how columns of bytes are joined to fields of 2 bytes, 3, ...
    std::vector<std::int64_t> rows_;  // offsets of a slab's records, for transposes
};

}  // namespace dnnmove
