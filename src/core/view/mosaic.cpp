// Mosaics: the operations, each a change of positions along axes.
#include "view/mosaic.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "view/work.hpp"
#include "runtime/error.hpp"

namespace dnnmove::view {
namespace {

// `piece` with `axis` replaced; the offset of `positions` moves to the piece.
Piece replaced(const Piece& piece, std::size_t axis, Positions positions) {
    Piece result = piece;
    result.offset += positions.offset;
    positions.offset = 0;
    result.axes[axis] = std::move(positions);
    return result;
}

// high * low_length + low as one set again.
Positions combine(const Positions& high, const Positions& low, std::int64_t low_length) {
    Positions both{high.start * low_length + low.start, high.offset + low.offset, {}};
    for (const Term& term : high.terms) both.terms.push_back(term.scaled(low_length));
    both.terms.append(low.terms.begin(), low.terms.end());
    normalize(both);
    return both;
}

// Axes [old_begin, old_end) of one shape hold the same elements as [new_begin, new_end) of another.
struct Group {
    std::size_t old_begin, old_end, new_begin, new_end;
};

// The finest groups of a reshape; neither shape is empty of elements.
std::vector<Group> group_axes(const Dims& from, const Dims& to) {
    std::vector<Group> groups;
    std::size_t i = 0, j = 0;
    while (i < from.size() || j < to.size()) {
        Group group{i, i, j, j};
        std::int64_t ours = 1, theirs = 1;
        do {
            if (i < from.size() && (ours <= theirs || j == to.size())) {
                ours *= from[i++];
            } else {
                theirs *= to[j++];
            }
        } while (ours != theirs);
        group.old_end = i;
        group.new_end = j;
        groups.push_back(group);
    }
    return groups;
}

constexpr std::size_t kMaxRuns = 256;
constexpr std::size_t kMostBoxes = 8;  // instead of one box with a table of offsets
// More runs than a few make boxes only if they are so long, in indices on average.
constexpr std::size_t kFewRuns = 4;
constexpr std::size_t kLongRun = 4;
// Positions at least so far apart, and at most so many, of few pieces, are listed where they would be too many boxes: with an array
// between two passes all positions would be written. (Each is looked for in each piece.)
constexpr std::int64_t kSparseStep = 16;
constexpr std::int64_t kMostListed = std::int64_t{1} << 17;

// The indices as runs of one step each; nothing where there are more than `limit`.
std::optional<std::vector<Mosaic::Run>> runs_of(const Dims& indices, std::size_t limit) {
    std::vector<Mosaic::Run> runs;
    for (std::size_t k = 0; k < indices.size();) {
        if (runs.size() == limit) return std::nullopt;
        const std::int64_t step = k + 1 < indices.size() ? indices[k + 1] - indices[k] : 1;
        std::size_t end = k + 1;
        while (end < indices.size() && indices[end] - indices[end - 1] == step) ++end;
        runs.push_back({indices[k], step, static_cast<std::int64_t>(end - k)});
        k = end;
    }
    return runs;
}

// Finds a list of indices in sets of positions: the shorter of the two is gone through.
class Finder {
public:
    // Of an axis of `length`.
    Finder(const Dims& indices, std::int64_t length) : indices_(indices), length_(length) {}

    // Which of the indices are positions of the set, rising, and the offsets of these.
    std::pair<Dims, Dims> among(const Positions& set) {
        std::pair<Dims, Dims> found;
        const auto add = [&](std::size_t k, std::int64_t offset) {
            found.first.push_back(static_cast<std::int64_t>(k));
            found.second.push_back(offset);
        };
        const std::size_t count = indices_.size();
        if (length_ / 4 >= static_cast<std::int64_t>(count) || count >= kNone) {
            const std::int64_t first = set.start, last = set.last();
            for (std::size_t k = 0; k < count; ++k) {
                if (indices_[k] < first || indices_[k] > last) continue;
                if (const auto offset = set.find(indices_[k])) add(k, *offset);
            }
            return found;
        }
        if (first_.empty()) note_places();
        walk(set, 0, set.start, set.offset);
        for (std::size_t word = 0; word < hit_.size(); ++word) {
            for (; hit_[word] != 0; hit_[word] &= hit_[word] - 1) {
                const std::size_t k = word * 64 + static_cast<std::size_t>(std::countr_zero(hit_[word]));
                add(k, offsets_[k]);
            }
        }
        return found;
    }

private:
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

