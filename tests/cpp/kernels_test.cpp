// Every kernel of the best instruction set alone: every element size, sizes around whole vectors and
// lines, aligned and unaligned, against byte-by-byte copies; bytes around the destination stay.
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "kernels/contract.hpp"
#include "plan/exchange_table.hpp"
#include "plan/gather_table.hpp"

namespace {

using dnnmove::KernelLoop;
using dnnmove::Kernels;
using dnnmove::KernelStores;

constexpr std::int64_t kRoom = 1 << 17;
constexpr std::int64_t kMargin = 4096;

// A destination inside a guarded room, `phase` bytes into a line, and what it should hold.
class Room {
public:
    explicit Room(std::int64_t phase) : bytes_(kRoom, std::byte{0xAB}), expected_(bytes_) {
        const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
        start_ = kMargin + static_cast<std::int64_t>(-address & 63) + phase;
    }
    std::byte* dst() { return bytes_.data() + start_; }
    std::byte* expected() { return expected_.data() + start_; }
    bool same() const { return bytes_ == expected_; }

private:
    std::vector<std::byte> bytes_;
    std::vector<std::byte> expected_;
    std::int64_t start_;
};

class Checker {
public:
    Checker() : kernels_(dnnmove::kernels_for(dnnmove::best_isa())), source_(kRoom) {
        std::mt19937 random(1);
        for (std::byte& byte : source_) byte = static_cast<std::byte>(random());
    }

    void rows() {
        for (const std::int64_t bytes : sizes(700)) {
            for (const KernelStores stores : all_stores()) {
                each_phase([&](const std::byte* src, Room& room) {
                    const KernelLoop loop{3, bytes + 5, bytes + 9};
                    kernels_.copy_rows(src, room.dst(), bytes, loop, stores);
                    for (std::int64_t i = 0; i < 3; ++i) put(room, i * loop.dst_stride, src + i * loop.src_stride, bytes);
                }, "rows");
            }
        }
    }

    void runs() {
        for (std::int64_t bytes = 1; bytes <= 64; ++bytes) {
            each_phase([&](const std::byte* src, Room& room) {
                const KernelLoop a{5, bytes * 3, bytes + 1};
                const KernelLoop b{2, 7, 500};
                kernels_.copy_runs(src, room.dst(), bytes, a, b, {});
                for (std::int64_t j = 0; j < 2; ++j) {
                    for (std::int64_t i = 0; i < 5; ++i) {
                        put(room, j * 500 + i * a.dst_stride, src + j * 7 + i * a.src_stride, bytes);
                    }
                }
            }, "runs");
        }
    }

    void turned_runs() {
        for (std::int64_t bytes = 1; bytes <= 64; ++bytes) {
            for (const std::int64_t rows : {1, 5, 16, 64}) {
                for (const KernelStores stores : all_stores()) {
                    each_phase([&](const std::byte* src, Room& room) {
                        const KernelLoop a{rows, 900, bytes};
                        const KernelLoop b{3, bytes + (rows == 5 ? 2 : 0), rows * bytes + 70};
                        kernels_.turn_runs(src, room.dst(), bytes, a, b, stores);
                        for (std::int64_t j = 0; j < b.extent; ++j) {
                            for (std::int64_t i = 0; i < rows; ++i) {
                                put(room, j * b.dst_stride + i * bytes, src + j * b.src_stride + i * a.src_stride, bytes);
                            }
                        }
                    }, "turned runs");
                }
            }
        }
    }

    void fills() {
        for (std::int64_t bytes = 1; bytes <= 64; ++bytes) {
            for (const std::int64_t extent : {1, 2, 3, 5, 31, 64, 65, 130, 200}) fill(bytes, extent);
        }
        for (const std::int64_t bytes : {65, 72, 96, 100, 128, 192, 224, 320, 768, 833, 896, 960, 1000, 1024, 2047, 2048}) {
            for (const std::int64_t extent : {1, 3, 4, 9, 20}) fill(bytes, extent);
        }
    }

    void streams() {
        for (const std::int64_t bytes : sizes(700)) {
            each_phase([&](const std::byte* src, Room& room) {
                kernels_.stream(src, room.dst(), bytes);
                put(room, 0, src, bytes);
            }, "stream");
        }
    }

