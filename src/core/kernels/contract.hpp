// The contract between the planner and the kernels: what each kernel copies, and one table per ISA.
//
// All kernels: sources and destinations never share a byte; strides and offsets are in bytes, signed;
// nothing outside the described bytes is written, and nothing outside the described source bytes is
// read, except gaps between them. `nontemporal` stores bypass the caches; the caller fences.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/isa.hpp"

namespace dnnmove {

inline constexpr std::int64_t kLine = 64;  // bytes of a cache line

// One of two loops that a kernel runs itself.
struct KernelLoop {
    std::int64_t extent;      // steps in this call
    std::int64_t src_stride;  // bytes
    std::int64_t dst_stride;  // bytes
    const std::int64_t* src_rows = nullptr;  // b only: offsets of its steps, instead of src_stride

    std::int64_t src_at(std::int64_t step) const { return src_rows != nullptr ? src_rows[step] : step * src_stride; }
    // Where a later step reads, for prefetching; steps behind the last read where the last does.
    std::int64_t src_ahead(std::int64_t step) const {
        if (src_rows == nullptr) return step * src_stride;
        return src_rows[step < extent ? step : extent - 1];
    }
};

// Picks bytes: for every byte of a vector, which byte it comes from. Two-window kernels (vpermi2b): k
// below 64 is byte k of the first operand, 64 + k byte k of the second. One-window kernels, of
// which only the first 16 bytes count: a byte of 16, below 16, or nothing, 0x80.
struct alignas(64) GatherIndex {
    std::uint8_t byte[64];
};

// One step of a gather. With two-window kernels the first step of a vector picks bytes out of two
// windows, and each later one replaces bytes of the result by bytes of `second`. With one-window kernels
// a step adds bytes of `first`.
struct GatherStep {
    std::int32_t index;   // which of the block's indices
    std::int32_t first;   // offset of the first window from the block's source, in bytes
    std::int32_t second;  // offset of the second window
};

// One destination vector of a gather, made by `steps` consecutive steps.
struct GatherVector {
    std::int32_t dst;  // offset from the block's destination, in bytes
    std::int32_t steps;
    std::uint64_t keep = ~0ull;  // bit k: byte k is gathered; else it becomes zero. Two-window kernels only
};

// A block of the destination as a list of vectors, each gathered from a few source windows.
//
// With `network` = n > 0 every 2^n consecutive vectors x[s] are a group: the steps of entry m make not
// x[m] but its transpose, in which the vector's number and n bits of a byte's place have changed roles
// (see kernels/gather_network.hpp), so that each needs fewer windows.
struct GatherBlock {
    const GatherVector* vectors;
    const GatherStep* steps;     // of all vectors, one after the other
    const GatherIndex* indices;  // with a network, its own come first: two per round
    const std::int32_t* lines;   // offsets, one in every source line that the block reads
    std::int32_t count;          // of vectors
    std::int32_t line_count;
    std::int32_t vector_bytes;   // written per vector: less than a whole one only where count is 1
    std::int32_t window_bytes;   // readable per window: less than a whole one only for tiny sources
    std::int32_t loop_steps;     // steps of the block loop that one block covers
    std::int32_t even_steps;     // of every vector; 0 where they differ
    std::int32_t network;        // rounds: 0, 2 or 3
    std::int32_t shared_windows; // of which every vector is made, each of all; 0 where they differ
    bool many_steps;             // four and more per vector, or a network
    bool one_window;             // every vector has one step, of one window
    bool zeroes;                 // some vector does not keep all bytes
};

// Where a run lies: offsets from a source and a destination, in bytes.
struct RunPlace {
    std::int64_t src;
    std::int64_t dst;
};

// Of a block of two-window vectors so few, with so many steps in all, keep their permutes in registers.
inline constexpr int kMostGatherVectors = 8;
inline constexpr int kMostGatherTables = 24;  // of 32 registers

// May a block of so many vectors share so many windows? They and their tables lie in registers.
inline constexpr int kMostShared = 5;
constexpr bool shares_windows(std::int64_t vectors, std::int64_t windows) {
    return vectors <= kMostShared && windows <= kMostShared && vectors * (windows - 1) <= 20;
}

// Where a vector of an exchange lies in one block: `offset` bytes behind the cursor of a buffer.
struct ExchangeVector {
    std::int32_t buffer;
    std::int32_t offset;
    std::int32_t steps = 0;  // of a destination vector: how many consecutive steps make it
};

// One step of an exchange. Of vectors of a line: the first of a vector picks bytes out of two of the sources, each later
// one replaces bytes of the result by bytes of the second. Of vectors of 16 bytes: each picks bytes out of the first, and
// all that the steps of a vector pick makes it; an index from 128 on picks none.
struct alignas(64) ExchangeStep {
    std::uint8_t index[64];  // as a two-window GatherIndex's; of vectors of 16 bytes the first 16
    std::int32_t first;      // positions in the block's `sources`
    std::int32_t second;
};

// A block of records exchanged with the same block of their fields (AoS <-> SoA): every vector of the
// destination is picked out of a few vectors of the source. Every buffer moves on by a constant number
// of bytes per block.
struct ExchangeBlock {
    static constexpr std::int32_t kMaxVectors = 32;  // on a side
    static constexpr std::int32_t kMaxSteps = 11;    // of a vector
    // So few on a side are each made of all of the other's, which stay in registers: four lines, or eight vectors of 16 bytes,
    // whose 64 permutes are read from the first-level cache.
    static constexpr std::int32_t few_vectors(std::int64_t vector_bytes) { return vector_bytes == kLine ? 4 : 8; }
    // There are no more of lines.
    static constexpr std::int32_t most_vectors(std::int64_t vector_bytes) {
        return vector_bytes == kLine ? few_vectors(kLine) : kMaxVectors;
    }

