// Batch transpose: many small matrices, transposed by one kernel call.
//
// Rows are loops innermost in the destination, columns those innermost in the source; the batch is the loop that goes on behind
// a matrix in the destination, or the innermost one that is left.
#include <cmath>

#include "plan/chains.hpp"
#include "plan/costs.hpp"
#include "plan/lines.hpp"
#include "plan/row_strategy.hpp"
#include "plan/strategies.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kLane = 16;  // bytes
constexpr std::int64_t kMaxElement = 8;  // bytes
constexpr std::int64_t kLeastRowBytes = 4;  // of the destination
constexpr std::int64_t kMostRowBytes = 256;  // of the destination: longer rows are as well transposed by whole vectors
constexpr std::int64_t kShortPieceBytes = 256;  // of the source: shorter ones take one loop more
// Of a unit that is staged: larger ones leave the first-level cache no room. (Zen 4, AVX2, 53248 matrices of 6 rows of 61
// elements of 2 bytes: 1.8 ms, 2.4 by units of 4 KB, 3.1 by units of 16 KB, 2.7 by single matrices.)
constexpr std::int64_t kFarUnitBytes = 2048;
// More per byte there: others read longer pieces. (Zen 4, AVX2, 8 rows of 211 to 453 times 24 elements of 2 bytes, 20 to 40 MB:
// 0.87 of what tiles reach.)
constexpr double kFarByte = 0.05;  // cycles
constexpr std::int64_t kLongPieceBytes = 512;
// (Zen 4, AVX2, two threads, 14 MB: 40 rows 352 KB from each other at 0.55 of what tiles reach, though both ask for them.)
constexpr std::int64_t kMostStreams = 24;
constexpr std::int64_t kFarRows = 4096;  // bytes
// A piece of each row is read at a time, of lines that a set of a small first-level cache keeps until the next piece is read if
// there are no more than it has ways. (Zen 4, the portable kernels, 24 permutations of 70 KB to 4 MB whose axes are powers of two, left to others
// than this: elements of 4 and 8 bytes 1.6 times as fast by one thread, 1.5 by two; AVX2, of 8 bytes, 1.1 to 2.5. Of 2 bytes 0.5 to
// 1.5.)
constexpr std::int64_t kLeastLostElement = 4;  // bytes

static_assert(2 * kMostRowBytes * (2 * kLane) <= kUnitBytes && kUnitBytes <= kMaxUnitBytes);

// What the kernels read of a row at a time.
std::int64_t piece_bytes(const Kernels& kernels) { return kernels.vector_bytes > kLane ? 2 * kLane : kLane; }

struct BatchTranspose final : Strategy {
    using Strategy::Strategy;

    bool match(const Problem& problem);
    double cost(const Problem& problem) const override;
    Schedule schedule(const Problem& problem) override;
    // (What a walk over blocks would gain if asks_ahead() told of it has not been measured.)
    void run(const Call& call) const noexcept override {
        KernelStores stores = call.stores();
        stores.by_tiles = by_tiles;
        call.kernels.transpose_batch[log2_of(itemsize)](
            call.src(), src_rows.data(), call.dst, dst_rows.data(), b.steps(call.unit.b_tile), rows.length,
            {a.steps(call.unit.a_tile), a.src_stride, a.dst_stride}, stores, call.near ? 0 : call.next.src - call.unit.src);
    }
    StrategyWords describe() const override {
        return {"batch transpose", "matrices", "columns", std::to_string(rows.length) + " rows"};
    }
    std::size_t memory() const override {
        return Strategy::memory() + heap_bytes(rows.positions) + heap_bytes(columns.positions) + heap_bytes(dst_rows);
    }

private:
    // Bytes of a row of the destination.
    std::int64_t row() const { return rows.length * itemsize; }
    // Are rows of the source so many, and so far from each other, that the processor sees no streams in them?
    bool reads_far_rows(const std::vector<Loop>& loops) const {
        const std::int64_t pitch = std::abs(loops[rows.positions.front()].src_stride);
        return rows.length > kMostStreams && pitch >= kFarRows;
    }
    // Are lines of the source lost before all of their pieces are read?
    bool loses_lines(const Problem& problem) const {
        if (!problem.context.processor->small_first_level || problem.kernels().vector_bytes == kLine ||
            itemsize < kLeastLostElement || columns.length * itemsize <= piece_bytes(problem.kernels())) {
            return false;
        }
        std::int64_t at_one_place = 1;
        for (const std::size_t k : rows.positions) {
            if (problem.loops[k].src_stride % kPage == 0) at_one_place *= problem.loops[k].extent;
        }
        return at_one_place > kSmallSetLines;
    }
    bool goes_by_tiles(const Problem& problem) const;
    std::int64_t tile_rows() const;
    double cycles_by_tiles(const Kernels& kernels) const;
    double cycles_by_matrices(const Kernels& kernels) const;
    // May the kernel's stores reach into the next column?
    bool reaches_over() const { return row() < kLane && !power_of_two(row()); }