    void transposes() {
        for (int log2 = 0; log2 < 5; ++log2) {
            const std::int64_t width = std::int64_t{1} << log2;
            const std::int64_t side = kernels_.vector_bytes / width;
            for (const std::int64_t out : around(side)) {
                for (const std::int64_t in : around(side)) {
                    each_phase([&](const std::byte* src, Room& room) { transpose(src, room, log2, out, in, false); },
                               "transpose");
                    transpose_nontemporal(log2, out, in);
                }
            }
        }
    }

    void transposes_by_lines() {
        for (int log2 = 0; log2 < 5; ++log2) {
            const std::int64_t width = std::int64_t{1} << log2;
            const std::int64_t side = kernels_.vector_bytes / width;
            for (const std::int64_t out : {std::int64_t{1}, side - 1, side, side + 1}) {
                if (out == 0) continue;
                for (const std::int64_t in : {std::int64_t{1}, 128 / width, 200 / width, dnnmove::kMaxPanelBytes / width * 2 + 1}) {
                    each_phase([&](const std::byte* src, Room& room) { transpose(src, room, log2, out, std::max<std::int64_t>(1, in), true); },
                               "transpose_lines");
                }
            }
        }
    }

    void transposes_of_cells() {
        if (kernels_.transpose_cells == nullptr) return;
        for (std::int64_t width = 1; width <= 16; ++width) {
            for (const std::int64_t cell : {width, width + 1, 2 * width, std::int64_t{16}}) {
                if (cell > 16) continue;
                const std::int64_t columns = 16 / cell;
                for (const std::int64_t out : {std::int64_t{1}, columns, columns + 1, 4 * columns + 3, 8 * columns + 2}) {
                    for (const std::int64_t in : {1, 17, 65, 300}) {
                        for (const bool nontemporal : {false, true}) {
                            each_phase([&](const std::byte* src, Room& room) { transpose_cells(src, room, {width, cell}, out, in, nontemporal); },
                                       "transpose_cells");
                        }
                    }
                }
            }
        }
    }

    void strips() {
        for (const std::int64_t bytes : sizes(200)) {
            if (bytes == 0) continue;
            for (const std::int64_t more : {0, 7}) {
                each_phase([&](const std::byte* src, Room& room) {
                    constexpr std::int64_t kRows = 70;
                    // Dense rows may be written beyond their ends; rows with gaps are followed by what comes later.
                    const KernelLoop rows{kRows, bytes + 2 * more, bytes + more};
                    kernels_.copy_strips(src, room.dst(), bytes, rows, bytes + more, {});
                    for (std::int64_t i = 0; i < kRows; ++i) {
                        put(room, i * rows.dst_stride, src + i * rows.src_stride, bytes);
                        if (more == 0 || i + 1 == kRows) continue;
                        const std::int64_t gap = i * rows.dst_stride + bytes;
                        put(room, gap, room.dst() + gap, more);  // anything
                    }
                }, "strips");
                each_phase([&](const std::byte* src, Room& room) {
                    const KernelLoop rows{70, bytes + more, bytes};
                    kernels_.copy_strips(src, room.dst(), bytes, rows, 64, {});
                    for (std::int64_t i = 0; i < 70; ++i) put(room, i * bytes, src + i * rows.src_stride, bytes);
                }, "dense strips");
            }
        }
        for (const std::int64_t bytes : {64, 192}) {
            Room room(0);
            kernels_.copy_strips(source_.data() + 1, room.dst(), bytes, {9, bytes + 5, bytes + 64}, bytes, {true, false});
            for (std::int64_t i = 0; i < 9; ++i) put(room, i * (bytes + 64), source_.data() + 1 + i * (bytes + 5), bytes);
            count(room, "streamed strips");
        }
    }

    void exchanges() {
        if (kernels_.exchange == nullptr) return;
        for (const std::vector<std::int64_t>& widths :
             {std::vector<std::int64_t>{1, 1}, {1, 1, 1}, {4, 4, 4}, {1, 1, 1, 1}, {4, 8, 4}, {2, 3}, {8, 56}, {4, 4, 4, 20},
              {1, 7, 3}, std::vector<std::int64_t>(8, 2), std::vector<std::int64_t>(9, 4)}) {
            for (const bool split : {true, false}) {
                for (const KernelStores stores : all_stores()) {
                    for (const std::int64_t phase : {0, 1, 16}) {
                        if (!stores.nontemporal || phase == 0) exchange(widths, split, stores, phase);
                    }
                }
            }
        }
    }