    const ExchangeVector* sources;
    const ExchangeVector* destinations;
    const ExchangeStep* steps;  // of all destinations, one after the other
    const std::int64_t* src_moves;  // bytes per block, of every source buffer
    const std::int64_t* dst_moves;
    std::int32_t count;  // of the vectors on either side
    std::int64_t records;  // of a block: a power of two
};

// Bytes that a vector of records takes from one window of a field, or those that a field takes from records.
struct alignas(64) RecordPiece {
    static constexpr std::uint8_t kNone = 0x80;
    std::uint8_t index[64];  // of every byte of the vector: which byte of the window it is, kNone where another piece has it
    std::int32_t field;
    std::int32_t offset;  // of the window, from where the field has its part of the block
};

// A vector of a block of records: where it begins, and how many consecutive pieces make it.
struct RecordVector {
    std::int32_t offset;
    std::int32_t pieces;
};

// A block of short records, and where each vector of it, or each field's part, comes from. To join them: `vectors`, which cover
// the block and nothing else. To split them: of every field one piece, whose window are the two lines from the block's begin on;
// fields do not overlap, and no vectors are listed.
struct RecordVectors {
    static constexpr std::int32_t kMaxPieces = 16;  // of a vector
    static constexpr std::int32_t kMaxFields = 16;

