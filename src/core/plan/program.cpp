// A program: all the copies of one call, planned once, then executed any number of times.
#include "plan/program.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "kernels/contract.hpp"
#include "plan/block_walk.hpp"
#include "plan/canonical.hpp"
#include "plan/padding.hpp"
#include "plan/plan.hpp"
#include "plan/records.hpp"
#include "plan/rows_together.hpp"
#include "runtime/cpu.hpp"
#include "runtime/heap_bytes.hpp"
#include "runtime/threads.hpp"

namespace dnnmove {
namespace {

// Several nests that read one source take turns in slices of this many bytes, so that lines of the
// source that they share are read once.
constexpr std::int64_t kSliceBytes = 16 * 1024;

// More nests than these are not looked at for parts of the same rows.
constexpr std::size_t kMostSideBySide = 16;

// As much as lies in the second-level caches of two threads.
constexpr std::int64_t kNearBytes = 2 * 1024 * 1024;

// As much as any first-level cache holds at least. (Emerald Rapids, one thread: with claimed lines copies of 4 to 12 KB took 1.02
// to 1.04 times as long as without, of 12 to 36 KB 1.0 to 1.02, of 40 to 120 KB 0.85 to 0.89.)
constexpr std::int64_t kFirstLevelBytes = 32 * 1024;

alignas(64) const std::byte kZeros[4096] = {};

// "source 0", "each of 1000 sources from 0 on", and where it is not the next one "by 2".
std::string name_of_sources(int src, const Transfer::Repeat& repeat) {
    if (src < 0) return src == kZeroSource ? "source zeros" : "a constant";
    if (repeat.count == 1) return "source " + std::to_string(src);
    return "each of " + std::to_string(repeat.count) + " sources from " + std::to_string(src) + " on" +
           (repeat.src_step == 1 ? "" : " by " + std::to_string(repeat.src_step));
}

// What a transfer reads that is none of the caller's sources; else null.
const std::byte* constant_of(const Transfer& transfer) {
    return transfer.src == kZeroSource ? kZeros : transfer.src == kConstantSource ? transfer.constant->data() : nullptr;
}

struct Step {
    // A plan, and how far its nest lies from that of the step.
    struct Planned {
        std::int64_t src_shift;  // bytes
        std::int64_t dst_shift;
        std::shared_ptr<const NestPlan> plan;
    };

    struct Repeats {
        Transfer::Repeat repeat;
        // Of copy 1, 2, ... as long as their destinations are aligned in another way; then from the first again.
        std::vector<Planned> others;
    };

    int src;
    int dst;
    Planned planned;
    std::unique_ptr<Repeats> repeats = nullptr;  // where there are several sources
    const std::byte* constant = nullptr;  // where the source is none of the caller's