    // Where each position of the axis stands among the indices.
    void note_places() {
        first_.assign(static_cast<std::size_t>(length_), kNone);
        next_.resize(indices_.size());
        hit_.assign((indices_.size() + 63) / 64, 0);
        offsets_.resize(indices_.size());
        for (std::size_t k = 0; k < indices_.size(); ++k) {
            next_[k] = std::exchange(first_[static_cast<std::size_t>(indices_[k])], static_cast<std::uint32_t>(k));
        }
    }

    // The positions of the terms from `level` on, added to one of those before.
    void walk(const Positions& set, std::size_t level, std::int64_t position, std::int64_t offset) {
        if (level < set.terms.size()) {
            const Term& term = set.terms[level];
            for (std::int64_t k = 0; k < term.extent; ++k)
                walk(set, level + 1, position + term.position(k), offset + term.offset(k));
            return;
        }
        for (std::uint32_t k = first_[static_cast<std::size_t>(position)]; k != kNone; k = next_[k]) {
            hit_[k / 64] |= std::uint64_t{1} << (k % 64);
            offsets_[k] = offset;
        }
    }

    const Dims& indices_;
    std::int64_t length_;
    // Once they are needed:
    std::vector<std::uint32_t> first_;  // by position: the last of the indices that names it
    std::vector<std::uint32_t> next_;  // by index: the one before it that names the same position
    std::vector<std::uint64_t> hit_;  // a bit for each index
    Dims offsets_;  // of those that are hit
};

}  // namespace

Mosaic::Mosaic(const Dims& shape, const Dims& strides, std::int64_t itemsize) : shape_(shape), itemsize_(itemsize) {
    if (empty()) return;
    Piece piece;
    piece.axes.reserve(shape.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        piece.axes.push_back(Positions::all(shape[axis], strides[axis]));
    }
    pieces_.push_back(std::move(piece));
}

Mosaic Mosaic::dense(const Dims& shape, std::int64_t itemsize) {
    return Mosaic(shape, dense_strides(shape, itemsize), itemsize);
}

Mosaic Mosaic::blank(Dims shape) const {
    Mosaic result;
    result.shape_ = std::move(shape);
    result.itemsize_ = itemsize_;
    result.pitch_ = pitch_;
    result.constants_ = constants_;
    result.most_ = most_;
    return result;
}

void Mosaic::add(Pieces& pieces, Piece piece) const {
    Work& work = Work::of_thread();
    if (++work.done > work.most) throw TooManyBoxes("more boxes than are worth it");
    if (pieces.size() == most_) throw TooManyBoxes("more than " + std::to_string(most_) + " nests");
    pieces.push_back(std::move(piece));
}

bool Mosaic::empty() const { return std::find(shape_.begin(), shape_.end(), 0) != shape_.end(); }

Mosaic Mosaic::transpose(const std::vector<std::size_t>& order) const {
    Mosaic result = blank(shape_);
    for (std::size_t axis = 0; axis < order.size(); ++axis) result.shape_[axis] = shape_[order[axis]];
    Work::of_thread().done += pieces_.size();
    result.pieces_.reserve(pieces_.size());
    for (const Piece& piece : pieces_) {
        Piece& to = result.pieces_.emplace_back();
        to.offset = piece.offset;
        to.axes.reserve(order.size());
        for (const std::size_t axis : order) to.axes.push_back(piece.axes[axis]);
    }
    return result;
}

Mosaic Mosaic::swap_halves(std::size_t axis, std::int64_t low) const {
    if (empty() || low == 1 || low == shape_[axis]) return *this;
    const std::int64_t high = shape_[axis] / low;
    Mosaic result = blank(shape_);
    result.pieces_.reserve(pieces_.size());
    std::vector<std::pair<Positions, Positions>> halves;
    for (const Piece& piece : pieces_) {
        divide(piece.axes[axis], low, most_ - result.pieces_.size(), halves);
        for (const auto& [first, second] : halves) {
            add(result.pieces_, replaced(piece, axis, combine(second, first, high)));
        }
    }
    result.join();
    return result;
}

Mosaic Mosaic::take(std::size_t axis, std::int64_t begin, std::int64_t step, std::int64_t count) const {
    try {
        Mosaic result = cut_out(axis, begin, step, count);
        if (count != shape_[axis]) result.join();  // those of a whole axis are turned at most
        return result;
    } catch (const TooManyBoxes&) {
        // Boxes that would have a position each, as those of a diagonal: a list of them may be one.
        const bool few = pieces_.size() <= kMostBoxes && count <= kMostListed;
        if (!few || (step > -kSparseStep && step < kSparseStep)) throw;
    }
    Dims indices(static_cast<std::size_t>(count));
    for (std::int64_t k = 0; k < count; ++k) indices[static_cast<std::size_t>(k)] = begin + k * step;
    return list(axis, indices);
}

std::vector<Mosaic> Mosaic::split(std::size_t axis, const Dims& lengths) const {
    std::vector<Mosaic> parts;
    parts.reserve(lengths.size());
    std::int64_t begin = 0;
    for (const std::int64_t length : lengths) {
        parts.push_back(take(axis, begin, 1, length));
        begin += length;
    }
    return parts;
}

Mosaic Mosaic::cut_out(std::size_t axis, std::int64_t begin, std::int64_t step, std::int64_t count) const {
    if (count == shape_[axis] && (step > 0 || count <= 1)) return *this;
    Mosaic result = blank(shape_);
    result.shape_[axis] = count;
    if (result.empty()) return result;
    result.pieces_.reserve(pieces_.size());
    const std::int64_t pace = count == 1 ? 1 : step < 0 ? -step : step;
    const std::int64_t reach = (count - 1) * pace;
    const std::int64_t first = count > 1 && step < 0 ? begin - reach : begin;
    for (const Piece& piece : pieces_) {
        for (const Positions& within : cut(piece.axes[axis], first, first + reach + 1, kMaxPieces)) {
            for (Positions& kept : every(within, pace, kMaxPieces)) {
                if (step < 0) reverse(kept, count);
                add(result.pieces_, replaced(piece, axis, std::move(kept)));
            }
        }
    }
    return result;
}

Mosaic Mosaic::take(std::size_t axis, const std::vector<Run>& runs) const {
    Mosaic result = blank(shape_);
    result.shape_[axis] = 0;
    for (const Run& run : runs) result.shape_[axis] += run.count;
    if (result.empty()) return result;
    std::int64_t begin = 0;
    for (const Run& run : runs) {
        const bool repeats = run.step == 0;
        for (const Piece& piece : cut_out(axis, run.begin, repeats ? 1 : run.step, repeats ? 1 : run.count).pieces_) {
            Positions positions = piece.axes[axis];
            if (repeats) positions = Positions::all(run.count, 0);
            positions.start += begin;
            add(result.pieces_, replaced(piece, axis, std::move(positions)));
        }
        begin += run.count;
    }
    result.join();
    return result;
}

Mosaic Mosaic::gather(std::size_t axis, const Dims& indices) const {
    const auto runs = runs_of(indices, kMaxRuns);
    const bool few = runs && (runs->size() <= kFewRuns || kLongRun * runs->size() <= indices.size());
    if (few && pieces_.size() <= most_ / kMostBoxes) {
        Mosaic boxes = take(axis, *runs);
        if (boxes.pieces_.size() <= kMostBoxes * pieces_.size()) return boxes;
    }
    return list(axis, indices);
}

Mosaic Mosaic::list(std::size_t axis, const Dims& indices) const {
    Mosaic result = blank(shape_);
    result.shape_[axis] = static_cast<std::int64_t>(indices.size());
    if (result.empty()) return result;
    Work& work = Work::of_thread();
    work.done += pieces_.size();
    result.pieces_.reserve(pieces_.size());
    if (work.done + indices.size() / Work::kEntries > work.most) throw TooManyBoxes("a longer table than is worth it");
    // Pieces that differ along other axes alone list the same.
    struct Known {
        std::uint64_t hash;
        const Positions* of;
        std::optional<Positions> listed;  // nothing where no index is among them
    };
    std::vector<Known> all;
    Finder finder(indices, shape_[axis]);
    for (const Piece& piece : pieces_) {
        const Positions& set = piece.axes[axis];
        const std::uint64_t hash = mixed(mixed(hash_of(set.terms), set.start), set.offset);
        auto known = std::ranges::find_if(all, [&](const Known& other) { return other.hash == hash && *other.of == set; });
        if (known == all.end()) {
            auto [positions, offsets] = finder.among(set);
            all.push_back({hash, &set, std::nullopt});
            known = all.end() - 1;
            if (!positions.empty()) {
                known->listed = Positions{positions.front(), offsets.front(), {}};
                known->listed->terms.push_back(Term::listed(std::move(positions), std::move(offsets)));
                normalize(*known->listed);
            }
        }
        if (known->listed) result.pieces_.push_back(replaced(piece, axis, *known->listed));
    }
    result.join();
    return result;
}

Mosaic Mosaic::windows(std::size_t axis, std::int64_t size, std::int64_t step) const {
    const std::int64_t length = shape_[axis];
    step = std::min(step, length);  // a longer step, of any size, leaves the one window alike
    const std::int64_t count = (length - size) / step + 1;
    Mosaic result = blank(shape_);
    result.shape_[axis] = count;
    result.shape_.push_back(size);
    if (result.empty()) return result;
    for (const Piece& piece : pieces_) {
        // An axis of one stride has windows of one stride each.
        const Positions& whole = piece.axes[axis];
        if (whole.count() != length || whole.terms.size() > 1 || (length > 1 && whole.terms[0].listing)) break;
        const std::int64_t stride = length > 1 ? whole.terms[0].stride : 0;
        result.pieces_.push_back(replaced(piece, axis, Positions::all(count, step * stride)));
        result.pieces_.back().axes.push_back(Positions::all(size, stride));
    }
    if (result.pieces_.size() == pieces_.size()) {
        result.join();
        return result;
    }
    // Any other axis: the k-th elements of all windows, or all elements of the k-th window, one k after another.
    result.pieces_.clear();
    const bool by_window = count < size;
    for (std::int64_t k = 0; k < std::min(count, size); ++k) {
        const Mosaic part = by_window ? cut_out(axis, k * step, 1, size) : cut_out(axis, k, step, count);
        for (const Piece& piece : part.pieces_) {
            Piece wide = piece;
            wide.axes.push_back(Positions{k, 0, {}});
            if (by_window) std::swap(wide.axes[axis], wide.axes.back());
            add(result.pieces_, std::move(wide));
        }
    }
    result.join();
    return result;
}

Mosaic Mosaic::reshape(const Dims& shape) const {
    if (shape == shape_) return *this;
    Mosaic result = blank(shape);
    if (empty()) return result;

    // One axis per group first: pieces that an earlier reshape cut may join there. They do not where no axes that take
    // steps come together, since none joined before.
    const std::vector<Group> groups = group_axes(shape_, shape);
    const auto steps = [](const Dims& lengths, std::size_t begin, std::size_t end) {
        return std::count_if(lengths.begin() + static_cast<std::ptrdiff_t>(begin),
                             lengths.begin() + static_cast<std::ptrdiff_t>(end),
                             [](std::int64_t length) { return length > 1; });
    };
    Work::of_thread().done += pieces_.size();
    Mosaic flat;
    flat.pieces_.reserve(pieces_.size());
    for (const Piece& piece : pieces_) {
        Piece& to = flat.pieces_.emplace_back();
        to.offset = piece.offset;
        to.axes.reserve(groups.size());
        for (const Group& group : groups) {
            if (group.old_end == group.old_begin) {
                to.axes.emplace_back();
                continue;
            }
            to.axes.push_back(piece.axes[group.old_begin]);
            Positions& all = to.axes.back();
            for (std::size_t axis = group.old_begin + 1; axis < group.old_end; ++axis) {
                all = combine(all, piece.axes[axis], shape_[axis]);
            }
        }
    }
    if (std::ranges::any_of(groups, [&](const Group& group) { return steps(shape_, group.old_begin, group.old_end) > 1; }))
        flat.join();

    // Then the low axes of every group are divided off, last first.
    result.pieces_ = std::move(flat.pieces_);
    const std::size_t whole = result.pieces_.size();
    std::vector<std::pair<Positions, Positions>> parts;
    for (std::size_t g = groups.size(); g-- > 0;) {
        const Group& group = groups[g];
        const auto position = static_cast<std::ptrdiff_t>(g);
        if (group.new_begin == group.new_end) {
            for (Piece& piece : result.pieces_) piece.axes.erase(piece.axes.begin() + position);
        }
        for (std::size_t axis = group.new_end; axis-- > group.new_begin + 1;) {
            Pieces pieces;
            pieces.reserve(result.pieces_.size());
            for (const Piece& piece : result.pieces_) {
                divide(piece.axes[g], shape[axis], most_ - pieces.size(), parts);
                for (auto& [high, low] : parts) {
                    Piece cut{piece.offset + high.offset, {}};
                    high.offset = 0;
                    cut.axes.reserve(shape.size());
                    cut.axes.assign(piece.axes.begin(), piece.axes.begin() + position);
                    cut.axes.push_back(std::move(high));
                    cut.axes.push_back(std::move(low));
                    cut.axes.insert(cut.axes.end(), piece.axes.begin() + position + 1, piece.axes.end());
                    add(pieces, std::move(cut));
                }
            }
            result.pieces_ = std::move(pieces);
        }
    }
    // Pieces of which none was cut do not join, since they did not before.
    if (result.pieces_.size() != whole) result.join();
    return result;
}

Mosaic Mosaic::broadcast(const Dims& shape, const std::vector<std::size_t>& to) const {
    Mosaic result = blank(shape);
    if (result.empty()) return result;
    Work::of_thread().done += pieces_.size();
    result.pieces_.reserve(pieces_.size());
    for (const Piece& piece : pieces_) {
        Piece& wide = result.pieces_.emplace_back();
        wide.offset = piece.offset;
        Dims before(shape.size(), 1);
        wide.axes.resize(shape.size());
        for (std::size_t axis = 0; axis < to.size(); ++axis) {
            wide.axes[to[axis]] = piece.axes[axis];
            before[to[axis]] = shape_[axis];
        }
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            if (before[axis] != shape[axis]) wide.axes[axis] = Positions::all(shape[axis], 0);
        }
    }
    return result;
}