    void records() {
        if (kernels_.split_records == nullptr) return;
        for (const std::vector<std::int64_t>& widths :
             {std::vector<std::int64_t>{1, 1}, {7, 9, 11}, {63, 64, 65}, {1, 200, 3, 64}, {192, 128}, {300, 1, 1, 1, 62},
              std::vector<std::int64_t>(static_cast<std::size_t>(dnnmove::kMaxRecordFields), 20)}) {
            for (const std::int64_t gap : {0, 9}) {
                for (const KernelStores stores : all_stores()) {
                    each_phase([&](const std::byte* src, Room& room) { split_records(widths, gap, src, room, stores); }, "split records");
                    if (gap != 0) continue;
                    each_phase([&](const std::byte* src, Room& room) { join_records(widths, src, room, stores); }, "join records");
                }
            }
        }
    }

    void weaves() {
        if (kernels_.weave == nullptr) return;
        for (int width = 1; width <= 16; width *= 2) {
            for (const bool deal : {false, true}) {
                const auto permutes = dnnmove::weave_permutes(width, deal);
                for (const int streams : {2, 4, 8, 16}) {
                    for (const std::int64_t steps : {64 / width, 64 / width + 1, 200 / width + 3, 1000 / width}) {
                        for (const KernelStores stores : all_stores()) {
                            each_phase([&](const std::byte* src, Room& room) {
                                const std::int64_t bytes = steps * width;
                                const std::int64_t pitch = stores.nontemporal ? (bytes + 127) / 64 * 64 : bytes + width;
                                kernels_.weave(src, room.dst(), width, streams, deal, permutes.data(), bytes, pitch, {1, 0, 0},
                                               stores);
                                for (std::int64_t k = 0; k < steps; ++k) {
                                    for (std::int64_t s = 0; s < streams; ++s) {
                                        const std::int64_t woven = (k * streams + s) * width;
                                        const std::int64_t apart = s * pitch + k * width;
                                        put(room, deal ? apart : woven, src + (deal ? woven : apart), width);
                                    }
                                }
                            }, "weave");
                        }
                    }
                }
            }
        }
    }

    // Shuffles of `channels` in `groups` over blocks of `lanes`: windows shared by many vectors, networks, and
    // channels that do not exist.
    void gathers() {
        if (kernels_.gather_bytes == 0) return;
        for (const std::int64_t itemsize : {1, 2, 3, 4, 8}) {
            for (const std::int64_t lanes : {4, 8, 16}) {
                for (const auto& [channels, groups] : {std::pair{24, 2}, {40, 5}, {60, 4}, {56, 8}, {120, 8}, {72, 3}, {64, 16}, {96, 32}, {58, 2}}) {
                    for (const std::int64_t steps : {1, 2, 4, 8}) {
                        for (const KernelStores stores : {KernelStores{false, false}, KernelStores{false, true}}) {
                            each_phase([&](const std::byte* src, Room& room) {
                                gather(src, room, itemsize, lanes, channels, groups, steps, stores);
                            }, "gather");
                        }
                    }
                }
            }
        }
    }

    // Rows of streams interleaved by blocks of `steps`: windows that all vectors share and others, rows of one
    // block, of few and of many, and a last block that overlaps.
    void gathers_of_rows() {
        if (kernels_.gather_bytes == 0) return;
        for (const std::int64_t itemsize : {1, 2, 3, 4}) {
            for (const std::int64_t streams : {1, 2, 3, 4, 5, 6, 7, 10}) {
                for (const std::int64_t steps : {16, 32, 64, 80}) {
                    for (const std::int64_t extent : {steps, steps + 7, 3 * steps, 5 * steps + 1}) {
                        for (const bool listed : {false, true}) {
                            for (const KernelStores stores : all_stores()) {
                                each_phase([&](const std::byte* src, Room& room) {
                                    gather_rows(src, room, itemsize, streams, steps, extent, listed, stores);
                                }, "gather of rows");
                            }
                        }
                    }
                }
            }
        }
    }

