// Chooses which transfers are fields of the same records, how each group of fields moves, and the slabs.
#include "plan/records.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "plan/costs.hpp"
#include "plan/problem.hpp"
#include "runtime/heap_bytes.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMinRecords = 64;
constexpr std::int64_t kFewSources = 16;  // records are split off together
// Fields so wide, in bytes on average, are as well copied one by one, where whole lines do not help: beyond the caches, in
// them, and in them from records of which a processor fetches the next ones ahead.
constexpr std::int64_t kWideField = 192;
constexpr std::int64_t kCachedWideField = 160;  // such fields are joined by whole lines, where vectors are lines
constexpr std::int64_t kWideFieldOfShort = 80;
constexpr std::int64_t kShortRecord = 1024;  // bytes
constexpr std::int64_t kLineField = 32;  // bytes, on average: worth moving by whole lines beyond the caches
constexpr std::int64_t kSlabBytes = 32 * 1024;
constexpr std::int64_t kMaxSlabBytes = 512 * 1024;
constexpr std::int64_t kNearRecordBytes = 256 * 1024;
// Cycles of a record: of one field, as a strip; of equal fields, as a transpose, whose vectors write less than 16 bytes of a record
// piece by piece. (Zen 5, 1.5 MB, two to eight fields of 1 to 16 bytes beside one of 3, a core: strips 1.25 each, whatever their
// length. By vectors of a line, 32 and 16 bytes, joined: less than 16 bytes together 5.4 to 6.9, 6.5 to 8.1, 8.2 to 10.6; 16 bytes
// 2.1 to 2.4, 2.7 to 5, 3.9 to 4.2; 64 bytes 3.9 to 4.9, 4.9 to 6.7, 8.4 to 9.7. Split off: 2 to 6 bytes 1.7 to 2.9, up
// to 16 bytes 2.4 to 2.8, 2.7 to 3.6, 2.3 to 4.4; 64 bytes 4.0 to 5.1, 4.7 to 5.8, 8.3.)
constexpr double kStripCycles = 1.25;
constexpr double kShortJoinedCycles = 7;
constexpr double kShortSplitCycles = 2.2;
// Of a byte that is dealt out or woven, besides what streams cost.
constexpr double kDealtByteCycles = 0.035;
constexpr double kWovenByteCycles = 0.02;
constexpr double kGroupCycles = 2.5;
// Of single fields of so short records: split off by gathers, and joined as strips. (So, 29 sets of two to four fields: 0.42 to 0.95, and 1.3 to 1.6.)
constexpr std::int64_t kGatheredRecord = 12;  // bytes
constexpr double kGatheredCycles = 0.65;
constexpr double kShortStripCycles = 1.5;
// So many fields of such records are gathered one by one. (Zen 5, 1.5 MB, fields of 1, 2 and 4 bytes beside one of 3: up to six 1.1
// to 3.9 times as fast, eight 0.57 to 1.06.)
constexpr std::size_t kFewGathers = 7;
// Of fields that go past the caches by way of a stage, or of which each gather reads all records.
constexpr double kStreamedStripCycles = 2;
// Of a record all of whose fields are equal, as one transpose, with vectors of a line and shorter ones; and of any other one,
// for each byte. (Zen 5, 1.5 MB, 40 sets of 5 to 16 equal fields and 40 of mixed ones.)
constexpr double kWholeCycles = 1.7;
constexpr double kShortWholeCycles = 2.8;
constexpr double kWholeByteCycles = 0.09;
constexpr double kGroupedByteCycles = 0.055;
constexpr double kStagedByteCycles = 0.135;  // joined in a stage, beyond the caches
constexpr std::int64_t kFieldRunBytes = 1024;  // worth writing of one field before the next

// Is this the nest of a field: split off records, or joined to some?
bool is_field(const Nest& nest, bool split) {
    if (nest.itemsize == 0 || nest.loops.size() != 1 || nest.loops[0].table) return false;
    const Loop& loop = nest.loops[0];
    const std::int64_t pitch = split ? loop.src_stride : loop.dst_stride;
    return (split ? loop.dst_stride : loop.src_stride) == nest.itemsize && pitch > nest.itemsize && pitch <= Records::kMaxPitch;
}

