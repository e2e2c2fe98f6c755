// Planning of transfers, and the copies of several sources by plans that they share.
#include "plan/copies.hpp"

#include <utility>

namespace dnnmove {

// Plans that are aligned in another way may have other units: each does the share of its own.
void PlannedCopy::run_repeats(const std::byte* const* srcs, std::byte* const* dsts, std::int64_t begin,
                              std::int64_t end) const noexcept {
    const auto& [repeat, others] = *repeats;
    const std::int64_t each = planned.plan->units();
    for (std::int64_t k = begin / each; k * each < end; ++k) {
        const std::size_t turn = static_cast<std::size_t>(k) % (others.size() + 1);
        const Planned& one = turn == 0 ? planned : others[turn - 1];
        const std::int64_t first = std::max<std::int64_t>(begin - k * each, 0);
        const std::int64_t last = std::min(end - k * each, each);
        const std::int64_t own = one.plan->units();
        one.plan->run((constant != nullptr ? constant : srcs[src + k * repeat.src_step]) + one.src_shift + k * repeat.src_pitch,
                      dsts[dst] + one.dst_shift + k * repeat.dst_pitch, own == each ? first : own * first / each,
                      own == each ? last : own * last / each);
    }
}

PlannedCopy CopyPlanner::plan(const Transfer& transfer) {
    PlannedCopy copy{transfer.src, transfer.dst, plan(transfer.nest), nullptr, constant_of(transfer)};
    if (transfer.repeat.count == 1) return copy;
    copy.repeats = std::make_unique<PlannedCopy::Repeats>(PlannedCopy::Repeats{transfer.repeat, {}});
    std::vector<PlannedCopy::Planned>& others = copy.repeats->others;
    const std::int64_t period = period_of(transfer.repeat, context_.dst_alignment);
    Nest nest = transfer.nest;
    for (std::int64_t k = 1; k < std::min(period, transfer.repeat.count); ++k) {
        nest.dst_offset += transfer.repeat.dst_pitch;
        others.push_back(plan(nest));
        others.back().dst_shift -= k * transfer.repeat.dst_pitch;
    }
    others.shrink_to_fit();
    return copy;
}

PlannedCopy::Planned CopyPlanner::plan(const Nest& nest) {
    context_.dst_offset = nest.dst_offset;
    if (context_.side_by_side_bytes == 0) context_.side_by_side_from = nest.src_offset;
    if (!several_) return {0, 0, std::make_shared<const NestPlan>(nest, context_)};
    // Where it begins decides nothing but how it is aligned.
    std::vector<std::int64_t> key;
    key.reserve(3 + 4 * nest.loops.size());
    key.assign({nest.itemsize, nest.dst_offset & 63, nest.src_offset - context_.side_by_side_from});
    for (const Loop& loop : nest.loops) {
        key.insert(key.end(), {loop.extent, loop.src_stride, loop.dst_stride,
                               static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(loop.table.get()))});
    }
    Known& known = known_[std::move(key)];
    if (known.plan == nullptr) known = {nest, std::make_shared<const NestPlan>(nest, context_)};
    return {nest.src_offset - known.nest.src_offset, nest.dst_offset - known.nest.dst_offset, known.plan};
}

}  // namespace dnnmove
