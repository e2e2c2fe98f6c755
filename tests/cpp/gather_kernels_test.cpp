// The gather kernel of the best instruction set alone: blocks and rows of every element size, in windows shared
// by many vectors and in others, against byte-by-byte copies; bytes around the destination stay.
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "kernel_checks.hpp"
#include "plan/gather_table.hpp"

namespace {

using namespace testing;

class GatherChecks : public KernelChecks {
protected:
    // Blocks of `lanes` channels at `steps` positions each time, at 37 positions.
    void gather(const std::byte* src, Room& room, std::int64_t itemsize, std::int64_t lanes, std::int64_t channels,
                std::int64_t groups, std::int64_t steps, KernelStores stores) {
        constexpr std::int64_t kPositions = 37;
        const std::int64_t size = channels / groups;
        const std::int64_t blocks = (channels + lanes - 1) / lanes;
        const std::int64_t position = lanes * itemsize;
        if (blocks * position * kPositions > kRoom / 2) return;
        const auto offset = [&](std::int64_t channel) {
            return channel / lanes * kPositions * position + channel % lanes * itemsize;
        };
        dnnmove::GatherRuns runs{steps * position, {}};
        std::vector<std::int64_t> sources;
        for (std::int64_t block = 0; block < blocks; ++block) {
            runs.offsets.push_back(block * kPositions * position);
            for (std::int64_t step = 0; step < steps; ++step) {
                for (std::int64_t to = block * lanes; to < (block + 1) * lanes; ++to) {
                    sources.push_back(to < channels ? offset(to % groups * size + to / groups) + step * position
                                                    : dnnmove::kNoSource);
                }
            }
        }
        auto table = dnnmove::build_gather(sources, itemsize, runs, kernels_);
        if (!table) return;
        ++gathered_;
        table->loop_steps = static_cast<std::int32_t>(steps);
        kernels_.gather(table->block(), src, room.dst(), {kPositions, position, position}, {1, 0, 0}, stores);
        for (std::int64_t to = 0; to < blocks * lanes; ++to) {
            for (std::int64_t p = 0; p < kPositions; ++p) {
                if (to < channels) {
                    put(room, offset(to) + p * position, src + offset(to % groups * size + to / groups) + p * position,
                        itemsize);
                } else {
                    std::memset(room.expected() + offset(to) + p * position, 0, static_cast<std::size_t>(itemsize));
                }
            }
        }
    }

    // Blocks of so many steps of streams of `extent` elements.
    std::optional<dnnmove::GatherTable> interleaving(std::int64_t itemsize, std::int64_t streams, std::int64_t steps,
                                                     std::int64_t extent) const {
        std::vector<std::int64_t> sources;
        for (std::int64_t step = 0; step < steps; ++step) {
            for (std::int64_t stream = 0; stream < streams; ++stream) sources.push_back((stream * extent + step) * itemsize);
        }
        auto table = dnnmove::build_gather(sources, itemsize, {steps * streams * itemsize}, kernels_);
        if (table) table->loop_steps = static_cast<std::int32_t>(steps);
        return table;
    }

    void put_interleaved(Room& room, std::int64_t at, const std::byte* src, std::int64_t itemsize, std::int64_t streams,
                         std::int64_t extent) {
        for (std::int64_t k = 0; k < streams * extent; ++k) {
            put(room, at + k * itemsize, src + (k % streams * extent + k / streams) * itemsize, itemsize);
        }
    }

    void gather_rows(const std::byte* src, Room& room, std::int64_t itemsize, std::int64_t streams, std::int64_t steps,
                     std::int64_t extent, bool listed, KernelStores stores) {
        const std::int64_t row = streams * extent * itemsize;
        const std::int64_t block = steps * streams * itemsize;
        // More than move together where rows have few blocks.
        const std::int64_t rows = extent >= 3 * steps ? 9 : block == kernels_.gather_bytes ? 70 : 21;
        if (row * rows > kRoom / 2) return;
        if (stores.nontemporal && (block % kernels_.gather_bytes != 0 || block > dnnmove::kMaxStreamedBlock)) return;
        auto table = interleaving(itemsize, streams, steps, extent);
        if (!table) return;
        ++gathered_;
        std::vector<std::int64_t> src_rows;
        for (std::int64_t j = 0; j < rows; ++j) src_rows.push_back((listed ? j * 11 % rows : j) * row);
        const KernelLoop a{extent, itemsize, streams * itemsize};
        kernels_.gather(table->block(), src, room.dst(), a, {rows, row, row, listed ? src_rows.data() : nullptr}, stores);
        for (std::int64_t j = 0; j < rows; ++j) {
            put_interleaved(room, j * row, src + src_rows[static_cast<std::size_t>(j)], itemsize, streams, extent);
        }
    }