    const RecordVector* vectors;
    const RecordPiece* pieces;  // of all vectors, one after the other
    const std::int64_t* widths;  // of the fields, in bytes
    std::int32_t fields;
    std::int32_t count;  // of vectors
    std::int64_t pitch;
    std::int64_t records;  // of a block
    std::int64_t piece_bytes;  // of the longest piece, rounded up to 16, 32 or 64: what is loaded, or stored
};

// A field of records: `width` bytes at `at` (from the base of the records' buffer) of every record, and
// contiguous from `offset` on in its own buffer.
struct RecordField {
    int buffer;
    std::int64_t offset;
    std::int64_t at;
    std::int64_t width;
};

// Consecutive records, `pitch` bytes apart, and their `count` fields.
struct RecordBlock {
    const RecordField* fields;
    std::int32_t count;
    std::int64_t pitch;
    std::int64_t begin;  // of the records
    std::int64_t end;
};

// Elements that follow each other in the destination, and where each comes from; copied for every run: from its `src` on to
// its `dst`.
struct ElementBlock {
    const std::int32_t* offsets;
    const RunPlace* runs;
    const std::int64_t* lines;  // offsets, about one in every source line that all runs read
    std::int32_t count;  // of elements
    std::int32_t run_count;
    std::int32_t line_count;  // 0: nothing is asked for
};

// Where a copy of elements reads next: step i asks for the block's lines from src + i * a.src_stride on, as long as there
// are `steps`, then from behind + i * a.src_stride on.
struct ElementsAhead {
    const std::byte* src;
    std::int64_t steps;
    const std::byte* behind;
};

// What vectors shorter than a line take of the source's rows at a time.
enum class SourceLines : std::uint8_t {
    parts,  // what a tile has of them
    whole,  // a line of each, before they come to rows that might drive it out of the cache
    copied,  // and lie side by side before a tile of more than kSmallSetLines rows takes them
};
// Lines of one set of a small first-level cache: the fewest that a processor has.
inline constexpr std::int64_t kSmallSetLines = 8;

// How a kernel stores: `cached` by ordinary stores; `nontemporal` past the caches; and whether it
// prefetches the source, for data beyond the caches. (16 bytes, which a call passes in registers.)
struct KernelStores {
    bool nontemporal = false;
    bool prefetch = false;
    // transpose: every row of the source is an array of its own. Else all of them are parts of one, and what lies between the
    // first and the last is readable.
    bool own_rows = false;
    // transpose, by ordinary stores or by way of a stage, vectors shorter than a line. By whole lines it writes so many rows more
    // at a time.
    SourceLines source_lines = SourceLines::parts;
    // By ordinary stores, where the kernel gains by it: asks for the destination's lines a little before it writes there. Stores
    // reach the cache one after the other, and each would wait for its line by itself. (By ordinary prefetches: those for writing
    // are no faster.)
    bool claim = false;
    // transpose_batch, vectors shorter than a line: each tile, at the same place of all matrices, is a loop of its own, so that where it
    // reads and writes is found once. Rows of the source are a lane of 16 bytes at least, those of the destination, too, or a power of two.
    bool by_tiles = false;
    // copy_rows, nontemporal: where not null, as many bytes as it copies are asked for from here on, a row's with each row,
    // and nothing further along the source; rows are whole lines.
    const std::byte* next = nullptr;
};

// Rows of the source that a transpose will read next.
struct RowsAhead {
    const std::byte* src;
    const std::int64_t* rows;
};

// Elements of `width` bytes (1 to 16), `cell` bytes (at least `width`, at most 16) apart. cell_permutes
// (plan/gather_table.hpp) makes the permutes.
struct Cells {
    std::int64_t width;
    std::int64_t cell;
    const GatherIndex* permutes = nullptr;
};

// Streams of elements of `width` bytes, a power of two, 16 at most. Their permutes: of lanes the first, which brings the elements
// of a stream together; of lines the two of a round, the first or second elements of both vectors to deal out, the lower or upper
// halves interleaved.
struct Weave {
    int width;
    int streams;  // 2 to kMostWoven
    bool deals;  // out to the streams
    const GatherIndex* permutes;
};
inline constexpr std::int64_t kWeaveLane = 16;  // bytes
inline constexpr int kMostWoven = 16;

// What cell_permutes makes: the bytes of cells that go into elements of a power of two bytes, and the bytes of
// those that go into whole elements again. By each lane of 16 bytes, with elements as large as cells; and by
// the whole vector, with elements of packed_element bytes, out of each two vectors of cells.
enum CellPermute { kWidenLanes, kSqueezeLanes, kPack, kSqueeze, kCellPermutes };

constexpr std::int64_t packed_element(std::int64_t width) {
    std::int64_t wide = 1;
    while (wide < width) wide *= 2;
    return wide;
}

// Where lists of indices of so many bytes, 4 or 8, have their kernels.
constexpr std::size_t index_width(std::int64_t bytes) { return bytes == 8 ? 1 : 0; }

// Of at least so many matrices, of at most so many vectors of less than a line, each tile may be a loop of its own. (Zen 4, by AVX2 and
// the portable kernels: matrices up to these 1.0 to 3 times as fast as one after the other; three of 1 to 4 KB 0.8 to 1.3; the portable
// kernels, of 800 to 1600 bytes, 0.75 to 0.85.)
inline constexpr std::int64_t kManyMatrices = 6;
inline constexpr std::int64_t kSmallMatrixVectors = 32;

struct Kernels {
    Isa isa;
    int vector_bytes;  // width of a tile's side
    int gather_bytes;  // width of a gather's vectors and windows
    int gather_windows;  // source windows per step: 1 or 2