// Is it one that is worth taking?
bool is_field(const Transfer& transfer, bool split) {
    return transfer.src >= 0 && !transfer.repeats() && is_field(transfer.nest, split) &&
           transfer.nest.loops[0].extent >= kMinRecords;
}

bool same_records(const Transfer& a, const Transfer& b, bool split) {
    const Loop& x = a.nest.loops[0];
    const Loop& y = b.nest.loops[0];
    return x.extent == y.extent &&
           (split ? a.src == b.src && x.src_stride == y.src_stride : a.dst == b.dst && x.dst_stride == y.dst_stride);
}

// Whether fields move by whole lines. Split ones do not in the caches, where many short runs of stores are slower than the
// lines that fields share.
bool moves_by_lines(std::int64_t bytes, std::int64_t count, bool split, bool large, const Kernels& kernels) {
    const bool wide = large ? bytes >= kLineField * count : !split && bytes >= kCachedWideField * count;
    return wide && kernels.split_records != nullptr && count <= kMaxRecordFields;
}

std::int64_t wide_field(std::int64_t pitch, bool large) {
    if (large) return kWideField;
    return pitch <= kShortRecord ? kWideFieldOfShort : kCachedWideField;
}

double strip_cycles(double each, std::int64_t width, std::int64_t count, const Kernels& kernels) {
    return static_cast<double>(count) * (each + static_cast<double>(width / kernels.vector_bytes));
}

double group_cycles(std::int64_t width, std::int64_t count, bool split, const Kernels& kernels) {
    const std::int64_t bytes = width * count;
    if (!split && bytes < 16) return kShortJoinedCycles;
    if (split && bytes < 8) return kShortSplitCycles;
    return kGroupCycles + static_cast<double>(bytes) / (8 + kernels.vector_bytes / 4);
}

}  // namespace

std::vector<Transfer> with_fields_apart(std::vector<Transfer> transfers) {
    const auto apart = [](const Transfer& transfer) {
        return transfer.repeats() &&
               (is_field(transfer.nest, false) || (transfer.repeat.count <= kFewSources && is_field(transfer.nest, true)));
    };
    if (std::none_of(transfers.begin(), transfers.end(), apart)) return transfers;
    std::vector<Transfer> all;
    for (Transfer& transfer : transfers) {
        if (!apart(transfer)) {
            all.push_back(std::move(transfer));
            continue;
        }
        const Transfer::Repeat repeat = std::exchange(transfer.repeat, {});
        for (std::int64_t k = 0; k < repeat.count; ++k) {
            Transfer& one = all.emplace_back(transfer);
            one.src += static_cast<int>(k * repeat.src_step);
            one.nest.src_offset += k * repeat.src_pitch;
            one.nest.dst_offset += k * repeat.dst_pitch;
        }
    }
    return all;
}

std::optional<Records> Records::take(const std::vector<Transfer>& transfers, std::vector<bool>& taken,
                                     const PlanContext& context) {
    const Kernels& kernels = *context.kernels;
    const bool streams = context.far_beyond_cache;
    for (const bool split : {true, false}) {
        for (std::size_t first = 0; first < transfers.size(); ++first) {
            if (taken[first] || !is_field(transfers[first], split)) continue;
            std::vector<std::size_t> members;
            for (std::size_t k = first; k < transfers.size(); ++k) {
                if (!taken[k] && is_field(transfers[k], split) && same_records(transfers[first], transfers[k], split)) {
                    members.push_back(k);
                }
            }
            if (members.size() < 2) continue;
            std::int64_t bytes = 0;
            for (const std::size_t k : members) bytes += transfers[k].nest.itemsize;
            const auto count = static_cast<std::int64_t>(members.size());
            const Loop& loop = transfers[first].nest.loops[0];
            const std::int64_t pitch = split ? loop.src_stride : loop.dst_stride;
            if (bytes >= wide_field(pitch, streams) * count && !moves_by_lines(bytes, count, split, streams, kernels)) continue;
            Records records;
            records.split_ = split;
            records.streams_ = streams;
            for (const std::size_t k : members) {
                const int src = transfers[k].src;
                const int dst = transfers[k].dst;
                const Nest& nest = transfers[k].nest;
                records.fields_.push_back(split ? Field{dst, nest.dst_offset, nest.src_offset, nest.itemsize}
                                                : Field{src, nest.src_offset, nest.dst_offset, nest.itemsize});
            }
            std::sort(records.fields_.begin(), records.fields_.end(),
                      [](const Field& a, const Field& b) { return a.at < b.at; });
            const int src = transfers[first].src;
            const int dst = transfers[first].dst;
            records.buffer_ = split ? src : dst;
            records.pitch_ = pitch;
            records.records_ = loop.extent;
            if (!split && !records.dense()) continue;  // lines shared with what others write
            records.plan(context);
            if (records.as_well_apart()) continue;
            for (const std::size_t k : members) taken[k] = true;
            return records;
        }
    }
    return std::nullopt;
}