    // Rows as above, three by three: those of the last three first.
    void gather_runs(const std::byte* src, Room& room, std::int64_t itemsize, std::int64_t streams, std::int64_t steps,
                     std::int64_t extent) {
        constexpr std::int64_t kRuns = 3, kAcross = 3;
        const std::int64_t row = streams * extent * itemsize;
        if (row * kRuns * kAcross > kRoom / 2) return;
        auto table = interleaving(itemsize, streams, steps, extent);
        if (!table || table->vector_bytes < kernels_.gather_bytes || table->window_bytes < kernels_.gather_bytes) return;
        ++gathered_;
        std::vector<dnnmove::RunPlace> runs;
        for (std::int64_t k = 0; k < kRuns; ++k) runs.push_back({(kRuns - 1 - k) * kAcross * row, k * kAcross * row});
        const KernelLoop a{extent, itemsize, streams * itemsize};
        kernels_.gather_runs(table->block(), src, room.dst(), a, {kAcross, row, row}, runs.data(), kRuns);
        for (std::int64_t j = 0; j < kRuns * kAcross; ++j) {
            const std::int64_t from = (kRuns - 1 - j / kAcross) * kAcross + j % kAcross;
            put_interleaved(room, j * row, src + from * row, itemsize, streams, extent);
        }
    }

    int gathered_ = 0;  // how often there was a table
};

}  // namespace

// Shuffles of `channels` in `groups` over blocks of `lanes`: windows shared by many vectors, networks, and
// channels that do not exist.
TEST_CASE_FIXTURE(GatherChecks, "channels of blocks are gathered and padding is zero") {
    for (const std::int64_t itemsize : {1, 2, 3, 4, 8}) {
        for (const std::int64_t lanes : {4, 8, 16}) {
            for (const auto& shuffle :
                 {std::pair{24, 2}, {40, 5}, {60, 4}, {56, 8}, {120, 8}, {72, 3}, {64, 16}, {96, 32}, {58, 2}}) {
                const std::int64_t channels = shuffle.first, groups = shuffle.second;
                for (const std::int64_t steps : {1, 2, 4, 8}) {
                    for (const KernelStores stores : cached_stores()) {
                        each_phase([&](const std::byte* src,
                                       Room& room) { gather(src, room, itemsize, lanes, channels, groups, steps, stores); },
                                   "gather", {itemsize, lanes, channels, groups, steps});
                    }
                }
            }
        }
    }
    CHECK(gathered_ > 0);
}

// Rows of streams interleaved by blocks of `steps`: windows that all vectors share and others, rows of one
// block, of few and of many, and a last block that overlaps.
TEST_CASE_FIXTURE(GatherChecks, "streams are interleaved by rows") {
    for (const std::int64_t itemsize : {1, 2, 3, 4}) {
        for (const std::int64_t streams : {1, 2, 3, 4, 5, 6, 7, 10}) {
            for (const std::int64_t steps : {16, 32, 64, 80}) {
                for (const std::int64_t extent : {steps, steps + 7, 2 * steps + 1, 3 * steps, 5 * steps + 1, 70 * steps + 3}) {
                    for (const bool listed : {false, true}) {
                        for (const KernelStores stores : all_stores()) {
                            each_phase(
                                [&](const std::byte* src, Room& room) {
                                    gather_rows(src, room, itemsize, streams, steps, extent, listed, stores);
                                },
                                "gather of rows", {itemsize, streams, steps, extent, listed});
                        }
                    }
                }
            }
        }
    }
    CHECK(gathered_ > 0);
}

// Runs of one block, of few and of more than all of them together are.
TEST_CASE_FIXTURE(GatherChecks, "runs are gathered wherever they lie") {
    for (const std::int64_t itemsize : {1, 2, 4}) {
        for (const std::int64_t streams : {1, 2, 3, 5, 7, 10}) {
            for (const std::int64_t steps : {4, 8, 16, 64}) {
                for (const std::int64_t extent : {steps, steps + 3, 2 * steps + 1, 3 * steps, 20 * steps + 1}) {
                    each_phase(
                        [&](const std::byte* src, Room& room) { gather_runs(src, room, itemsize, streams, steps, extent); },
                        "gather of runs", {itemsize, streams, steps, extent});
                }
            }
        }
    }
    CHECK(gathered_ > 0);
}
