// Mosaics of several sources: the addresses that make them one array, and the way back to the sources.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "view/mosaic.hpp"
#include "plan/canonical.hpp"
#include "runtime/error.hpp"

namespace dnnmove::view {
namespace {

constexpr int kConstantBits = 10;  // of the number of constants
constexpr int kAddressBits = 62;  // strides are sums and differences of addresses

int bits(std::int64_t value) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))); }

bool is_empty(const Dims& shape) { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

// Bytes that any two elements of the sources, counted from the base of each, lie apart at most; nothing where 63 bits
// do not hold it.
std::optional<std::int64_t> span_of(const std::vector<Source>& sources, std::int64_t itemsize) {
    std::int64_t below = 0;
    std::int64_t above = 0;
    for (const Source& source : sources) {
        if (is_empty(source.shape)) continue;
        std::int64_t low = 0;
        std::int64_t high = 0;
        for (std::size_t axis = 0; axis < source.shape.size(); ++axis) {
            std::int64_t reach = 0;
            std::int64_t& side = source.strides[axis] < 0 ? low : high;
            if (source.shape[axis] > 1 && (__builtin_mul_overflow(source.shape[axis] - 1, source.strides[axis], &reach) ||
                                           __builtin_add_overflow(side, reach, &side))) {
                return std::nullopt;
            }
        }
        below = std::min(below, low);
        above = std::max(above, high);
    }
    std::int64_t span = 0;
    if (__builtin_sub_overflow(above, below, &span) || __builtin_add_overflow(span, itemsize, &span)) return std::nullopt;
    return span;
}

// From source to source; a sum of two spans is less than half of it.
std::int64_t pitch_of(const std::vector<Source>& sources, std::int64_t itemsize) {
    const auto span = span_of(sources, itemsize);
    if (!span || bits(*span) + 3 + bits(static_cast<std::int64_t>(sources.size())) > kAddressBits) {
        throw ValueError(std::to_string(sources.size()) + " sources that span up to " +
                         (span ? std::to_string(*span) + " bytes" : "more than 63 bits of bytes") +
                         " are more than a chain can count");
    }
    return std::int64_t{8} << bits(*span);
}

// Sources first, first + step, ... that lie alike, at places that are as regular.
struct Alike {
    std::size_t first;
    std::int64_t step;
    std::int64_t count;
    std::int64_t begin;  // of the first, along the joined axis
    std::int64_t apart;
};

// Appends the runs of equal steps among the sources `members`.
void append_runs(std::vector<Alike>& runs, const std::vector<std::size_t>& members, const Dims& starts) {
    for (std::size_t k = 0; k < members.size();) {
        Alike run{members[k], 1, 1, starts[members[k]], 1};
        std::size_t next = k + 1;
        for (; next < members.size(); ++next) {
            const auto step = static_cast<std::int64_t>(members[next] - members[next - 1]);
            const std::int64_t apart = starts[members[next]] - starts[members[next - 1]];
            if (run.count > 1 && (step != run.step || apart != run.apart)) break;
            run.step = step;
            run.apart = apart;
            ++run.count;
        }
        runs.push_back(run);
        k = next;
    }
}

// A loop, and the same of the nest of parameters, if there is one.
struct Loops {
    Loop of_nest;
    std::optional<Loop> of_parameters;
};

// A source that a loop across sources reaches: how far it is, and what is left of the loop there.
struct Stop {
    std::int64_t source = 0;
    std::int64_t src_offset = 0;  // bytes, as dst_offset
    std::int64_t dst_offset = 0;
    std::int64_t parameter_offset = 0;
    std::optional<Loops> rest = std::nullopt;
};

// The loop over these offsets, which both begin with 0.
Loop loop_over(Dims src, Dims dst) {
    const auto extent = static_cast<std::int64_t>(src.size());
    bool even = true;
    for (std::int64_t k = 2; k < extent; ++k) {
        const auto at = static_cast<std::size_t>(k);
        even = even && src[at] == k * src[1] && dst[at] == k * dst[1];
    }
    if (even) return Loop{extent, src[1], dst[1], nullptr};
    return Loop{extent, 0, 0, std::make_shared<const OffsetTable>(OffsetTable{std::move(src), std::move(dst)})};
}

// The shortest part of a constant that makes it up when it is repeated, where no kernel repeats all of it fast.
void narrow(Transfer& transfer) {
    constexpr std::int64_t kFast = 16;  // bytes, of a power of two
    const std::vector<std::byte>& bytes = *transfer.constant;
    const auto size = static_cast<std::int64_t>(bytes.size());
    if (size <= kFast && std::has_single_bit(static_cast<std::uint64_t>(size))) return;
    for (std::int64_t part = 1; part < size; ++part) {
        if (size % part != 0 || !std::equal(bytes.begin() + part, bytes.end(), bytes.begin())) continue;
        transfer.nest.itemsize = part;
        transfer.nest.loops.push_back(Loop{size / part, 0, part, nullptr});
        return;
    }
}

// A constant's elements as kernels write them fastest: short rows of them are one element, which is copied, and long ones
// are filled with the shortest part of it. (Granite Rapids, whole pads, 2 to 40 elements of 1 to 16 bytes beside each of
// 200,000 rows, copied against filled: up to 32 bytes 1.0 to 7.9 times as fast, up to 64 bytes 1.0 to 1.2 times.)
void fit(Transfer& transfer) {
    constexpr std::int64_t kShortRow = 64;  // bytes
    std::vector<Loop>& loops = transfer.nest.loops;
    const std::int64_t size = transfer.nest.itemsize;
    if (size == 0 || size != static_cast<std::int64_t>(transfer.constant->size())) return;
    const Loop* const row = loops.empty() ? nullptr : &loops.back();
    const bool follow = row != nullptr && !row->table && row->src_stride == 0 && row->dst_stride == size;
    const std::int64_t count = follow ? row->extent : 1;
    if (count > kShortRow / size || (follow && loops.size() == 1)) return narrow(transfer);
    if (!follow) return;
    loops.pop_back();
    transfer.nest.itemsize *= count;
    std::vector<std::byte> bytes;
    for (std::int64_t k = 0; k < count; ++k) bytes.insert(bytes.end(), transfer.constant->begin(), transfer.constant->end());
    transfer.constant = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

void append(Transfer& transfer, std::shared_ptr<Nest>& parameters, const Loops& loops) {
    transfer.nest.loops.push_back(loops.of_nest);
    if (loops.of_parameters) parameters->loops.push_back(*loops.of_parameters);
}

}  // namespace

Mosaic::Place Mosaic::place(std::int64_t address) const {
    if (pitch_ == 0) return {0, address};
    const std::int64_t source = (address + pitch_ / 2) >> std::countr_zero(static_cast<std::uint64_t>(pitch_));
    return {source, address - source * pitch_};
}

Mosaic Mosaic::joined(const std::vector<Source>& sources, Dims shape, std::size_t axis, const Dims& starts, bool fresh,
                      std::int64_t itemsize) {
    Mosaic result;
    result.shape_ = std::move(shape);
    result.itemsize_ = itemsize;
    result.pitch_ = pitch_of(sources, itemsize);
    if (result.empty()) return result;

    // Strides of axes that take no step do not matter.
    std::map<Dims, std::vector<std::size_t>> classes;
    std::vector<std::size_t>* latest = nullptr;
    const Source* before = nullptr;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const Source& source = sources[i];
        if (is_empty(source.shape)) continue;
        if (before == nullptr || source.shape != before->shape || source.strides != before->strides) {
            Dims key = source.shape;
            for (std::size_t k = 0; k < source.shape.size(); ++k) key.push_back(source.shape[k] > 1 ? source.strides[k] : 0);
            latest = &classes[std::move(key)];
            before = &source;
        }
        latest->push_back(i);
    }
    std::vector<Alike> runs;
    for (const auto& [key, members] : classes) append_runs(runs, members, starts);
    std::sort(runs.begin(), runs.end(), [](const Alike& a, const Alike& b) { return a.first < b.first; });

    for (const Alike& run : runs) {
        const Source& source = sources[run.first];
        Piece& piece = result.pieces_.emplace_back();
        piece.offset = static_cast<std::int64_t>(run.first) * result.pitch_;
        for (std::size_t k = 0; k < source.shape.size(); ++k) {
            piece.axes.push_back(Positions::all(source.shape[k], source.strides[k]));
        }
        if (fresh) piece.axes.insert(piece.axes.begin() + static_cast<std::ptrdiff_t>(axis), Positions{});
        Positions& along = piece.axes[axis];
        along.start = run.begin;
        along.terms.push_back(Term{run.count, run.apart, run.step * result.pitch_});
        normalize(along);
    }
    result.most_ = kMaxPieces + result.pieces_.size();
    result.join();
    return result;
}