    std::int64_t copies() const { return repeats == nullptr ? 1 : repeats->repeat.count; }
    std::string source() const { return name_of_sources(src, repeats == nullptr ? Transfer::Repeat() : repeats->repeat); }
    std::int64_t units() const { return copies() * planned.plan->units(); }
    std::int64_t block_units() const { return planned.plan->block_units(); }
    std::int64_t row_units() const { return repeats == nullptr ? planned.plan->row_units() : 1; }
    std::int64_t block_bytes() const { return planned.plan->bytes() / planned.plan->units() * block_units(); }
    bool streams() const {
        const auto does = [](const Planned& one) { return one.plan->streams(); };
        return does(planned) || (repeats != nullptr && std::any_of(repeats->others.begin(), repeats->others.end(), does));
    }
    void run(const std::byte* const* srcs, std::byte* const* dsts, std::int64_t begin, std::int64_t end) const noexcept {
        if (repeats != nullptr) return run_repeats(srcs, dsts, begin, end);
        planned.plan->run((constant != nullptr ? constant : srcs[src]) + planned.src_shift, dsts[dst] + planned.dst_shift,
                          begin, end, list_of(srcs));
    }
    const std::int64_t* list_of(const std::byte* const* srcs) const noexcept {
        return planned.plan->takes_list() ? reinterpret_cast<const std::int64_t*>(srcs[src + 1]) : nullptr;
    }

private:
    // Plans that are aligned in another way may have other units: each does the share of its own.
    void run_repeats(const std::byte* const* srcs, std::byte* const* dsts, std::int64_t begin,
                     std::int64_t end) const noexcept {
        const auto& [repeat, others] = *repeats;
        const std::int64_t each = planned.plan->units();
        for (std::int64_t k = begin / each; k * each < end; ++k) {
            const std::size_t turn = static_cast<std::size_t>(k) % (others.size() + 1);
            const Planned& one = turn == 0 ? planned : others[turn - 1];
            const std::int64_t first = std::max<std::int64_t>(begin - k * each, 0);
            const std::int64_t last = std::min(end - k * each, each);
            const std::int64_t own = one.plan->units();
            one.plan->run(
                (constant != nullptr ? constant : srcs[src + k * repeat.src_step]) + one.src_shift + k * repeat.src_pitch,
                dsts[dst] + one.dst_shift + k * repeat.dst_pitch, own == each ? first : own * first / each,
                own == each ? last : own * last / each);
        }
    }
};

// A nest that is moved by blocks.
struct BlockStep {
    int src;
    int dst;
    Transfer::Repeat repeat;
    const std::byte* constant;  // as a Step's
    BlockWalk walk;

    std::int64_t units() const { return repeat.count * walk.units(); }
    void run(const std::byte* const* srcs, std::byte* const* dsts, std::int64_t begin, std::int64_t end) const noexcept {
        const std::int64_t each = walk.units();
        for (std::int64_t k = begin / each; k * each < end; ++k) {
            walk.run((constant != nullptr ? constant : srcs[src + k * repeat.src_step]) + k * repeat.src_pitch,
                     dsts[dst] + k * repeat.dst_pitch, std::max<std::int64_t>(begin - k * each, 0),
                     std::min(end - k * each, each));
        }
    }
};

// After so many copies their destinations are aligned as before. What is aligned better than all destinations are, to
// `alignment`, makes no difference.
std::int64_t period_of(const Transfer::Repeat& repeat, std::int64_t alignment) {
    return alignment / std::gcd(alignment, std::abs(repeat.dst_pitch));
}

// Plans nests; those that differ only in where they begin share one plan. A split into many equal parts needs one.
class NestPlanner {
public:
    // `several` nests are to come: one alone shares with no other.
    NestPlanner(const PlanContext& context, bool several) : context_(context), several_(several) {}

