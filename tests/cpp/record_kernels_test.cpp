// The kernels that take records apart and put them together, of the best instruction set alone: every mix of
// widths, aligned and unaligned, against byte-by-byte copies; bytes around the destination stay.
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "guarded_source.hpp"
#include "kernel_checks.hpp"
#include "plan/exchange_table.hpp"
#include "plan/record_vectors.hpp"

namespace {

using namespace testing;

class RecordChecks : public KernelChecks {
protected:
    bool has_records() const {
        if (kernels_.split_records == nullptr) MESSAGE("no kernels for records with this instruction set");
        return kernels_.split_records != nullptr;
    }

    // `blocks` and a half of records, or whole blocks of them.
    void exchange(const std::vector<std::int64_t>& widths, bool split, std::int64_t blocks, bool half, KernelStores stores,
                  std::int64_t phase) {
        const auto table = dnnmove::build_exchange(widths, split, kernels_.exchange_bytes);
        const std::int64_t pitch = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
        const std::int64_t common = std::accumulate(widths.begin(), widths.end(), kernels_.exchange_bytes,
                                                    [](std::int64_t a, std::int64_t b) { return std::gcd(a, b); });
        REQUIRE(table.has_value() == (kernels_.exchange_bytes < 64 || pitch / common <= 4));  // only few lines
        if (!table) return;
        const std::int64_t records = blocks * table->records + (half ? table->records / 2 : 0);
        std::vector<std::int64_t> starts;  // of the fields, apart from each other
        std::int64_t next = 0;
        for (const std::int64_t width : widths) {
            starts.push_back(next);
            next += (records * width + 127) / 64 * 64;
        }
        Room& room = cleared_room(phase);
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
        kernels_.exchange(table->block(), srcs.data(), dsts.data(), records, stores);
        std::int64_t at = 0;
        for (std::size_t k = 0; k < widths.size(); ++k) {
            for (std::int64_t i = 0; i < records; ++i) {
                const std::int64_t in_field = starts[k] + i * widths[k];
                const std::int64_t in_record = i * pitch + at;
                put(room, split ? in_field : in_record, source_.data() + 3 + (split ? in_record : in_field), widths[k]);
            }
            at += widths[k];
        }
        count(room, "exchange", {split, phase, blocks, half});
    }

    static std::vector<std::int64_t> places_of(const std::vector<std::int64_t>& widths) {
        std::vector<std::int64_t> places;
        std::int64_t at = 0;
        for (const std::int64_t width : widths) {
            places.push_back(at);
            at += width;
        }
        return places;
    }

    // Each field lies in an array of its own; `behind` records more of them are readable, then nothing is.
    void join_vectors(const std::vector<std::int64_t>& widths, std::int64_t records, std::int64_t behind, KernelStores stores) {
        const auto table = dnnmove::join_table(widths, kernels_);
        const std::int64_t pitch = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
        REQUIRE(table.has_value() == (pitch <= dnnmove::RecordVectorTable::kMaxVectors * kernels_.record_bytes));
        if (!table) return;
        if (records < table->records) return;
        std::vector<std::unique_ptr<GuardedSource>> fields;
        std::vector<const std::byte*> srcs;
        for (const std::int64_t width : widths) {
            const std::int64_t bytes = (records + behind) * width;
            fields.push_back(std::make_unique<GuardedSource>(bytes));
            std::memcpy(fields.back()->data(), source_.data() + 97 * static_cast<std::int64_t>(fields.size()),
                        static_cast<std::size_t>(bytes));
            srcs.push_back(fields.back()->data());
        }
        for (const std::int64_t phase : {0, 17}) {
            Room& room = cleared_room(phase);
            kernels_.join_vectors(table->block(), srcs.data(), room.dst(), records, records + behind, stores);
            const std::vector<std::int64_t> places = places_of(widths);
            for (std::int64_t i = 0; i < records; ++i) {
                for (std::size_t k = 0; k < widths.size(); ++k) {
                    put(room, i * pitch + places[k], srcs[k] + i * widths[k], widths[k]);
                }
            }
            count(room, "join vectors", {phase, records, behind});
        }
    }