std::int64_t Mosaic::address_of(const Constant& value) {
    if (pitch_ == 0) {
        // Of one source, addresses count from its base; what no piece reads lies nowhere.
        std::int64_t low = 0;
        std::int64_t high = 0;
        for (const Piece& piece : pieces_) {
            std::int64_t first = piece.offset;
            std::int64_t last = piece.offset;
            for (const Positions& axis : piece.axes) {
                first += axis.offset;
                last += axis.offset;
                for (const Term& term : axis.terms) {
                    std::int64_t least = std::min<std::int64_t>(0, term.stride * (term.extent - 1));
                    std::int64_t most = std::max<std::int64_t>(0, term.stride * (term.extent - 1));
                    if (term.listing) {
                        const auto [smallest, largest] = std::minmax_element(term.listing->offsets.begin(),
                                                                             term.listing->offsets.end());
                        least = *smallest;
                        most = *largest;
                    }
                    first += least;
                    last += most;
                }
            }
            low = std::min(low, first);
            high = std::max(high, last);
        }
        const std::int64_t span = high - low + itemsize_;
        if (bits(span) + 3 > kAddressBits - kConstantBits) {
            throw ValueError("data that span " + std::to_string(span) + " bytes are more than a chain can count");
        }
        pitch_ = std::int64_t{8} << bits(span);
    }
    const auto known = std::find_if(constants_.begin(), constants_.end(),
                                    [&](const Constant& other) { return *other == *value; });
    const std::int64_t number = known - constants_.begin();
    if (known == constants_.end()) constants_.push_back(value);
    if (number >> kConstantBits != 0 || pitch_ > (std::int64_t{1} << kAddressBits) / (number + 2)) {
        throw ValueError("a chain takes at most " + std::to_string(1 << kConstantBits) +
                         " constants, of sources that span less");
    }
    return -(number + 1) * pitch_;
}