    Chain rows;
    Chain columns;
    bool by_tiles = false;  // each tile is a loop of its own over the matrices of a unit
    bool far = false;  // past the caches: units, which make one piece of the destination, collect in the stage
    bool dense = true;  // units follow each other in the destination
    std::vector<std::int64_t> dst_rows;  // of the columns of a tile
};

bool BatchTranspose::match(const Problem& problem) {
    const std::vector<Loop>& loops = problem.loops;
    if (problem.innermost != Problem::Innermost::elements || loops.size() < 2 || itemsize > kMaxElement ||
        !power_of_two(itemsize)) {
        return false;
    }
    const std::size_t inner = problem.source_loop(itemsize);
    std::size_t next = loops.size();
    while (next > 0 && next - 1 != inner && continues(loops[next - 1], row()) &&
           row() * loops[next - 1].extent <= kMostRowBytes) {
        rows.add(--next, loops);
    }
    if (inner >= next || rows.length < 2 || row() < kLeastRowBytes) return false;
    for (std::size_t k = inner; k < next && (columns.length == 1 || columns.length * itemsize < kShortPieceBytes);
         k = problem.source_loop(columns.length * itemsize)) {
        const bool follows = dense && continues(loops[k], row() * columns.length);
        if (reaches_over() && !follows) break;
        if (columns.length > 1 && row() * columns.length * loops[k].extent > kUnitBytes) break;
        dense = follows;
        columns.add(k, loops);
    }
    if (columns.length < 2 || (!problem.context.near && reads_far_rows(loops)) || loses_lines(problem)) return false;
    taken = rows.positions;
    taken.insert(taken.end(), columns.positions.begin(), columns.positions.end());
    const std::int64_t matrix = row() * columns.length;
    far = problem.context.far_beyond_cache;
    const std::int64_t unit = far ? kFarUnitBytes : kUnitBytes;
    b = {columns.length, columns.length, itemsize, loops[inner].dst_stride};
    a = {1, 1, 0, matrix};
    if (columns.positions.size() == 1 && matrix > kUnitBytes) {
        // A matrix is more than a unit; two tiles are not.
        constexpr std::int64_t kStep = 2 * kLane;
        b.tile = std::min(b.extent, steps_for(kUnitBytes / 2, row(), kStep / itemsize));
        b.merge_rest = true;
    } else {
        const auto goes_on = [&](std::size_t k) { return dense && continues(loops[k], matrix); };
        std::size_t of_batch = loops.size();
        for (std::size_t k = loops.size(); k-- > 0;) {
            if (takes(k) || loops[k].table || (reaches_over() && !goes_on(k))) continue;
            if (of_batch == loops.size() || goes_on(k)) of_batch = k;
        }
        if (of_batch < loops.size()) {
            dense = goes_on(of_batch);
            a = TiledLoop::covering(loops[of_batch]);
            a.tile = even_tile(a.extent, unit / matrix);
            taken.push_back(of_batch);
        }
    }
    unit_step = row();
    // Beyond the caches, what is written all over a destination leaves by runs.
    std::int64_t run = columns.length * itemsize;  // of the source, contiguous
    for (std::size_t k = problem.source_loop(run); k < loops.size() && takes(k); k = problem.source_loop(run)) {
        run *= loops[k].extent;
    }
    if (problem.context.large && !(dense && run >= kLongPieceBytes)) return false;
    by_tiles = goes_by_tiles(problem);
    return true;
}

double BatchTranspose::cost(const Problem& problem) const {
    const double cycles = by_tiles ? cycles_by_tiles(problem.kernels()) : cycles_by_matrices(problem.kernels());
    return costs_of(problem.kernels()).batch * cycles / static_cast<double>(row() * columns.length) +
           (far ? kStagedByte + kFarByte : scatter_cost(problem, false));
}