std::vector<Nest> Mosaic::nests(const Dims& strides) const {
    std::vector<Nest> nests;
    for (const Piece& piece : pieces_) {
        Nest& nest = nests.emplace_back();
        nest.itemsize = itemsize_;
        nest.src_offset = piece.offset;
        for (std::size_t axis = 0; axis < strides.size(); ++axis) {
            nest.dst_offset += piece.axes[axis].start * strides[axis];
            for (const Term& term : piece.axes[axis].terms) {
                if (!term.listing) {
                    nest.loops.push_back(Loop{term.extent, term.stride, term.step * strides[axis], nullptr});
                    continue;
                }
                auto table = std::make_shared<OffsetTable>(OffsetTable{term.listing->offsets, term.listing->positions});
                for (std::int64_t& offset : table->dst) offset *= strides[axis];
                nest.loops.push_back(Loop{term.extent, 0, 0, std::move(table)});
            }
        }
    }
    return nests;
}

std::vector<Nest> Mosaic::dense_nests() const {
    if (empty()) return {};
    return reshape({element_count(shape_)}).nests({itemsize_});
}

std::string Mosaic::describe() const {
    // "84"; "source" or "2 sources" where it goes to others, and where it lies elsewhere in these "source+84".
    const auto spell = [this](const Term& term) {
        if (term.listing) return std::string("table");
        const auto [source, offset] = place(term.stride);
        if (source == 0) return std::to_string(offset);
        const std::string step = source == 1 ? "source" : std::to_string(source) + (source == -1 ? " source" : " sources");
        return step + (offset == 0 ? "" : (offset > 0 ? "+" : "") + std::to_string(offset));
    };
    if (empty()) return "empty";
    if (pieces_.size() > 1) return "in " + std::to_string(pieces_.size()) + " blocks";
    std::string text;
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
        const auto& terms = pieces_.front().axes[axis].terms;
        text += axis == 0 ? "" : ", ";
        if (terms.empty()) text += '1';
        for (std::size_t i = 0; i < terms.size(); ++i) {
            text += (i == 0 ? "" : " ") + std::to_string(terms[i].extent) + "@" + spell(terms[i]);
        }
    }
    const auto [source, offset] = place(pieces_.front().offset);
    return "[" + text + "]" + (offset == 0 ? "" : " from byte " + std::to_string(offset)) +
           (source == 0  ? ""
            : source < 0 ? " of a constant"
                         : " of source " + std::to_string(source));
}

}  // namespace dnnmove::view