    // Copies rows of `bytes` bytes each.
    void (*copy_rows)(const std::byte* src, std::byte* dst, std::int64_t bytes, const KernelLoop& rows,
                      KernelStores stores) noexcept;
    // Copies rows of `bytes` bytes each, in order, by vectors that may also write what follows a row, up to
    // `room` bytes from its start, where other rows come or what a caller writes later; never behind
    // the last row. Room for less than a row is none. Both strides are `bytes` at least. nontemporal: every row is whole lines.
    void (*copy_strips)(const std::byte* src, std::byte* dst, std::int64_t bytes, const KernelLoop& rows, std::int64_t room,
                        KernelStores stores) noexcept;
    // Copies a.extent x b.extent runs of 1 to 64 bytes each.
    void (*copy_runs)(const std::byte* src, std::byte* dst, std::int64_t bytes, const KernelLoop& a, const KernelLoop& b,
                      KernelStores stores) noexcept;
    // Is each of them an index of an axis of `length` places, from its end where it is negative? Indexed by index_width.
    bool (*are_indices[2])(const std::byte* indices, std::int64_t count, std::int64_t length) noexcept;
    // Offsets of indices of an axis of `length` places that lie `stride` bytes apart. What is no index
    // of it, as another thread may have made one since they were checked, gets the first place's. Indexed by index_width.
    void (*find_places[2])(const std::byte* indices, std::int64_t count, std::int64_t length, std::int64_t stride,
                           std::int64_t* offsets) noexcept;
    // Copies a block of elements, a.extent times. Indexed by log2 of an element's bytes, 1 to 16.
    void (*copy_elements[5])(const ElementBlock& block, const std::byte* src, std::byte* dst, const KernelLoop& a,
                             const ElementsAhead& ahead, KernelStores stores) noexcept;
    // The same copy as copy_runs, for runs that lie closer along b than along a in the source, and without gaps along a in
    // the destination: (a.extent * bytes + 128) * b.extent is at most kMaxTurnedBytes and b.extent at most 64.
    void (*turn_runs)(const std::byte* src, std::byte* dst, std::int64_t bytes, const KernelLoop& a, const KernelLoop& b,
                      KernelStores stores) noexcept;
    // Repeats one element of `bytes` (1 to kMaxFillBytes) bytes a.extent times, contiguously; b.extent such fills.
    void (*fill)(const std::byte* src, std::byte* dst, std::int64_t bytes, const KernelLoop& a, const KernelLoop& b,
                 KernelStores stores) noexcept;
    // The same for any number of bytes, one fill of `total` bytes: whole elements, a line at least. By string instructions.
    void (*repeat)(const std::byte* src, std::int64_t bytes, std::byte* dst, std::int64_t total) noexcept;
    // Transposes: dst[dst_rows[i] + j * width] = src[src_rows[j] + i * width], i in [0, rows_out),
    // j in [0, rows_in). Indexed by log2(width), width 1 to 16 bytes.
    // nontemporal: every dst + dst_rows[i] lies on a line (64 bytes); rows that fill no tile are stored ordinarily.
    // prefetch: while it loads from row j it asks for ahead.src + ahead.rows[j], the same columns.
    void (*transpose[5])(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                         std::int64_t rows_out, std::int64_t rows_in, KernelStores stores, RowsAhead ahead) noexcept;
    // Transposes small matrices, a.extent of them: dst[dst_rows[i] + j * width] = src[src_rows[j] + i * width], i in [0, columns),
    // j in [0, rows). Two elements at least make a row of the destination, and 4 bytes. Where these are less than 16 bytes and no
    // power of two, they and the matrices follow each other without gaps. By ordinary stores. While it reads it asks for what lies
    // `ahead` bytes further on; 0: for nothing. Indexed by log2(width), width 1 to 8 bytes.
    void (*transpose_batch[4])(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                               std::int64_t columns, std::int64_t rows, const KernelLoop& a, KernelStores stores,
                               std::int64_t ahead) noexcept;
    // As `transpose`, by way of a stage, with rows of any alignment and every line stored once. Of every row of the destination it
    // writes the lines that start in its first `owned` elements, so that neighbours share none, and
    // with `first` also what lies before the first line. rows_in >= owned + a line's worth of source
    // rows are readable, or the rows end with rows_in. At most kMaxPanelBytes / width rows_in. While it writes the rows of
    // some columns it asks for those of all rows ahead.
    void (*transpose_lines[5])(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                               std::int64_t rows_out, std::int64_t rows_in, std::int64_t owned, bool first, KernelStores stores,
                               RowsAhead ahead) noexcept;
    // The same for elements in cells: dst[dst_rows[i] + j * width] = src[src_rows[j] + i * cell]. Without
    // non-temporal stores it writes the first `owned` elements of every row. At most kMaxCellPanelBytes / width rows_in.
    void (*transpose_cells)(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                            std::int64_t rows_out, std::int64_t rows_in, std::int64_t owned, bool first, Cells cells,
                            KernelStores stores, RowsAhead ahead) noexcept;
    // As transpose_cells, for elements of 17 and more bytes: dst[dst_rows[i] + j * bytes] = src[src_rows[j] + i * bytes].
    // nontemporal: at most kMaxRowPanelBytes / bytes rows_in, and of elements of up to a line at most kMaxShortRows.
    void (*transpose_rows)(const std::byte* src, const std::int64_t* src_rows, std::byte* dst, const std::int64_t* dst_rows,
                           std::int64_t rows_out, std::int64_t rows_in, std::int64_t owned, bool first, std::int64_t bytes,
                           KernelStores stores, RowsAhead ahead) noexcept;
    bool packs_cells;  // it takes tiles of elements of packed_element bytes, whatever their cells
    // a.extent >= block.loop_steps steps of the block loop, b times; the last block of a row may repeat
    // part of the one before it. Non-temporal stores are used from the first step on that starts a line; blocks
    // of one-window kernels are whole vectors then, one after the other, of at most kMaxStreamedBlock bytes.
    void (*gather)(const GatherBlock& block, const std::byte* src, std::byte* dst, const KernelLoop& a, const KernelLoop& b,
                   KernelStores stores) noexcept;
    // The same at each of `count` runs, one at least, by ordinary stores: of blocks of whole vectors and whole windows, and of b
    // without a table of rows.
    void (*gather_runs)(const GatherBlock& block, const std::byte* src, std::byte* dst, const KernelLoop& a,
                        const KernelLoop& b, const RunPlace* runs, std::int64_t count) noexcept;
    // Interleaves the streams at `srcs` into records at dsts[0], or deals these out, from srcs[0] to `dsts`: `bytes` of each stream,
    // kWeaveLane at least, b.extent times. Elements are shorter than kWeaveLane; nothing is streamed.
    void (*weave)(const Weave& weave, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t bytes,
                  const KernelLoop& b, KernelStores stores) noexcept;
    // The same for 2, 4, 8 or 16 streams of a line at least. Null where no bytes of two vectors are picked at once.
    void (*weave_lines)(const Weave& weave, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t bytes,
                        const KernelLoop& b, KernelStores stores) noexcept;
    // `records` records, at least a block's, between the buffers at `srcs` and those at `dsts`; the last block may repeat part of
    // the one before it. Its vectors are of exchange_bytes: a line, or 16 bytes.
    // nontemporal: only of lines, every vector of the destination's whole blocks lies on one. prefetch: every source so many
    // bytes ahead.
    void (*exchange)(const ExchangeBlock& block, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t records,
                     KernelStores stores) noexcept;
    std::int64_t exchange_bytes;
    // Deals records out to their fields, by non-temporal stores, or makes records of fields without gaps between them,
    // storing every line of the destination once; at most kMaxRecordFields. Null where a vector is no line.
    void (*split_records)(const RecordBlock& block, const std::byte* src, std::byte* const* dsts) noexcept;
    void (*join_records)(const RecordBlock& block, const std::byte* const* srcs, std::byte* dst, KernelStores stores) noexcept;
    // Makes `records` records, a block's at least, of their fields, whose first ones lie at `srcs`: by ordinary stores. `readable`
    // records, those at least, have their fields there. prefetch: asks for the fields of the records behind them.
    void (*join_vectors)(const RecordVectors& block, const std::byte* const* srcs, std::byte* dst, std::int64_t records,
                         std::int64_t readable, KernelStores stores) noexcept;
    // Deals `records` records out to their fields. `readable` bytes may be read from `src` on, and `room` bytes be written behind
    // every field's last one. Null where no bytes of two vectors are picked at once.
    void (*split_vectors)(const RecordVectors& block, const std::byte* src, std::byte* const* dsts, std::int64_t records,
                          std::int64_t readable, std::int64_t room, KernelStores stores) noexcept;
    std::int64_t record_bytes;  // of the vectors of records
    std::int64_t piece_bytes;  // of the longest window
    // Copies `bytes` contiguous bytes with non-temporal stores; partial lines at the ends with ordinary ones.
    void (*stream)(const std::byte* src, std::byte* dst, std::int64_t bytes) noexcept;
    // Orders the non-temporal stores of this thread before its later stores.
    void (*fence)() noexcept;
};

// The types of numbers that are converted into each other.
enum class Number { u8, s8, s32, f32, bf16, f16 };
inline constexpr std::size_t kNumbers = 6;

constexpr std::size_t bytes_of(Number number) {
    constexpr std::size_t kBytes[kNumbers] = {1, 1, 4, 4, 2, 2};
    return kBytes[static_cast<std::size_t>(number)];
}

// What numbers are multiplied by, and what is added then: of element k, scale[k * step] and shift[k * step].
struct ScaleShift {
    const float* scale;
    const float* shift;
    std::int64_t step;  // 0 or 1
};

// What sinks (plan/sink.hpp) do with runs of elements.
struct Conversions {
    // Converts `count` consecutive numbers, [from][to]. With `with`: to float, to nearest even; times scale, plus shift,
    // one rounding each; then to the other type. Without: one rounding. To nearest even, integers saturate, and
    // what is no number becomes 0 there. Every table gives the same bits. Numbers may lie at any address.
    void (*convert[kNumbers][kNumbers])(const std::byte* src, std::byte* dst, std::int64_t count, const ScaleShift* with,
                                        bool nontemporal) noexcept;
    // Turns round the bytes of each of `count` consecutive words of `bytes` (2, 4, 8 or 16) bytes. `dst` may be `src`.
    void (*swap_words)(const std::byte* src, std::byte* dst, std::int64_t count, std::int64_t bytes, bool nontemporal) noexcept;
};

inline constexpr std::int64_t kMaxPanelBytes = 512;
inline constexpr std::int64_t kMaxStreamedBlock = 2048;  // of a gather
// A row or a run of so many of a gather's blocks keeps the permutes of several vectors of 16 bytes long enough; of fewer one vector
// of all is moved, then the next. (Zen 5: 3 and 8 blocks of 17 to 22 vectors went at 0.75 to 0.9 of their speed down 9 to 24 runs.)
inline constexpr std::int64_t kManyBlocks = 3;
inline constexpr std::int64_t kMaxCellPanelBytes = 384;
inline constexpr std::int64_t kMaxRowPanelBytes = 12 * 1024;
inline constexpr std::int64_t kMaxShortRows = 32;
inline constexpr std::int32_t kMaxRecordFields = 128;
inline constexpr std::int64_t kMaxFillBytes = 2048;
inline constexpr std::int64_t kMaxTurnedBytes = 16 * 1024;

// The table of one available ISA (runtime/isa.hpp).
const Kernels& kernels_for(Isa isa);
const Conversions& conversions_for(Isa isa);

}  // namespace dnnmove