Mosaic Mosaic::pad(std::size_t axis, std::int64_t before, std::int64_t after, const Constant& value) const {
    const std::int64_t length = shape_[axis];
    Mosaic result = *this;
    result.shape_[axis] = before + length + after;
    if (result.empty()) return result;
    Piece fresh;
    fresh.offset = result.address_of(value);
    for (const std::int64_t each : shape_) fresh.axes.push_back(Positions::all(each, 0));
    for (Piece& piece : result.pieces_) piece.axes[axis].start += before;
    const auto put = [&](std::int64_t begin, std::int64_t count) {
        if (count == 0) return;
        fresh.axes[axis] = Positions::all(count, 0);
        fresh.axes[axis].start = begin;
        result.add(result.pieces_, fresh);
    };
    put(0, before);
    put(before + length, after);
    result.join();
    return result;
}

Mosaic Mosaic::concat(const std::vector<Source>& sources, std::size_t axis, const Dims& starts, std::int64_t itemsize) {
    Dims shape = sources.front().shape;
    shape[axis] = starts.back() + sources.back().shape[axis];
    return joined(sources, std::move(shape), axis, starts, false, itemsize);
}

Mosaic Mosaic::stack(const std::vector<Source>& sources, std::size_t axis, std::int64_t itemsize) {
    Dims shape = sources.front().shape;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<std::int64_t>(sources.size()));
    Dims starts(sources.size());
    for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<std::int64_t>(i);
    return joined(sources, std::move(shape), axis, starts, true, itemsize);
}