// Not where the lines of a tile's rows, in all matrices of a unit, are more than the sets that they share keep until the next tile reads
// on. (Zen 4, AVX2, 12 matrices of 2 rows 12 KB from each other: so 0.45 times as fast.)
bool BatchTranspose::goes_by_tiles(const Problem& problem) const {
    const Kernels& kernels = problem.kernels();
    if (kernels.vector_bytes >= kLine || row() * columns.length > kSmallMatrixVectors * kernels.vector_bytes ||
        a.tile < kManyMatrices || rows.length < tile_rows() || columns.length < kLane / itemsize) {
        return false;
    }
    // What lies without gaps is spread over all sets.
    std::int64_t reach = columns.length * itemsize;
    for (const std::size_t k : rows.positions) {
        reach += (problem.loops[k].extent - 1) * std::abs(problem.loops[k].src_stride);
    }
    if (reach == std::abs(a.src_stride)) return true;
    LinesInSets sets;
    std::int64_t most = 0;
    for (const std::int64_t offset : row_offsets(rows.positions, problem.loops, &Loop::src_stride)) {
        for (std::int64_t k = 0; k < a.tile; ++k) {
            most = std::max(most, sets.add(static_cast<std::uint64_t>(offset) + static_cast<std::uint64_t>(k * a.src_stride)));
        }
    }
    return most <= kSmallSetLines;
}

// Rows of the least tile that holds all, or of a lane.
std::int64_t BatchTranspose::tile_rows() const {
    std::int64_t tile_rows = kLane / itemsize;
    while (tile_rows / 2 >= rows.length) tile_rows /= 2;
    return tile_rows;
}

// Of a matrix: for each lane or longer vector that is loaded or stored.
double BatchTranspose::cycles_by_tiles(const Kernels& kernels) const {
    const std::int64_t lane = kLane / itemsize, vector = kernels.vector_bytes / itemsize;
    // Tiles along `length`, of which those that a vector is long, and others of `part`.
    const auto tiles = [&](std::int64_t length, std::int64_t part, bool longer) {
        std::int64_t whole = !longer || length < vector ? 0 : length / vector + (length % vector > part ? 1 : 0);
        const std::int64_t left = std::max<std::int64_t>(0, length - whole * vector);
        return std::pair(whole, (left + part - 1) / part);
    };
    const std::int64_t flat_rows = tile_rows();
    const auto [tall, flat] = tiles(rows.length, flat_rows, vector > lane && flat_rows == lane);
    const auto [wide, narrow] = tiles(columns.length, lane, true);
    constexpr double kLaneCycles = 0.9, kVectorCycles = 1.4;
    const std::int64_t lanes = (tall * vector + flat * flat_rows) * narrow + flat * (wide * vector + narrow * lane);
    const std::int64_t vectors = (tall * vector + flat * flat_rows) * wide + tall * (wide * vector + narrow * lane);
    return kLaneCycles * static_cast<double>(lanes) +
           (vector > lane ? kVectorCycles : kLaneCycles) * static_cast<double>(vectors);
}

double BatchTranspose::cycles_by_matrices(const Kernels& kernels) const {
    const auto wide = static_cast<double>(piece_bytes(kernels));
    const std::int64_t tile = tile_rows();
    const auto groups = static_cast<double>((rows.length + tile - 1) / tile);
    const auto count = static_cast<double>(columns.length);
    const double vectors = static_cast<double>(tile) * std::ceil(count * static_cast<double>(itemsize) / wide);
    const double rounds = std::countr_zero(static_cast<std::uint64_t>(tile));
    constexpr double kMatrixCycles = 8;
    return groups * (vectors * (0.5 + rounds / 2) + count) + kMatrixCycles;
}

Schedule BatchTranspose::schedule(const Problem& problem) {
    const std::vector<Loop>& loops = problem.loops;
    src_rows = row_offsets(rows.positions, loops, &Loop::src_stride);
    if (b.tile < b.extent) {
        const std::int64_t most = std::min(b.extent, 2 * b.tile);  // with the rest
        for (std::int64_t i = 0; i < most; ++i) dst_rows.push_back(i * b.dst_stride);
    } else {
        dst_rows = row_offsets(columns.positions, loops, &Loop::dst_stride);
    }
    return {far ? StoreMode::staged : StoreMode::cached, b.tiles() > 1 ? WalkOrder::a_outside : WalkOrder::b_outside};
}

}  // namespace

std::unique_ptr<Strategy> match_batch_transpose(const Problem& problem) { return matched<BatchTranspose>(problem); }

}  // namespace dnnmove
