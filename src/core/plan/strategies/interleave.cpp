// Interleave: 2, 4, 8 or 16 streams of elements interleaved into a run of the destination, or deinterleaved.
#include <bit>

#include "plan/choose.hpp"
#include "plan/costs.hpp"
#include "plan/gather_table.hpp"
#include "plan/row_strategy.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kMaxElement = 16;  // bytes

bool may_be_streams(const Loop& loop) { return loop.extent == 2 || loop.extent == 4 || loop.extent == 8 || loop.extent == 16; }

// a walks the streams, b is the loop around them.
struct Interleave final : RowStrategy {
    using RowStrategy::RowStrategy;

    bool match(const Problem& problem) {
        const std::vector<Loop>& loops = problem.loops;
        if (problem.innermost != Problem::Innermost::elements || problem.kernels().weave == nullptr || itemsize > kMaxElement ||
            !power_of_two(itemsize) || loops.size() < 2) {
            return false;
        }
        const std::size_t last = loops.size() - 1;
        const Loop& inner = loops[last];
        const Loop& before = loops[last - 1];
        if (may_be_streams(inner) && continues(before, inner.extent * itemsize) && before.src_stride == itemsize &&
            before.extent * itemsize >= kLine) {
            a = {before.extent, before.extent, itemsize, inner.extent * itemsize, true};
            pitch = inner.src_stride;
            streams = static_cast<int>(inner.extent);
            taken = {last - 1, last};
        } else {
            const auto found = std::find_if(loops.begin(), loops.end(), [&](const Loop& loop) {
                return !loop.table && loop.src_stride == itemsize && may_be_streams(loop) &&
                       inner.src_stride == loop.extent * itemsize;
            });
            if (found == loops.end() || &*found == &inner || inner.extent * itemsize < kLine) return false;
            separates = true;
            a = {inner.extent, inner.extent, inner.src_stride, itemsize, true};
            pitch = found->dst_stride;
            streams = static_cast<int>(found->extent);
            taken = {static_cast<std::size_t>(found - loops.begin()), last};
        }
        for (std::size_t position = loops.size(); position-- > 0;) {
            if (std::find(taken.begin(), taken.end(), position) != taken.end()) continue;
            take_second_loop(problem, position, separates ? 0 : a.extent * a.dst_stride);
            break;
        }
        return true;
    }
    double cost(const Problem& problem) const override {
        const double rounds = std::countr_zero(static_cast<unsigned>(streams));
        const auto bytes = static_cast<double>(a.extent * itemsize);
        const double waste = static_cast<double>((a.extent * itemsize + 63) / 64 * 64) / bytes;
        double cycles = waste * (1.5 + rounds) / 64;
        // Short rows that end inside a vector cannot be streamed line by line.
        if (a.extent * a.dst_stride < 2048 && a.extent * itemsize % kLine != 0) cycles += 0.06;
        return cycles * costs_of(problem.kernels()).weave;
    }
    StoreMode size(const Problem& problem) override {
        permutes = weave_permutes(itemsize, separates);
        const PlanContext& context = problem.context;
        const std::int64_t vector_steps = kLine / itemsize;
        const std::int64_t step = a.dst_stride;  // bytes
        const std::int64_t row = a.extent * step;
        const std::int64_t alignment = row_alignment(problem);
        const bool whole = a.extent % vector_steps == 0;
        const bool reaches_line = alignment % line_part(step) == 0;
        const bool same_phase = !separates || pitch % kLine == 0;
        // Deinterleaved rows repeat part of what they have streamed at their ends: little of long ones.
        const std::int64_t long_row = separates ? 2 * kShortRowBytes : kShortRowBytes / 2;
        const bool direct = context.beyond_cache && same_phase &&
                            ((whole && alignment == kLine) || (reaches_line && row >= long_row));
        const bool stage = context.beyond_cache && !direct && !separates;
        unit_step = step;
        const std::int64_t unit = stage ? context.unit_bytes : separates ? kUnitBytes / streams : kUnitBytes;
        size_inside_out(step, unit, vector_steps, stage);
        if (direct) return StoreMode::nontemporal;
        return stage && fits_stage(kMaxUnitBytes / 2) ? StoreMode::staged : StoreMode::cached;
    }
    void run(const Call& call) const noexcept override {
        call.kernels.weave(call.src(), call.dst, static_cast<int>(itemsize), streams, separates, permutes.data(),
                           a.steps(call.unit.a_tile) * itemsize, pitch, b_of(call), call.stores());
    }
    StrategyWords describe() const override {
        return {separates ? "deinterleave" : "interleave", "elements", "rows", std::to_string(streams) + " streams"};
    }
    std::size_t memory() const override { return Strategy::memory() + heap_bytes(permutes); }

    bool separates = false;  // deinterleaves
    int streams = 0;
    std::int64_t pitch = 0;  // bytes from stream to stream, on the side where they are separate
    std::vector<GatherIndex> permutes;
};

}  // namespace

std::unique_ptr<Strategy> match_interleave(const Problem& problem) { return matched<Interleave>(problem); }

}  // namespace dnnmove