std::vector<Transfer> Mosaic::apart(std::vector<Transfer> transfers) const {
    if (pitch_ == 0) return transfers;
    const auto stops_of_table = [this](const Loops& loops) {
        struct Offsets {
            Dims src, dst, parameters;
        };
        std::map<std::int64_t, Offsets> by_source;
        const OffsetTable& table = *loops.of_nest.table;
        for (std::size_t k = 0; k < table.src.size(); ++k) {
            const Place at = place(table.src[k]);
            Offsets& offsets = by_source[at.source];
            offsets.src.push_back(at.offset);
            offsets.dst.push_back(table.dst[k]);
            if (loops.of_parameters) offsets.parameters.push_back(loops.of_parameters->table->dst[k]);
        }
        const auto from_0 = [](Dims& offsets) {
            const std::int64_t first = offsets.empty() ? 0 : offsets.front();
            for (std::int64_t& offset : offsets) offset -= first;
            return first;
        };
        std::vector<Stop> stops;
        for (auto& [source, offsets] : by_source) {
            Stop& stop = stops.emplace_back();
            stop.source = source;
            stop.src_offset = from_0(offsets.src);
            stop.dst_offset = from_0(offsets.dst);
            stop.parameter_offset = from_0(offsets.parameters);
            if (offsets.src.size() == 1) continue;
            stop.rest = Loops{loop_over(offsets.src, offsets.dst), std::nullopt};
            // The loops of both nests are of one kind each: a plan walks them together.
            if (loops.of_parameters) stop.rest->of_parameters = loop_over(offsets.src, offsets.parameters);
            if (loops.of_parameters && (stop.rest->of_nest.table == nullptr) != (stop.rest->of_parameters->table == nullptr)) {
                const auto listed = [&offsets = offsets](const Dims& dst) {
                    return Loop{static_cast<std::int64_t>(dst.size()), 0, 0,
                                std::make_shared<const OffsetTable>(OffsetTable{offsets.src, dst})};
                };
                stop.rest = Loops{listed(offsets.dst), listed(offsets.parameters)};
            }
        }
        return stops;
    };
    const auto append_from = [this](std::vector<Transfer>& all, const Transfer& made, std::int64_t source) {
        Transfer& transfer = all.emplace_back(made);
        if (source < 0) {
            transfer.src = kConstantSource;
            transfer.constant = constants_[static_cast<std::size_t>(-1 - source)];
            if (!transfer.sink) fit(transfer);
        } else {
            transfer.src += static_cast<int>(source);
        }
    };
    std::vector<Transfer> all;
    for (Transfer& transfer : transfers) {
        // What goes through a sink keeps its elements whole.
        const Nest nest = transfer.sink ? std::move(transfer.nest) : canonical(std::move(transfer.nest));
        Transfer rest = transfer;
        rest.nest = {{}, nest.src_offset, nest.dst_offset, nest.itemsize};
        auto parameters = transfer.parameters ? std::make_shared<Nest>(*transfer.parameters) : nullptr;
        if (parameters) parameters->loops.clear();
        std::vector<Loops> across;
        std::vector<std::vector<Stop>> crossings;
        for (std::size_t k = 0; k < nest.loops.size(); ++k) {
            const Loops loops{nest.loops[k], transfer.parameters ? std::optional(transfer.parameters->loops[k]) : std::nullopt};
            if (loops.of_nest.table) {
                std::vector<Stop> stops = stops_of_table(loops);
                if (stops.size() > 1) {
                    crossings.push_back(std::move(stops));
                    continue;
                }
            } else if (place(loops.of_nest.src_stride).source != 0) {
                across.push_back(loops);
                continue;
            }
            append(rest, parameters, loops);
        }
        const Place begin = place(nest.src_offset);
        // Where constants are among what it reads all of it is written out.
        std::int64_t lowest = begin.source;
        for (const Loops& loops : across) {
            lowest += std::min<std::int64_t>(0, place(loops.of_nest.src_stride).source * (loops.of_nest.extent - 1));
        }
        for (const std::vector<Stop>& stops : crossings) {
            lowest += std::min_element(stops.begin(), stops.end(), [](const Stop& a, const Stop& b) {
                          return a.source < b.source;
                      })->source;
        }
        const bool constants = lowest < 0;
        // The longest of these loops is left to the transfer, unless its steps are of different parameters; the others
        // are written out.
        const Loops* longest = nullptr;
        for (const Loops& loops : across) {
            if (loops.of_parameters && loops.of_parameters->dst_stride != 0) continue;
            if (longest == nullptr || loops.of_nest.extent > longest->of_nest.extent) longest = &loops;
        }
        for (const Loops& loops : across) {
            const Loop& loop = loops.of_nest;
            const Place step = place(loop.src_stride);
            if (&loops == longest && !constants) {
                rest.repeat = {loop.extent, step.source, step.offset, loop.dst_stride};
                continue;
            }
            std::vector<Stop>& stops = crossings.emplace_back();
            for (std::int64_t k = 0; k < loop.extent; ++k) {
                const std::int64_t parameter = loops.of_parameters ? loops.of_parameters->dst_stride : 0;
                stops.push_back({k * step.source, k * step.offset, k * loop.dst_stride, k * parameter});
            }
        }
        rest.nest.src_offset = begin.offset;
        const auto write_out = [&](const auto& self, const Transfer& so_far, const std::shared_ptr<Nest>& with,
                                   std::int64_t source, std::size_t level) -> void {
            if (level == crossings.size()) {
                append_from(all, so_far, source);
                all.back().parameters = with;
                return;
            }
            for (const Stop& stop : crossings[level]) {
                Transfer further = so_far;
                auto with_further = with ? std::make_shared<Nest>(*with) : nullptr;
                further.nest.src_offset += stop.src_offset;
                further.nest.dst_offset += stop.dst_offset;
                if (with_further) with_further->dst_offset += stop.parameter_offset;
                if (stop.rest) append(further, with_further, *stop.rest);
                self(self, further, with_further, source + stop.source, level + 1);
            }
        };
        write_out(write_out, rest, parameters, begin.source, 0);
    }
    return all;
}

}  // namespace dnnmove::view