// Strips, of so short records that a gather finds several of one field in a vector, or of two fields to be joined, which
// a stage costs more than the lines that the two share. And the other groups of such records, where few gathers do.
bool Records::as_well_apart() const {
    const bool strips = std::all_of(groups_.begin(), groups_.end(), [](const Group& g) { return g.method == Method::strips; });
    if (strips) return pitch_ <= kGatheredRecord || (stages_ && fields_.size() == 2);
    const bool all_at_once = by_blocks() || groups_[0].method == Method::lines;
    return split_ && !streams_ && !all_at_once && pitch_ <= kGatheredRecord && fields_.size() <= kFewGathers;
}

std::size_t Records::memory() const {
    const std::size_t woven = std::accumulate(woven_.begin(), woven_.end(), heap_bytes(woven_),
                                              [](std::size_t sum, const auto& table) { return sum + table.memory(); });
    return sizeof *this + heap_bytes(fields_) + heap_bytes(groups_) + heap_bytes(rows_) + exchange_.memory() +
           vectors_.memory() + woven_fields_.memory() + woven;
}

bool Records::dense() const {
    std::int64_t at = fields_.front().at;
    for (const Field& field : fields_) {
        if (field.at != at) return false;
        at += field.width;
    }
    return at - fields_.front().at == pitch_;
}

void Records::plan(const PlanContext& context) {
    kernels_ = context.kernels;
    prefetch_ = streams_ || records_ * pitch_ > kNearRecordBytes;
    claims_ = context.claims && !streams_;
    std::vector<std::int64_t> widths;
    for (const Field& field : fields_) widths.push_back(field.width);
    group_fields(widths);
    group_columns();
    choose_method(widths);
    choose_slabs(widths);
    rows_.shrink_to_fit();
    groups_.shrink_to_fit();
    fields_.shrink_to_fit();
}

// Runs of equal, consecutive fields of a vector element's size are transposed, where that takes less.
void Records::group_fields(const std::vector<std::int64_t>& widths) {
    const double strip = split_ && streams_ ? kStreamedStripCycles : kStripCycles;
    for (std::size_t k = 0; k < fields_.size();) {
        const std::int64_t width = widths[k];
        std::size_t end = k + 1;
        while (end < fields_.size() && end - k < kMaxGroup && widths[end] == width &&
               fields_[end].at == fields_[end - 1].at + width) {
            ++end;
        }
        const auto equal = static_cast<std::int64_t>(end - k);
        const bool rows = equal > 1 && width <= 16 && power_of_two(width) &&
                          group_cycles(width, equal, split_, *kernels_) < strip_cycles(strip, width, equal, *kernels_);
        groups_.push_back({rows ? Method::transpose : Method::strips, k, end - k});
        k = end;
    }
}

// The bytes of consecutive narrow fields of several widths are transposed, where that takes less than the groups of each width and
// records are not split all at once.
void Records::group_columns() {
    const bool gathered = !streams_ && pitch_ <= kGatheredRecord && fields_.size() <= kFewGathers;
    if (!split_ || gathered || groups_.size() < 2 || kernels_->split_vectors != nullptr) return;
    for (std::int64_t width = 2; width <= kMaxColumnField; ++width) {
        woven_.push_back(*join_table(std::vector<std::int64_t>(static_cast<std::size_t>(width), 1), *kernels_));
    }
    const double strip = streams_ ? kStreamedStripCycles : kStripCycles;
    std::vector<Group> groups;
    for (std::size_t k = 0; k < groups_.size();) {
        Group columns{Method::columns, groups_[k].first, 0};
        double apart = 0;
        std::size_t end = k;
        while (end < groups_.size() && goes_on(columns, groups_[end])) {
            apart += cycles_of(groups_[end], strip);
            columns.count += groups_[end].count;
            ++end;
        }
        if (end > k + 1 && cycles_of(columns, strip) < apart) {
            groups.push_back(columns);
            k = end;
        } else {
            for (end = std::max(end, k + 1); k < end; ++k) groups.push_back(groups_[k]);
        }
    }
    groups_ = std::move(groups);
}