    int report() const {
        std::printf("%lld kernel calls, %lld wrong\n", static_cast<long long>(calls_), static_cast<long long>(wrong_));
        return wrong_ == 0 && calls_ > 0 ? 0 : 1;
    }

private:
    static std::vector<std::int64_t> sizes(std::int64_t most) {
        std::vector<std::int64_t> all;
        for (std::int64_t bytes = 1; bytes < 200; ++bytes) all.push_back(bytes);
        for (std::int64_t bytes = 200; bytes <= most; bytes += 13) all.push_back(bytes);
        return all;
    }
    static std::vector<std::int64_t> around(std::int64_t side) {
        std::vector<std::int64_t> all;
        for (const std::int64_t size : {std::int64_t{1}, side / 4, side / 4 + 1, side / 2, side / 2 + 1, side - 1, side,
                                        side + 1, side + side / 2, 2 * side, 2 * side + 3}) {
            if (size > 0) all.push_back(size);
        }
        return all;
    }
    static std::vector<KernelStores> all_stores() { return {{false, false}, {false, true}, {true, false}, {true, true}}; }

    static void put(Room& room, std::int64_t to, const std::byte* from, std::int64_t bytes) {
        std::memcpy(room.expected() + to, from, static_cast<std::size_t>(bytes));
    }

    void each_phase(const std::function<void(const std::byte*, Room&)>& call, const char* name) {
        for (const std::int64_t phase : {0, 1, 16, 63}) {
            Room& room = rooms_[static_cast<std::size_t>(phase % 5)];
            room = Room(phase);
            call(source_.data() + kMargin + phase / 3, room);
            count(room, name);
        }
    }
    void count(const Room& room, const char* name) {
        kernels_.fence();
        ++calls_;
        if (room.same()) return;
        ++wrong_;
        if (wrong_ < 20) std::printf("WRONG: %s, call %lld\n", name, static_cast<long long>(calls_));
    }

    void fill(std::int64_t bytes, std::int64_t extent) {
        for (const KernelStores stores : all_stores()) {
            each_phase([&](const std::byte* src, Room& room) {
                const KernelLoop b{2, 3, extent * bytes + 1};
                kernels_.fill(src, room.dst(), bytes, {extent, 0, bytes}, b, stores);
                for (std::int64_t j = 0; j < 2; ++j) {
                    for (std::int64_t i = 0; i < extent; ++i) put(room, j * b.dst_stride + i * bytes, src + j * 3, bytes);
                }
            }, "fill");
        }
    }

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
        table->loop_steps = static_cast<std::int32_t>(steps);
        kernels_.gather(table->block(), src, room.dst(), {kPositions, position, position}, {1, 0, 0}, stores);
        for (std::int64_t to = 0; to < blocks * lanes; ++to) {
            for (std::int64_t p = 0; p < kPositions; ++p) {
                if (to < channels) {
                    put(room, offset(to) + p * position, src + offset(to % groups * size + to / groups) + p * position, itemsize);
                } else {
                    std::memset(room.expected() + offset(to) + p * position, 0, static_cast<std::size_t>(itemsize));
                }
            }
        }
    }

    void gather_rows(const std::byte* src, Room& room, std::int64_t itemsize, std::int64_t streams, std::int64_t steps,
                     std::int64_t extent, bool listed, KernelStores stores) {
        constexpr std::int64_t kRows = 9;
        const std::int64_t row = streams * extent * itemsize;
        if (row * kRows > kRoom / 2 || (stores.nontemporal && steps * streams * itemsize % 64 != 0)) return;
        std::vector<std::int64_t> sources;
        for (std::int64_t step = 0; step < steps; ++step) {
            for (std::int64_t stream = 0; stream < streams; ++stream) sources.push_back((stream * extent + step) * itemsize);
        }
        auto table = dnnmove::build_gather(sources, itemsize, {steps * streams * itemsize}, kernels_);
        if (!table) return;
        table->loop_steps = static_cast<std::int32_t>(steps);
        std::vector<std::int64_t> src_rows;
        for (std::int64_t j = 0; j < kRows; ++j) src_rows.push_back((listed ? j * 5 % kRows : j) * row);
        const KernelLoop a{extent, itemsize, streams * itemsize};
        kernels_.gather(table->block(), src, room.dst(), a, {kRows, row, row, listed ? src_rows.data() : nullptr}, stores);
        for (std::int64_t j = 0; j < kRows; ++j) {
            for (std::int64_t k = 0; k < streams * extent; ++k) {
                put(room, j * row + k * itemsize, src + src_rows[static_cast<std::size_t>(j)] + (k % streams * extent + k / streams) * itemsize, itemsize);
            }
        }
    }