    // The canonical nest of `transfer` as a step.
    Step plan(const Transfer& transfer) {
        Step step{transfer.src, transfer.dst, plan(transfer.nest), nullptr, constant_of(transfer)};
        if (transfer.repeat.count == 1) return step;
        step.repeats = std::make_unique<Step::Repeats>(Step::Repeats{transfer.repeat, {}});
        std::vector<Step::Planned>& others = step.repeats->others;
        const std::int64_t period = period_of(transfer.repeat, context_.dst_alignment);
        Nest nest = transfer.nest;
        for (std::int64_t k = 1; k < std::min(period, transfer.repeat.count); ++k) {
            nest.dst_offset += transfer.repeat.dst_pitch;
            others.push_back(plan(nest));
            others.back().dst_shift -= k * transfer.repeat.dst_pitch;
        }
        others.shrink_to_fit();
        return step;
    }

private:
    Step::Planned plan(const Nest& nest) {
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

    struct Known {
        Nest nest;  // keeps the tables whose addresses are in the key
        std::shared_ptr<const NestPlan> plan;
    };
    PlanContext context_;
    bool several_;
    std::map<std::vector<std::int64_t>, Known> known_;
};

// Is this a field of records on one side, at `pitch` there, and by itself on the other, at `own`?
bool is_field(const Nest& nest, std::int64_t Loop::* pitch, std::int64_t Loop::* own) {
    if (nest.loops.size() != 1 || nest.loops[0].table) return false;
    return nest.loops[0].*own == nest.itemsize && nest.loops[0].*pitch > nest.itemsize &&
           nest.loops[0].*pitch <= Records::kMaxPitch;
}

// Repeats that Records may take together become transfers of their own: joined to records, any number of them; split
// off, of a few sources only, since records of each are planned by themselves.
std::vector<Transfer> with_fields_apart(std::vector<Transfer> transfers) {
    constexpr std::int64_t kFewSources = 16;
    const auto apart = [](const Transfer& transfer) {
        return transfer.repeat.count > 1 &&
               (is_field(transfer.nest, &Loop::dst_stride, &Loop::src_stride) ||
                (transfer.repeat.count <= kFewSources && is_field(transfer.nest, &Loop::src_stride, &Loop::dst_stride)));
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

// Where all of them read parts of the same rows of one source, by the same loops: how much of a row; else 0.
std::int64_t side_by_side(const std::vector<Transfer>& transfers) {
    if (transfers.size() < 2) return 0;
    const Transfer& first = transfers.front();
    const std::int64_t step = transfers[1].nest.src_offset - first.nest.src_offset;
    const auto same = [](const Loop& one, const Loop& other) {
        return !one.table && !other.table && one.extent == other.extent && one.src_stride == other.src_stride;
    };
    for (std::size_t k = 0; k < transfers.size(); ++k) {
        const Transfer& transfer = transfers[k];
        const std::vector<Loop>& loops = transfer.nest.loops;
        if (transfer.src != first.src || transfer.src < 0 || transfer.sink || transfer.repeat.count > 1 ||
            transfer.nest.itemsize != first.nest.itemsize ||
            transfer.nest.src_offset - first.nest.src_offset != static_cast<std::int64_t>(k) * step ||
            !std::equal(loops.begin(), loops.end(), first.nest.loops.begin(), first.nest.loops.end(), same)) {
            return 0;
        }
    }
    return std::max<std::int64_t>(0, step * static_cast<std::int64_t>(transfers.size()));
}

// Units of a walk that a share does not part.
template <class Walk>
std::int64_t units_together(const Walk& walk) {
    if constexpr (requires { walk.block_units(); }) return walk.block_units();
    return 1;
}

// And units that it does not part if it can.
template <class Walk>
std::int64_t units_of_rows(const Walk& walk) {
    if constexpr (requires { walk.row_units(); }) return walk.row_units();
    return 1;
}

// Runs slice `slice` of `slices` of chunk `chunk` of the walk's units.
template <class Walk>
void run_slice(const Walk& walk, const std::byte* const* srcs, std::byte* const* dsts, std::int64_t chunk, std::int64_t chunks,
               std::int64_t slice, std::int64_t slices) noexcept {
    const std::int64_t together = units_together(walk);
    const std::int64_t units = walk.units() / together;
    const std::int64_t of_rows = slices == 1 ? units_of_rows(walk) : 1;  // (What has blocks has no such rows.)
    const std::int64_t begin = begin_of_share(units, of_rows, chunk, chunks);
    const std::int64_t share = begin_of_share(units, of_rows, chunk + 1, chunks) - begin;
    walk.run(srcs, dsts, (begin + share * slice / slices) * together, (begin + share * (slice + 1) / slices) * together);
}

}  // namespace

struct Program::Impl {
    std::vector<Records> records;
    std::vector<Step> steps;
    std::vector<BlockStep> blocks;
    std::vector<Constant> constants;  // that the steps read
    PlanOptions options;
    std::int64_t bytes = 0;
    std::int64_t most_units = 1;  // of one step
    bool streams = false;  // threads must fence their stores
    const Step* single = nullptr;  // the one copy that there is, of a source of the caller's

    void run(const std::byte* const* srcs, std::byte* const* dsts, std::int64_t chunk, std::int64_t chunks) const noexcept {
        for (const Records& walk : records) run_slice(walk, srcs, dsts, chunk, chunks, 0, 1);
        const std::int64_t slice_bytes = std::max(kSliceBytes, steps.empty() ? 0 : steps.front().block_bytes());
        const std::int64_t slices = steps.size() + blocks.size() == 1
                                        ? 1
                                        : std::clamp<std::int64_t>(bytes / chunks / slice_bytes, 1, most_units);
        for (std::int64_t slice = 0; slice < slices; ++slice) {
            for (const Step& step : steps) run_slice(step, srcs, dsts, chunk, chunks, slice, slices);
            for (const BlockStep& step : blocks) run_slice(step, srcs, dsts, chunk, chunks, slice, slices);
        }
    }
    // All on this thread. Of small copies nothing is cut, which spares the divisions.
    void run_alone(const std::byte* const* srcs, std::byte* const* dsts) const noexcept {
        if (single != nullptr) {
            const Step::Planned& planned = single->planned;
            planned.plan->run(srcs[single->src] + planned.src_shift, dsts[single->dst] + planned.dst_shift, 0,
                              planned.plan->units(), single->list_of(srcs));
        } else if (steps.size() + blocks.size() > 1 && bytes >= 2 * kSliceBytes) {
            run(srcs, dsts, 0, 1);
        } else {
            for (const Records& walk : records) walk.run(srcs, dsts, 0, walk.units());
            for (const Step& step : steps) step.run(srcs, dsts, 0, step.units());
            for (const BlockStep& step : blocks) step.run(srcs, dsts, 0, step.units());
        }
        fence();
    }
    // False, and nothing done, where no other thread can help.
    bool run_shared(const std::byte* const* srcs, std::byte* const* dsts, int threads) const noexcept;
    std::size_t nests() const { return records.size() + steps.size() + blocks.size(); }
    // At the end of each thread's part.
    void fence() const noexcept {
        if (streams) kernels_for(options.isa).fence();
    }
};

Program::Program(std::vector<Transfer> transfers, const PlanOptions& options) {
    auto impl = std::make_unique<Impl>();
    impl->options = options;
    double read = 0;  // bytes; not exact, but never more than it can hold
    bool repeated = false;
    bool sinks = false;
    for (Transfer& transfer : transfers) {
        repeated = repeated || transfer.repeat.count > 1;
        sinks = sinks || transfer.sink != nullptr;
        const auto& loops = transfer.nest.loops;
        const bool empty = transfer.nest.itemsize == 0 ||
                           std::any_of(loops.begin(), loops.end(), [](const Loop& loop) { return loop.extent == 0; });
        if (empty) {
            transfer.nest.itemsize = 0;
            continue;
        }
        if (!transfer.sink) transfer.nest = canonical(std::move(transfer.nest));
        std::int64_t bytes = transfer.dst_bytes();
        for (const Loop& loop : transfer.nest.loops) bytes *= loop.extent;
        bytes *= transfer.repeat.count;
        // What no machine holds can be planned and explained all the same.
        if (__builtin_add_overflow(impl->bytes, bytes, &impl->bytes)) impl->bytes = std::numeric_limits<std::int64_t>::max();
        read += static_cast<double>(bytes_read(transfer.nest)) * static_cast<double>(transfer.repeat.count);
    }
    if (repeated) transfers = with_fields_apart(std::move(transfers));
    const std::int64_t cache = options.cache->usable(options.processor->shared_cache_bytes);
    const double touched = static_cast<double>(impl->bytes) + read;
    // Others use the last-level cache, too: what fills most of it is not found there by the next call. Ordinary
    // stores of whole lines in order are faster as long as a fair part of them is found in the cache by the next
    // call, or by whoever reads the result. The less is read, the longer: stores past the cache spare the reading
    // of what is overwritten, but not that of the source. Measured on Zen 4: fills up to twice the cache, streams up
    // to 1.25 times; gathers up to 0.8 of that, transposes up to half.
    const double share_read = touched == 0 ? 0 : read / touched;
    const auto filled = touched / (static_cast<double>(cache) * (2 - 1.5 * share_read));
    PlanContext context{&kernels_for(options.isa), filled > 0.5, touched <= kNearBytes, options.dst_alignment, 0};
    context.claims = options.processor->claims_lines && touched > kFirstLevelBytes;
    context.beyond_cache = filled >= 0.8;
    context.far_beyond_cache = filled >= 1;
    context.stream_rows = filled >= options.processor->rows_stream_from;
    context.variant = options.variant;
    context.processor = options.processor;
    if (options.variant.stores != Variant::Stores::automatic) {
        const bool past = options.variant.stores == Variant::Stores::nontemporal;
        context.large = context.beyond_cache = context.far_beyond_cache = context.stream_rows = past;
    }
    if (!sinks && !repeated) transfers = with_rows_together(std::move(transfers), context);
    context.alone = transfers.size() == 1 && !repeated;
    const auto nests = static_cast<std::int64_t>(std::max<std::size_t>(1, transfers.size()));
    if (context.beyond_cache && transfers.size() <= kMostSideBySide) context.side_by_side_bytes = side_by_side(transfers);
    if (context.side_by_side_bytes != 0) context.side_by_side_from = transfers.front().nest.src_offset;
    context.unit_bytes = std::clamp<std::int64_t>(kSliceBytes / nests, 1024, 4096);
    const auto add_blocks = [&](BlockStep&& step) {
        impl->streams = impl->streams || step.walk.streams();
        impl->most_units = std::max(impl->most_units, step.units());
        impl->blocks.push_back(std::move(step));
    };
    std::vector<bool> taken(transfers.size());
    for (std::size_t k = 0; sinks && k < transfers.size(); ++k) {
        const Transfer& transfer = transfers[k];
        taken[k] = transfer.sink != nullptr;
        if (!transfer.sink || transfer.nest.itemsize == 0) continue;
        // A walk of its own for each alignment that the copies have.
        const Transfer::Repeat& repeat = transfer.repeat;
        const std::int64_t period = std::min(repeat.count, period_of(repeat, options.dst_alignment));
        Nest nest = transfer.nest;
        for (std::int64_t first = 0; first < period; ++first) {
            const Transfer::Repeat turn{(repeat.count - first + period - 1) / period, repeat.src_step * period,
                                        repeat.src_pitch * period, repeat.dst_pitch * period};
            add_blocks({transfer.src + static_cast<int>(first * repeat.src_step), transfer.dst, turn, constant_of(transfer),
                        BlockWalk(nest, transfer.parameters.get(), transfer.sink, context)});
            nest.src_offset += repeat.src_pitch;
            nest.dst_offset += repeat.dst_pitch;
        }
    }
    while (auto records = Records::take(transfers, taken, context)) {
        impl->streams = impl->streams || records->streams();
        impl->records.push_back(std::move(*records));
    }
    impl->steps.reserve(transfers.size());
    NestPlanner planner(context, repeated || transfers.size() > 1);
    for (std::size_t k = 0; k < transfers.size(); ++k) {
        const Transfer& transfer = transfers[k];
        if (transfer.constant != nullptr) [[unlikely]] {
            impl->constants.push_back(transfer.constant);
        }
        if (taken[k] || transfer.nest.itemsize == 0) continue;
        const auto add = [&](Step&& step) {
            impl->streams = impl->streams || step.streams();
            impl->most_units = std::max(impl->most_units, step.units());
            impl->steps.push_back(std::move(step));
        };
        Step step = planner.plan(transfer);
        if (step.planned.plan->complete()) {
            std::optional<BlockWalk> walk;
            if (transfers.size() == 1 && !repeated) walk = BlockWalk::instead_of(*step.planned.plan, transfer.nest, context);
            if (walk) {
                add_blocks({transfer.src, transfer.dst, {}, constant_of(transfer), std::move(*walk)});
            } else {
                add(std::move(step));
            }
            continue;
        }
        for (Transfer& part : split_padding(transfer)) {
            part.nest = canonical(std::move(part.nest));
            add(planner.plan(part));
        }
    }
    if (impl->nests() == 1 && impl->steps.size() == 1) {
        const Step& step = impl->steps.front();
        if (step.repeats == nullptr && step.constant == nullptr) impl->single = &step;
    }
    impl_ = std::move(impl);
}

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

bool Program::Impl::run_shared(const std::byte* const* srcs, std::byte* const* dsts, int threads) const noexcept {
    struct Context {
        const Impl& impl;
        const std::byte* const* srcs;
        std::byte* const* dsts;
    } context{*this, srcs, dsts};
    const auto body = [](void* opaque, Participant& participant) noexcept {
        const auto& call = *static_cast<const Context*>(opaque);
        for (std::uint32_t chunk = 0; participant.take(chunk);) {
            call.impl.run(call.srcs, call.dsts, chunk, participant.chunks());
        }
        call.impl.fence();
    };
    return parallel(threads, bytes, body, &context);
}

void Program::execute(const std::byte* const* srcs, std::byte* const* dsts, int threads) const noexcept {
    // A small call is over in less time than the bookkeeping of chunks takes.
    const int useful = useful_threads(threads, impl_->bytes);
    if (useful > 1 && impl_->run_shared(srcs, dsts, useful)) return;
    impl_->run_alone(srcs, dsts);
}

std::int64_t Program::bytes_written() const { return impl_->bytes; }

std::size_t Program::memory() const {
    std::size_t bytes = sizeof(Impl) + heap_bytes(impl_->steps) + heap_bytes(impl_->records);
    std::set<const NestPlan*> counted;
    const auto add = [&](const Step::Planned& planned) {
        if (counted.insert(planned.plan.get()).second) bytes += planned.plan->memory();
    };
    for (const Step& step : impl_->steps) {
        add(step.planned);
        if (step.repeats == nullptr) continue;
        for (const Step::Planned& other : step.repeats->others) add(other);
        bytes += sizeof *step.repeats + heap_bytes(step.repeats->others);
    }
    for (const Records& walk : impl_->records) bytes += walk.memory();
    for (const BlockStep& step : impl_->blocks) bytes += step.walk.memory();
    return bytes;
}

ProgramSummary Program::summary(std::size_t most) const {
    ProgramSummary summary{native_name(impl_->options.isa), impl_->bytes, impl_->nests(), {}};
    for (const Records& walk : impl_->records) {
        if (summary.copies.size() < most) summary.copies.push_back({0, 0, std::nullopt, walk.describe()});
    }
    for (const Step& step : impl_->steps) {
        if (summary.copies.size() == most) break;
        summary.copies.push_back(
            {step.src, step.dst, step.planned.plan->summary(), step.planned.plan->describe(), step.copies()});
    }
    for (const BlockStep& step : impl_->blocks) {
        if (summary.copies.size() < most)
            summary.copies.push_back({step.src, step.dst, std::nullopt, step.walk.describe(), step.repeat.count});
    }
    return summary;
}

std::string Program::explain(int threads) const {
    std::string text = native_name(impl_->options.isa) + ", " + std::to_string(impl_->nests()) + " nests, " +
                       std::to_string(impl_->bytes) + " bytes, at most " + std::to_string(threads) +
                       " threads, results at multiples of " + std::to_string(impl_->options.dst_alignment) + " B\n";
    for (const Records& walk : impl_->records) text += "  " + walk.describe() + "\n";
    for (const Step& step : impl_->steps) {
        text += "  " + step.source() + " -> destination " + std::to_string(step.dst) + ": " + step.planned.plan->describe() +
                "\n";
    }
    for (const BlockStep& step : impl_->blocks) {
        text += "  " + name_of_sources(step.src, step.repeat) + " -> destination " + std::to_string(step.dst) + ": " +
                step.walk.describe() + "\n";
    }
    return text;
}

}  // namespace dnnmove
