// A nest plan: one canonical nest, a strategy for its innermost part, and a walk over the rest.
#include "plan/plan.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "plan/choose.hpp"

namespace dnnmove {

NestPlan::NestPlan(const Nest& nest, const PlanContext& context)
    : kernels_(context.kernels), near_(context.near), bytes_(nest.itemsize) {
    for (const Loop& loop : nest.loops) bytes_ *= loop.extent;
    const Problem problem(nest.loops, nest.itemsize, context);
    auto [strategy, schedule] = choose(problem);
    if (strategy == nullptr) return;
    stores_ = schedule.stores;
    walk_ = make_walk(problem, *strategy, schedule);
    walk_.src_offset += nest.src_offset;
    walk_.dst_offset += nest.dst_offset;
    units_ = walk_.units();
    if (walk_.blocks != nullptr) {
        std::int64_t units = walk_.blocks->steps;  // of a block
        for (std::size_t k = walk_.along_rows + 1; k < walk_.loops.size(); ++k) units *= walk_.loops[k].extent;
        lines_per_unit_ = (walk_.blocks->lines() + units - 1) / units;
    }
    strategy_ = std::move(strategy);
}

std::size_t NestPlan::memory() const {
    return sizeof *this + strategy_->memory() + heap_bytes(walk_.loops) +
           (walk_.blocks == nullptr ? 0 : sizeof *walk_.blocks + heap_bytes(walk_.blocks->rows));
}

void NestPlan::run(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) const noexcept {
    if (begin >= end) return;
    if (stores_ == StoreMode::staged) return run_staged(src, dst, begin, end);
    Call call{
        *kernels_, stores_, near_, src, dst + walk_.dst_offset, {walk_.src_offset, 0, 0, true}, {walk_.src_offset, 0, 0, true}};
    if (walk_.loops.empty()) return strategy_->run(call);
    LoopCounter at = begin == 0 ? LoopCounter(walk_) : LoopCounter(walk_, begin);
    for (std::int64_t k = begin; k < end; ++k) {
        call.unit = at.unit();
        call.dst = dst + at.dst();
        if (k + 1 < end) at.next();
        call.next = at.unit();
        strategy_->run(call);
    }
}

// Moves bytes from the stage to the destination and asks for so many lines meanwhile.
void NestPlan::unstage_asking(const std::byte* stage, std::byte* dst, std::int64_t bytes, LinesAhead& ahead,
                              std::int64_t lines) const noexcept {
    constexpr std::int64_t kPiece = 4 * kLine;
    for (std::int64_t k = 0; k < bytes; k += kPiece) {
        const std::int64_t now = lines * kPiece / std::max(kPiece, bytes - k);
        ahead.ask(now);
        lines -= now;
        kernels_->stream(stage + k, dst + k, std::min(kPiece, bytes - k));
    }
}

// Units that follow each other in the destination collect in the stage; whole lines leave it, and the
// bytes of the last, partial line stay for the next units.
void NestPlan::run_staged(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) const noexcept {
    alignas(64) std::byte stage[std::max(2 * kMaxUnitBytes, kFlushBytes + kMaxGroupedBytes) + 2 * kLine];
    const Strategy& strategy = *strategy_;
    const auto phase_of = [](const std::byte* p) {
        return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p) & (kLine - 1));
    };
    std::byte* to = nullptr;  // where the stage goes; stage + phase_of(to) is its first byte, so that lines match
    std::int64_t filled = 0;
    LoopCounter at(walk_, begin);
    Call call{*kernels_, stores_, near_, src};
    LinesAhead ahead(walk_.blocks.get());
    std::int64_t due = 0;  // lines to ask for
    for (std::int64_t k = begin; k < end; ++k) {
        call.unit = at.unit();
        std::byte* start = dst + at.dst();
        if (walk_.blocks != nullptr) {
            if (at.starts_block()) {
                const std::int64_t distance = at.to_next_block();
                ahead.start(distance == 0 ? nullptr : src + call.unit.src + distance);
                due = 0;
            }
            due += lines_per_unit_;
        }
        if (k + 1 < end) at.next();
        call.next = at.unit();
        if (start != to + filled) {
            if (filled != 0) kernels_->stream(stage + phase_of(to), to, filled);
            to = start;
            filled = 0;
        }
        call.dst = stage + phase_of(to) + filled;
        strategy.run(call);
        filled += strategy.a.steps(call.unit.a_tile) * strategy.b.steps(call.unit.b_tile) * strategy.unit_step;
        if (filled >= kFlushBytes) {
            const std::int64_t rest = phase_of(to + filled);
            const std::int64_t whole = filled - rest;
            if (walk_.blocks != nullptr) {
                unstage_asking(stage + phase_of(to), to, whole, ahead, std::exchange(due, 0));
            } else {
                strategy.unstage(*kernels_, stage + phase_of(to), to, whole, k + 1 < end ? src + call.next.src : nullptr);
            }
            std::memcpy(stage, stage + phase_of(to) + whole, static_cast<std::size_t>(rest));
            to += whole;
            filled = rest;
        }
    }
    if (filled != 0) kernels_->stream(stage + phase_of(to), to, filled);
}

}  // namespace dnnmove
