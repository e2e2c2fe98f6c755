// Copies that zero padding along the way, and how to do without.
#include "plan/padding.hpp"

#include <algorithm>
#include <utility>

namespace dnnmove {
namespace {

constexpr std::int64_t kMostZeroes = 64;  // bytes in one piece: longer ones are written byte by byte

bool pads(const Loop& loop) { return loop.table && loop.table->pads(); }

// The steps [begin, end) of the padding loop at `position`.
Transfer part(const Transfer& transfer, std::size_t position, std::size_t begin, std::size_t end) {
    const auto cut = [begin, end](const Dims& offsets) {
        const auto at = [&](std::size_t k) {
            return offsets.begin() + static_cast<std::ptrdiff_t>(std::min(k, offsets.size()));
        };
        return Dims(at(begin), at(end));
    };
    Transfer result = transfer;
    Loop& loop = result.nest.loops[position];
    auto table = std::make_shared<OffsetTable>();
    table->src = cut(loop.table->src);
    table->dst = cut(loop.table->dst);
    loop.extent = static_cast<std::int64_t>(end - begin);
    loop.table = std::move(table);
    return result;
}

void read_zeroes(Transfer& transfer) {
    Nest& nest = transfer.nest;
    transfer.src = kZeroSource;
    nest.src_offset = 0;
    transfer.repeat.src_step = 0;
    transfer.repeat.src_pitch = 0;
    for (Loop& loop : nest.loops) {
        loop.src_stride = 0;
        if (!loop.table) continue;
        auto table = std::make_shared<OffsetTable>(*loop.table);
        table->src.assign(table->dst.size(), 0);
        loop.table = std::move(table);
    }
    if (nest.itemsize > kMostZeroes) {
        nest.loops.push_back(Loop{nest.itemsize, 0, 1, nullptr});
        nest.itemsize = 1;
    }
}

}  // namespace

std::vector<Transfer> split_padding(const Transfer& transfer) {
    const auto& loops = transfer.nest.loops;
    const auto found = std::find_if(loops.begin(), loops.end(), [](const Loop& loop) { return pads(loop); });
    const auto position = static_cast<std::size_t>(found - loops.begin());
    const OffsetTable& table = *found->table;
    std::vector<Transfer> parts;
    if (table.whole > 0) parts.push_back(part(transfer, position, 0, table.whole));
    if (table.whole < table.src.size()) parts.push_back(part(transfer, position, table.whole, table.src.size()));
    parts.push_back(part(transfer, position, table.src.size(), table.dst.size()));
    read_zeroes(parts.back());
    return parts;
}

}  // namespace dnnmove