    // Of records with `gap` bytes between them, which end where nothing is readable any more, or `behind` records before.
    void split_vectors(const std::vector<std::int64_t>& widths, std::int64_t gap, std::int64_t records, std::int64_t behind,
                       KernelStores stores) {
        const std::vector<std::int64_t> places = places_of(widths);
        const std::int64_t span = places.back() + widths.back();
        const std::int64_t pitch = span + gap;
        const auto table = dnnmove::split_table(widths, places, pitch, kernels_);
        REQUIRE(table.has_value());
        const std::int64_t readable = (records + behind - 1) * pitch + span;
        GuardedSource src(readable);
        std::memcpy(src.data(), source_.data(), static_cast<std::size_t>(readable));
        for (const std::int64_t room_behind : {0, 64}) {
            Room& room = cleared_room(1);
            std::vector<std::byte*> dsts;
            std::int64_t at = 0;
            for (const std::int64_t width : widths) {
                dsts.push_back(room.dst() + at);
                at += records * width + room_behind + 1;
            }
            kernels_.split_vectors(table->block(), src.data(), dsts.data(), records, readable, room_behind, stores);
            for (std::size_t k = 0; k < widths.size(); ++k) {
                const std::int64_t start = dsts[k] - room.dst();
                for (std::int64_t i = 0; i < records; ++i) {
                    put(room, start + i * widths[k], src.data() + i * pitch + places[k], widths[k]);
                }
                // Where there was room something may have been written.
                put(room, start + records * widths[k], dsts[k] + records * widths[k], room_behind);
            }
            count(room, "split vectors", {gap, records, behind, room_behind});
        }
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

    void split_records(const std::vector<std::int64_t>& widths, std::int64_t gap, const std::byte* src, Room& room) {
        const auto fields = fields_of(widths);
        const std::int64_t pitch = fields.back().at + fields.back().width - 3 + gap;
        std::byte* dst = room.dst();
        kernels_.split_records({fields.data(), static_cast<std::int32_t>(fields.size()), pitch, kFirstRecord, kLastRecord}, src,
                               &dst);
        for (const auto& field : fields) {
            for (std::int64_t i = kFirstRecord; i < kLastRecord; ++i) {
                put(room, field.offset + i * field.width, src + field.at + i * pitch, field.width);
            }
        }
    }

    void join_records(const std::vector<std::int64_t>& widths, const std::byte* src, Room& room, KernelStores stores) {
        const auto fields = fields_of(widths);
        const std::int64_t pitch = fields.back().at + fields.back().width - 3;
        kernels_.join_records({fields.data(), static_cast<std::int32_t>(fields.size()), pitch, kFirstRecord, kLastRecord}, &src,
                              room.dst(), stores);
        for (const auto& field : fields) {
            for (std::int64_t i = kFirstRecord; i < kLastRecord; ++i) {
                put(room, field.at + i * pitch, src + field.offset + i * field.width, field.width);
            }
        }
    }
};

}  // namespace

TEST_CASE_FIXTURE(RecordChecks, "fields and records are exchanged by tables") {
    for (const std::vector<std::int64_t>& widths : {std::vector<std::int64_t>{1, 1},
                                                    {1, 1, 1},
                                                    {4, 4, 4},
                                                    {1, 1, 1, 1},
                                                    {4, 8, 4},
                                                    {2, 3},
                                                    {8, 56},
                                                    {4, 4, 4, 20},
                                                    {1, 7, 3},
                                                    std::vector<std::int64_t>(8, 2),
                                                    std::vector<std::int64_t>(9, 4)}) {
        CAPTURE(widths);
        for (const bool split : {true, false}) {
            for (const KernelStores stores : all_stores()) {
                for (const std::int64_t phase : {0, 1, 16}) {
                    const bool streams = phase == 0 && kernels_.exchange_bytes == 64;
                    if (!stores.nontemporal || streams) exchange(widths, split, split ? 5 : 6, false, stores, phase);
                }
                if (stores.nontemporal) continue;
                for (const std::int64_t blocks : {1, 2, 3}) {
                    for (const bool half : {false, true}) exchange(widths, split, blocks, half, stores, 1);
                }
            }
        }
    }
}

TEST_CASE_FIXTURE(RecordChecks, "records are joined vector by vector") {
    for (const std::vector<std::int64_t>& widths : {std::vector<std::int64_t>{1, 1},
                                                    {1, 2},
                                                    {6, 7},
                                                    {10, 6},
                                                    {2, 3, 4},
                                                    {5, 3, 9, 2, 17},
                                                    {2, 1, 1, 2, 1, 2, 1, 1, 1, 1},
                                                    {1, 1, 1, 2, 2, 2, 4, 4, 4, 8},
                                                    {40, 1, 23},
                                                    {33, 50, 7},
                                                    std::vector<std::int64_t>(12, 1),
                                                    std::vector<std::int64_t>(14, 4)}) {
        CAPTURE(widths);
        for (const std::int64_t records : {64, 65, 130, 511}) {
            for (const std::int64_t behind : {0, 3, 64}) {
                for (const KernelStores stores : cached_stores()) join_vectors(widths, records, behind, stores);
            }
        }
    }
}

TEST_CASE("records are too long, or of too many fields, for vectors") {
    const dnnmove::Kernels& kernels = dnnmove::kernels_for(dnnmove::best_isa());
    // (A vector of 16 bytes has no more than 16 pieces.)
    CHECK(dnnmove::join_table(std::vector<std::int64_t>(40, 1), kernels).has_value() == (kernels.record_bytes == 16));
    CHECK_FALSE(dnnmove::join_table({300, 100}, kernels).has_value());
    CHECK_FALSE(
        dnnmove::split_table(std::vector<std::int64_t>(17, 1), std::vector<std::int64_t>(17, 0), 17, kernels).has_value());
    CHECK_FALSE(dnnmove::split_table({60, 60}, {0, 60}, 120, kernels).has_value());
    CHECK_FALSE(dnnmove::split_table({65, 1}, {0, 65}, 66, kernels).has_value());
    // Fields that overlap, and records.
    CHECK_FALSE(dnnmove::split_table({12, 2}, {0, 2}, 40, kernels).has_value());
    CHECK_FALSE(dnnmove::split_table({2, 3, 1}, {0, 2, 5}, 4, kernels).has_value());
}

TEST_CASE_FIXTURE(RecordChecks, "records are split vector by vector") {
    if (kernels_.split_vectors == nullptr) {
        MESSAGE("no kernel for this with this instruction set");
        return;
    }
    for (const std::vector<std::int64_t>& widths : {std::vector<std::int64_t>{1, 1},
                                                    {6, 7},
                                                    {2, 3, 4},
                                                    {20, 1, 12},
                                                    {30, 1, 31},
                                                    {2, 1, 1, 2, 1, 2, 1, 1, 1, 1},
                                                    {1, 1, 1, 2, 2, 2, 4, 4, 4, 8},
                                                    std::vector<std::int64_t>(16, 1)}) {
        CAPTURE(widths);
        for (const std::int64_t gap : {0, 1}) {
            for (const std::int64_t records : {1, 2, 64, 65, 511}) {
                for (const std::int64_t behind : {0, 1, 64}) {
                    for (const KernelStores stores : cached_stores()) split_vectors(widths, gap, records, behind, stores);
                }
            }
        }
    }
}

TEST_CASE_FIXTURE(RecordChecks, "records are split and joined field by field") {
    if (!has_records()) return;
    for (const std::vector<std::int64_t>& widths :
         {std::vector<std::int64_t>{1, 1},
          {7, 9, 11},
          {63, 64, 65},
          {1, 200, 3, 64},
          {192, 128},
          {300, 1, 1, 1, 62},
          std::vector<std::int64_t>(static_cast<std::size_t>(dnnmove::kMaxRecordFields), 20)}) {
        CAPTURE(widths);
        for (const std::int64_t gap : {0, 9}) {
            each_phase([&](const std::byte* src, Room& room) { split_records(widths, gap, src, room); }, "split records",
                       {gap});
        }
        for (const KernelStores stores : all_stores()) {
            each_phase([&](const std::byte* src, Room& room) { join_records(widths, src, room, stores); }, "join records", {});
        }
    }
}