    void transpose(const std::byte* src, Room& room, int log2, std::int64_t out, std::int64_t in, bool lines) {
        const std::int64_t width = std::int64_t{1} << log2;
        std::vector<std::int64_t> src_rows;
        std::vector<std::int64_t> dst_rows;
        for (std::int64_t j = 0; j < in + 64; ++j) src_rows.push_back(j * (out * width + 3) % 60000);
        for (std::int64_t i = 0; i < out; ++i) dst_rows.push_back(i * (in * width + 5));
        const dnnmove::RowsAhead ahead{src, src_rows.data()};
        if (!lines) {
            kernels_.transpose[log2](src, src_rows.data(), room.dst(), dst_rows.data(), out, in, {}, ahead);
        } else {
            // Panels as the planner makes them: neighbours own whole lines.
            const std::int64_t tile = (dnnmove::kMaxPanelBytes - 64) / width;
            for (std::int64_t j = 0; j < in; j += tile) {
                const std::int64_t readable = std::min(in - j, tile + 64 / width);
                kernels_.transpose_lines[log2](src, src_rows.data() + j, room.dst() + j * width, dst_rows.data(), out,
                                               readable, std::min(tile, in - j), j == 0, {j / tile % 2 == 0, true}, ahead);
            }
        }
        for (std::int64_t i = 0; i < out; ++i) {
            for (std::int64_t j = 0; j < in; ++j) {
                put(room, dst_rows[static_cast<std::size_t>(i)] + j * width,
                    src + src_rows[static_cast<std::size_t>(j)] + i * width, width);
            }
        }
    }

    void transpose_cells(const std::byte* src, Room& room, dnnmove::Cells cells, std::int64_t out, std::int64_t in,
                         bool nontemporal) {
        // Nothing behind a row's last element is readable: the rows lie in a buffer that ends with the last.
        const std::int64_t row = (out - 1) * cells.cell + cells.width;
        std::vector<std::byte> rows(static_cast<std::size_t>(in * row));
        std::memcpy(rows.data(), src, rows.size());
        std::vector<std::int64_t> src_rows;
        std::vector<std::int64_t> dst_rows;
        for (std::int64_t j = 0; j < in; ++j) src_rows.push_back((in - 1 - j) * row);
        for (std::int64_t i = 0; i < out; ++i) dst_rows.push_back((out - 1 - i) * (in * cells.width + 5));
        const std::int64_t tile = 200 / cells.width;
        const auto permutes = dnnmove::cell_permutes(cells.width, cells.cell);
        cells.permutes = permutes.data();
        for (std::int64_t j = 0; j < in; j += tile) {
            const std::int64_t owned = std::min(tile, in - j);
            const std::int64_t readable = nontemporal ? std::min(in - j, tile + 64 / cells.width + 1) : owned;
            kernels_.transpose_cells(rows.data(), src_rows.data() + j, room.dst() + j * cells.width, dst_rows.data(), out,
                                     readable, owned, j == 0, cells, {nontemporal, true}, {rows.data(), src_rows.data() + j});
        }
        for (std::int64_t i = 0; i < out; ++i) {
            for (std::int64_t j = 0; j < in; ++j) {
                put(room, dst_rows[static_cast<std::size_t>(i)] + j * cells.width,
                    rows.data() + src_rows[static_cast<std::size_t>(j)] + i * cells.cell, cells.width);
            }
        }
    }

    void exchange(const std::vector<std::int64_t>& widths, bool split, KernelStores stores, std::int64_t phase) {
        const auto table = dnnmove::build_exchange(widths, split);
        if (!table) {
            std::printf("no table for %d fields\n", static_cast<int>(widths.size()));
            ++wrong_;
            return;
        }
        constexpr std::int64_t kBlocks = 5;
        std::int64_t pitch = 0;
        for (const std::int64_t width : widths) pitch += width;
        const std::int64_t records = kBlocks * table->records;
        std::vector<std::int64_t> starts;  // of the fields, apart from each other
        std::int64_t next = 0;
        for (const std::int64_t width : widths) {
            starts.push_back(next);
            next += (records * width + 127) / 64 * 64;
        }
        Room room(phase);
        std::vector<const std::byte*> srcs;
        std::vector<std::byte*> dsts;
        for (std::size_t k = 0; k < widths.size(); ++k) {
            if (split) {
                dsts.push_back(room.dst() + starts[k]);
            } else {
                srcs.push_back(source_.data() + 3 + starts[k]);
            }
        }
        (split ? srcs.push_back(source_.data() + 3) : dsts.push_back(room.dst()));
        kernels_.exchange(table->block(), srcs.data(), dsts.data(), kBlocks, stores);
        std::int64_t at = 0;
        for (std::size_t k = 0; k < widths.size(); ++k) {
            for (std::int64_t i = 0; i < records; ++i) {
                const std::int64_t in_field = starts[k] + i * widths[k];
                const std::int64_t in_record = i * pitch + at;
                put(room, split ? in_field : in_record, source_.data() + 3 + (split ? in_record : in_field), widths[k]);
            }
            at += widths[k];
        }
        count(room, "exchange");
    }

