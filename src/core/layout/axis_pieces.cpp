// One axis of a copy between two layouts, cut into pieces that plain loops describe.
//
// An axis is a mixed-radix number (axis.hpp). Its digits start at weights: 4b16b of an axis has weights
// 1, 16 and 64. The weights of source and destination together, where each divides the next, cut
// the axis into levels with one stride on either side:
//
//     source  weights 1          16          and destination  1    4
//     levels  [0, 4) step 1, [0, 4) step 4, [0, ...) step 16
#include "layout/axis_pieces.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

namespace dnnmove {
namespace {

// The index steps at which digits start, least significant first; the first is 1.
Dims weights(const Axis& axis) {
    Dims all{1};
    for (std::size_t k = axis.digits.size(); k-- > 1;) {
        if (axis.digits[k].length != 1) all.push_back(all.back() * axis.digits[k].length);
    }
    return all;
}

// Bytes from index 0 to `index`.
std::int64_t offset_of(const Axis& axis, std::int64_t index) {
    std::int64_t offset = 0;
    for (std::size_t k = axis.digits.size(); k-- > 0;) {
        const Digit& digit = axis.digits[k];
        const std::int64_t step = k == 0 ? index : index % digit.length;
        offset += step * digit.stride;
        if (k != 0) index /= digit.length;
    }
    return offset;
}

// One level of the common mixed-radix number. The last level has no upper limit.
struct Level {
    std::int64_t weight;  // indices per step
    std::int64_t steps;   // per step of the next level; unused for the last
    std::int64_t src_stride;
    std::int64_t dst_stride;
    bool table;  // the steps have no stride: offsets are looked up
};

std::vector<Level> levels_of(const Axis& src, const Axis& dst) {
    Dims cuts = weights(src);
    const Dims more = weights(dst);
    cuts.insert(cuts.end(), more.begin(), more.end());
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    bool table = false;
    for (std::size_t k = 1; k < cuts.size(); ++k) table = table || cuts[k] % cuts[k - 1] != 0;
    if (table) cuts = {1, std::lcm(weights(src).back(), more.back())};
    std::vector<Level> levels;
    for (std::size_t k = 0; k < cuts.size(); ++k) {
        const bool last = k + 1 == cuts.size();
        const bool looked_up = table && !last;
        levels.push_back(Level{cuts[k], last ? 0 : cuts[k + 1] / cuts[k], looked_up ? 0 : offset_of(src, cuts[k]),
                               looked_up ? 0 : offset_of(dst, cuts[k]), looked_up});
    }
    return levels;
}

class Cutter {
public:
    Cutter(const Axis& src, const Axis& dst) : src_(src), dst_(dst), levels_(levels_of(src, dst)) {}

    std::vector<Piece> cut(std::int64_t begin, std::int64_t end) {
        if (begin < end) cut(levels_.size() - 1, begin, end, Piece{});
        return std::move(pieces_);
    }

private:
    // The indices [begin, end) of one step of the level above, which starts at `base`.
    void cut(std::size_t k, std::int64_t begin, std::int64_t end, const Piece& base) {
        const Level& level = levels_[k];
        const std::int64_t first = (begin + level.weight - 1) / level.weight;
        const std::int64_t last = end / level.weight;
        if (first > last) return cut(k - 1, begin - last * level.weight, end - last * level.weight, at(base, level, last));
        if (begin < first * level.weight) {
            cut(k - 1, begin - (first - 1) * level.weight, level.weight, at(base, level, first - 1));
        }
        if (first < last) {
            Piece piece = level.table ? base : at(base, level, first);
            piece.loops.push_back(loop(level, first, last));
            for (std::size_t lower = k; lower-- > 0;) piece.loops.push_back(loop(levels_[lower], 0, levels_[lower].steps));
            pieces_.push_back(std::move(piece));
        }
        if (last * level.weight < end) cut(k - 1, 0, end - last * level.weight, at(base, level, last));
    }

    static Piece at(const Piece& base, const Level& level, std::int64_t step) {
        return Piece{{}, base.src_offset + step * level.src_stride, base.dst_offset + step * level.dst_stride};
    }

    Loop loop(const Level& level, std::int64_t begin, std::int64_t end) const {
        if (!level.table) return Loop{end - begin, level.src_stride, level.dst_stride, nullptr};
        auto table = std::make_shared<OffsetTable>();
        for (std::int64_t k = begin; k < end; ++k) {
            table->src.push_back(offset_of(src_, k));
            table->dst.push_back(offset_of(dst_, k));
        }
        return Loop{end - begin, 0, 0, std::move(table)};
    }

    const Axis& src_;
    const Axis& dst_;
    std::vector<Level> levels_;
    std::vector<Piece> pieces_;
};

}  // namespace

std::vector<Piece> copy_pieces(const Axis& src, const Axis& dst, std::int64_t begin, std::int64_t end) {
    return Cutter(src, dst).cut(begin, end);
}

std::vector<Piece> shuffle_pieces(const Axis& axis, std::int64_t length, std::int64_t group_size) {
    const std::int64_t groups = length / group_size;
    if (axis.length() == length) {
        if (const auto halves = factor(axis, group_size)) {
            Axis shuffled = fuse(halves->second, halves->first);
            if (shuffled.digits.empty()) shuffled.digits.push_back(Digit{1, 0});
            return copy_pieces(shuffled, axis, 0, length);
        }
    }
    // Whole blocks and the rest apart: the whole ones fill whole runs of the destination.
    const std::int64_t block = axis.digits.empty() ? 1 : axis.length() / axis.digits.front().length;
    const std::int64_t whole = length / block * block;
    const auto piece = [&](std::int64_t begin, std::int64_t end) {
        auto table = std::make_shared<OffsetTable>();
        table->src.reserve(static_cast<std::size_t>(end - begin));
        table->dst.reserve(static_cast<std::size_t>(end - begin));
        for (std::int64_t k = begin; k < end; ++k) {
            if (k < length) table->src.push_back(offset_of(axis, k % groups * group_size + k / groups));
            table->dst.push_back(offset_of(axis, k));
        }
        table->whole = static_cast<std::size_t>(whole - begin);
        return Piece{{Loop{end - begin, 0, 0, std::move(table)}}, 0, 0};
    };
    if (axis.length() > length) return {piece(0, axis.length())};
    std::vector<Piece> pieces;
    if (whole > 0) pieces.push_back(piece(0, whole));
    if (whole < length) pieces.push_back(piece(whole, length));
    return pieces;
}

Axis repeated(const Axis& axis) {
    Axis result = axis;
    for (Digit& digit : result.digits) digit.stride = 0;
    return result;
}

}  // namespace dnnmove