// May the fields of `next` be columns together with those of `columns`, none or the ones before?
bool Records::goes_on(const Group& columns, const Group& next) const {
    const Field& first = fields_[columns.first];
    const Field& last = fields_[next.first + next.count - 1];
    if (fields_[next.first].width > kMaxColumnField || last.at + last.width - first.at > kMaxColumns) return false;
    if (columns.count == 0) return true;
    const Field& before = fields_[next.first - 1];
    return fields_[next.first].at == before.at + before.width;
}

// Of a record's fields; `strip` each, as a strip.
double Records::cycles_of(const Group& group, double strip) const {
    const auto count = static_cast<std::int64_t>(group.count);
    const std::int64_t width = fields_[group.first].width;
    if (group.method == Method::transpose) return group_cycles(width, count, split_, *kernels_);
    if (group.method == Method::strips) return strip_cycles(strip, width, count, *kernels_);
    double cycles = 0;
    std::int64_t bytes = 0;
    for (std::size_t k = group.first; k < group.first + group.count; ++k) {
        bytes += fields_[k].width;
        if (fields_[k].width > 1) cycles += woven(fields_[k].width).cycles;
    }
    return cycles + group_cycles(1, bytes, split_, *kernels_);
}

// Of a record whose fields move group by group.
double Records::grouped_cycles() const {
    if (groups_.size() == 1 && groups_[0].method == Method::transpose) {
        const double record = kernels_->vector_bytes == kLine ? kWholeCycles : kShortWholeCycles;
        return record + kWholeByteCycles * static_cast<double>(pitch_);
    }
    const double strip = split_ && streams_         ? kStreamedStripCycles
                         : pitch_ > kGatheredRecord ? kStripCycles
                         : split_                   ? kGatheredCycles
                                                    : kShortStripCycles;
    return std::accumulate(groups_.begin(), groups_.end(), 0.0,
                           [&](double cycles, const Group& group) { return cycles + cycles_of(group, strip); });
}

// All fields at once instead of group by group, where that takes less.
void Records::choose_method(const std::vector<std::int64_t>& widths) {
    const Kernels& kernels = *kernels_;
    const auto count = static_cast<std::int64_t>(fields_.size());
    const std::int64_t total = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
    const bool whole = groups_.size() == 1 && groups_[0].method == Method::transpose;
    double cycles = grouped_cycles();
    auto exchange = total < kWideField * count && dense() ? build_exchange(widths, split_, kernels.exchange_bytes)
                                                          : std::nullopt;
    const double lines = static_cast<double>(pitch_) / kLine;
    const double exchanged = exchange ? exchange->cycles_per_line() * costs_of(kernels).exchange * lines : cycles;
    if (exchange && records_ >= exchange->records && exchanged <= cycles) {
        exchange_ = std::move(*exchange);
        groups_ = {{Method::exchange, 0, fields_.size()}};
        cycles = exchanged;
    } else if (!whole) {
        cycles += (!split_ && streams_ ? kStagedByteCycles : kGroupedByteCycles) * static_cast<double>(pitch_);
    }
    const std::int64_t width = widths[0];
    const bool equal = std::all_of(widths.begin(), widths.end(), [&](std::int64_t other) { return other == width; });
    if (equal && dense() && WeaveTable::may_be(width, count)) {
        const WeaveTable woven(width, count, split_, records_ * width, kernels);
        const double each = woven.cost(records_, kernels) + (split_ ? kDealtByteCycles : kWovenByteCycles);
        const double cost = each * static_cast<double>(pitch_);
        if (records_ * width >= woven.vector_bytes() && (woven.by_lines() || width < kWeaveLane) && cost < cycles) {
            woven_fields_ = woven;
            groups_ = {{Method::weave, 0, fields_.size()}};
            cycles = cost;
        }
    }
    std::vector<std::int64_t> places;
    for (const Field& field : fields_) places.push_back(field.at - fields_[0].at);
    auto vectors = split_ ? split_table(widths, places, pitch_, kernels) : join_table(widths, kernels);
    if (vectors && records_ >= vectors->records && vectors->cycles < cycles) {
        vectors_ = std::move(*vectors);
        groups_ = {{Method::vectors, 0, fields_.size()}};
    }
    if (moves_by_lines(total, count, split_, streams_, kernels) && groups_[0].method != Method::weave &&
        !(groups_[0].method == Method::exchange && exchange_.few())) {
        groups_ = {{Method::lines, 0, fields_.size()}};
    }
    if (groups_[0].method == Method::weave) woven_fields_.make_permutes();
    if (groups_[0].method != Method::exchange) exchange_ = {};
    if (groups_[0].method != Method::vectors) vectors_ = {};
    if (std::none_of(groups_.begin(), groups_.end(), [](const Group& g) { return g.method == Method::columns; })) woven_ = {};
}