    // Records 2 to 20 of them; the fields lie one after the other, `k` bytes further apart each.
    static constexpr std::int64_t kFirstRecord = 2;
    static constexpr std::int64_t kLastRecord = 20;
    static std::vector<dnnmove::RecordField> fields_of(const std::vector<std::int64_t>& widths) {
        std::vector<dnnmove::RecordField> fields;
        std::int64_t at = 3;
        std::int64_t offset = 0;
        for (std::size_t k = 0; k < widths.size(); ++k) {
            fields.push_back({0, offset, at, widths[k]});
            at += widths[k];
            offset += kLastRecord * widths[k] + static_cast<std::int64_t>(k);
        }
        return fields;
    }

    void split_records(const std::vector<std::int64_t>& widths, std::int64_t gap, const std::byte* src, Room& room,
                       KernelStores stores) {
        const auto fields = fields_of(widths);
        const std::int64_t pitch = fields.back().at + fields.back().width - 3 + gap;
        std::byte* dst = room.dst();
        kernels_.split_records({fields.data(), static_cast<std::int32_t>(fields.size()), pitch, kFirstRecord, kLastRecord},
                               src, &dst, stores);
        for (const auto& field : fields) {
            for (std::int64_t i = kFirstRecord; i < kLastRecord; ++i) {
                put(room, field.offset + i * field.width, src + field.at + i * pitch, field.width);
            }
        }
    }

    void join_records(const std::vector<std::int64_t>& widths, const std::byte* src, Room& room, KernelStores stores) {
        const auto fields = fields_of(widths);
        const std::int64_t pitch = fields.back().at + fields.back().width - 3;
        kernels_.join_records({fields.data(), static_cast<std::int32_t>(fields.size()), pitch, kFirstRecord, kLastRecord},
                              &src, room.dst(), stores);
        for (const auto& field : fields) {
            for (std::int64_t i = kFirstRecord; i < kLastRecord; ++i) {
                put(room, field.at + i * pitch, src + field.offset + i * field.width, field.width);
            }
        }
    }

    void transpose_nontemporal(int log2, std::int64_t out, std::int64_t in) {
        const std::int64_t width = std::int64_t{1} << log2;
        const std::int64_t whole = (in * width + 63) / 64 * 64 / width;  // rows_in fills whole lines
        std::vector<std::int64_t> src_rows;
        std::vector<std::int64_t> dst_rows;
        for (std::int64_t j = 0; j < whole; ++j) src_rows.push_back(j * (out * width + 3));
        for (std::int64_t i = 0; i < out; ++i) dst_rows.push_back(i * (whole * width + 64));
        Room room(0);
        kernels_.transpose[log2](source_.data(), src_rows.data(), room.dst(), dst_rows.data(), out, whole, {true, true},
                                 {source_.data(), src_rows.data()});
        for (std::int64_t i = 0; i < out; ++i) {
            for (std::int64_t j = 0; j < whole; ++j) {
                put(room, dst_rows[static_cast<std::size_t>(i)] + j * width,
                    source_.data() + src_rows[static_cast<std::size_t>(j)] + i * width, width);
            }
        }
        count(room, "transpose, non-temporal");
    }

    const Kernels& kernels_;
    std::vector<std::byte> source_;
    std::vector<Room> rooms_ = std::vector<Room>(5, Room(0));
    std::int64_t calls_ = 0;
    std::int64_t wrong_ = 0;
};

}  // namespace

int main() {
    Checker checker;
    checker.rows();
    checker.runs();
    checker.turned_runs();
    checker.fills();
    checker.streams();
    checker.transposes();
    checker.transposes_by_lines();
    checker.transposes_of_cells();
    checker.weaves();
    checker.gathers();
    checker.gathers_of_rows();
    checker.strips();
    checker.exchanges();
    checker.records();
    return checker.report();
}
