// The copies that a reorder, or a shuffle, of a layout is made of: the input of a Program.
#include "layout/transfer.hpp"

#include <utility>

#include "layout/axis_pieces.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxZeroes = 64;  // bytes

// Every combination of one piece per axis is one nest.
std::vector<Nest> nests_of(const std::vector<std::vector<Piece>>& axes, std::int64_t itemsize) {
    std::vector<Nest> nests(1);
    nests[0].itemsize = itemsize;
    for (const std::vector<Piece>& pieces : axes) {
        std::vector<Nest> longer;
        for (const Nest& nest : nests) {
            for (const Piece& piece : pieces) {
                longer.push_back(nest);
                Nest& next = longer.back();
                next.src_offset += piece.src_offset;
                next.dst_offset += piece.dst_offset;
                for (const Loop& loop : piece.loops) {
                    if (loop.extent != 1 || loop.table) next.loops.push_back(loop);
                }
            }
        }
        nests = std::move(longer);
    }
    return nests;
}

void append(std::vector<Transfer>& transfers, const std::vector<std::vector<Piece>>& axes, std::int64_t itemsize, int src) {
    for (Nest& nest : nests_of(axes, itemsize)) transfers.push_back(Transfer{src, 0, std::move(nest)});
}

// The same digits, with strides that count positions.
Axis counted(const Axis& axis) {
    Axis result = axis;
    std::int64_t positions = 1;
    for (auto digit = result.digits.rbegin(); digit != result.digits.rend(); ++digit) {
        digit->stride = positions;
        positions *= digit->length;
    }
    return result;
}

}  // namespace

std::vector<Transfer> padding_transfers(const Layout& layout, std::size_t done) {
    std::vector<Transfer> transfers;
    if (layout.empty()) return transfers;
    // The padding of axis k: real indices before k, its own padding at k, everything behind k; of axis
    // `done`, all indices.
    for (std::size_t k = 0; k < layout.ndim(); ++k) {
        if (layout.padded_dims[k] == layout.dims[k] || k == done) continue;
        std::vector<std::vector<Piece>> axes;
        for (std::size_t axis = 0; axis < layout.ndim(); ++axis) {
            const Axis steps = layout.axis(axis);
            const std::int64_t begin = axis == k ? layout.dims[axis] : 0;
            const std::int64_t end = axis < k && axis != done ? layout.dims[axis] : layout.padded_dims[axis];
            axes.push_back(copy_pieces(repeated(steps), steps, begin, end));
        }
        // Large elements are zeroed byte by byte: the source of zeroes does not grow with them.
        const bool large = layout.itemsize > kMaxZeroes;
        if (large) axes.push_back({Piece{{Loop{layout.itemsize, 0, 1, nullptr}}, 0, 0}});
        append(transfers, axes, large ? 1 : layout.itemsize, kZeroSource);
    }
    return transfers;
}

std::vector<Transfer> reorder_transfers(const Layout& src, const Layout& dst, const std::shared_ptr<const Sink>& sink,
                                        std::optional<std::size_t> axis) {
    if (dst.empty()) return {};
    // Of each axis: where the elements lie, and which position of `axis` they have, by the same loops.
    std::vector<std::vector<Piece>> places;
    std::vector<std::vector<Piece>> positions;
    for (std::size_t k = 0; k < dst.ndim(); ++k) {
        const Axis from = src.axis(k);
        const Axis to = dst.axis(k);
        places.push_back(copy_pieces(from, to, 0, dst.dims[k]));
        if (axis) positions.push_back(copy_pieces(from, k == *axis ? counted(to) : repeated(to), 0, dst.dims[k]));
    }
    std::vector<Transfer> transfers = padding_transfers(dst);
    const std::size_t first = transfers.size();
    append(transfers, places, src.itemsize, 0);
    if (!sink) return transfers;
    const std::vector<Nest> parameters = axis ? nests_of(positions, src.itemsize) : std::vector<Nest>{};
    for (std::size_t k = first; k < transfers.size(); ++k) {
        transfers[k].sink = sink;
        if (axis) transfers[k].parameters = std::make_shared<const Nest>(parameters[k - first]);
    }
    return transfers;
}

std::vector<Transfer> shuffle_transfers(const Layout& layout, std::size_t shuffled, std::int64_t group_size) {
    if (layout.empty()) return {};
    std::vector<std::vector<Piece>> axes;
    for (std::size_t axis = 0; axis < layout.ndim(); ++axis) {
        const Axis steps = layout.axis(axis);
        axes.push_back(axis == shuffled ? shuffle_pieces(steps, layout.dims[axis], group_size)
                                        : copy_pieces(steps, steps, 0, layout.dims[axis]));
    }
    std::vector<Transfer> transfers = padding_transfers(layout, shuffled);
    append(transfers, axes, layout.itemsize, 0);
    return transfers;
}

}  // namespace dnnmove