// Whole lines of every field, and as much of each as is worth writing at a time.
void Records::choose_slabs(const std::vector<std::int64_t>& widths) {
    std::int64_t common = kLine;
    for (const std::int64_t width : widths) common = std::gcd(common, width);
    const std::int64_t lines = kLine / common;
    const std::int64_t narrowest = *std::min_element(widths.begin(), widths.end());
    const bool by_lines = groups_[0].method == Method::lines;
    stages_ = !split_ && streams_ && !by_blocks() && !by_lines && 4 * pitch_ <= kStageBytes;
    const std::int64_t wanted = std::max(kSlabBytes / pitch_, by_lines ? 0 : kFieldRunBytes / narrowest);
    const std::int64_t most = stages_ ? kStageBytes : kMaxSlabBytes;
    slab_ = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, most / pitch_));
    if (slab_ > lines) slab_ -= slab_ % lines;
    slab_ = std::min(slab_, records_);
    units_ = by_blocks() ? std::max<std::int64_t>(1, records_ / slab_) : (records_ + slab_ - 1) / slab_;
    for (const Group& group : groups_) {
        const bool transposes = group.method == Method::transpose || group.method == Method::columns;
        if (!transposes || !rows_.empty()) continue;
        for (std::int64_t k = 0; k < std::min(slab_, kMaxPanelRows) + kLine; ++k) rows_.push_back(k * pitch_);
    }
}

std::string Records::describe() const {
    std::string text = split_ ? "source " + std::to_string(buffer_) + " -> destinations"
                              : "sources -> destination " + std::to_string(buffer_);
    text += ": " + std::to_string(records_) + " records of " + std::to_string(fields_.size()) + " fields, pitch " +
            std::to_string(pitch_) + " B, slabs of " + std::to_string(slab_) + ", stores " +
            (streams_ ? "non-temporal" : "cached");
    for (const Group& group : groups_) {
        const Field& first = fields_[group.first];
        const char* method = group.method == Method::weave       ? (split_ ? "deinterleave of" : "interleave of")
                             : group.method == Method::vectors   ? "whole records of"
                             : group.method == Method::exchange  ? "transpose in registers"
                             : group.method == Method::lines     ? "whole lines of"
                             : group.method == Method::transpose ? "transpose"
                             : group.method == Method::columns   ? "transpose of the bytes of"
                                                                 : "narrow rows";
        text += ", " + std::string(method) + " " + std::to_string(group.count) + " fields from " + std::to_string(first.width) +
                " B at " + std::to_string(first.at);
        if (group.method == Method::vectors) text += " (" + std::to_string(vectors_.records) + " records per block)";
        if (group.method == Method::exchange) {
            text += " (" + std::to_string(exchange_.records) +
                    " records per block: " + std::to_string(exchange_.sources.size()) + " lines, " +
                    std::to_string(exchange_.steps.size()) + " permutes)";
        }
        if (&group - groups_.data() == 7 && groups_.size() > 8) {
            text += ", and " + std::to_string(groups_.size() - 8) + " more groups";
            break;
        }
    }
    return text + ", " + std::to_string(units_) + " units";
}

}  // namespace dnnmove
