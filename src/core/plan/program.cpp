// A program: all the copies of one call, planned once, then executed any number of times.
#include "plan/program.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "kernels/contract.hpp"
#include "plan/canonical.hpp"
#include "plan/copies.hpp"
#include "plan/padding.hpp"
#include "plan/records.hpp"
#include "plan/rows_together.hpp"
#include "plan/shares.hpp"
#include "runtime/heap_bytes.hpp"
#include "runtime/threads.hpp"

namespace dnnmove {
namespace {

// Several nests that read one source take turns in slices of this many bytes, so that lines of the
// source that they share are read once.
constexpr std::int64_t kSliceBytes = 16 * 1024;

template <class Walk>
void run_part(const Walk& walk, const std::byte* const* srcs, std::byte* const* dsts, const Part& part) noexcept {
    run_part(walk.sharing(), part, [&](std::int64_t begin, std::int64_t end) { walk.run(srcs, dsts, begin, end); });
}

}  // namespace

struct Program::Impl {
    std::vector<Records> records;
    std::vector<PlannedCopy> copies;
    std::vector<BlockCopy> block_copies;
    std::vector<Constant> constants;  // that the copies read
    PlanOptions options;
    std::int64_t bytes = 0;  // written
    std::int64_t work = 0;  // bytes: so much for threads to share
    std::int64_t most_units = 1;  // of one copy
    bool streams = false;  // threads must fence their stores
    const PlannedCopy* single = nullptr;  // the one copy that there is, of a source of the caller's

    void run(const std::byte* const* srcs, std::byte* const* dsts, Part part) const noexcept {
        for (const Records& walk : records) run_part(walk, srcs, dsts, part);
        const std::int64_t slice_bytes = std::max(kSliceBytes, copies.empty() ? 0 : copies.front().block_bytes());
        if (copies.size() + block_copies.size() != 1)
            part.slices = std::clamp<std::int64_t>(bytes / part.chunks / slice_bytes, 1, most_units);
        for (; part.slice < part.slices; ++part.slice) {
            for (const PlannedCopy& copy : copies) run_part(copy, srcs, dsts, part);
            for (const BlockCopy& copy : block_copies) run_part(copy, srcs, dsts, part);
        }
    }
    // All on this thread. Of small copies nothing is cut, which spares the divisions.
    void run_alone(const std::byte* const* srcs, std::byte* const* dsts) const noexcept {
        if (single != nullptr) {
            const PlannedCopy::Planned& planned = single->planned;
            planned.plan->run(srcs[single->src] + planned.src_shift, dsts[single->dst] + planned.dst_shift, 0,
                              planned.plan->units(), single->list_of(srcs));
        } else if (copies.size() + block_copies.size() > 1 && bytes >= 2 * kSliceBytes) {
            run(srcs, dsts, {});
        } else {
            for (const Records& walk : records) walk.run(srcs, dsts, 0, walk.units());
            for (const PlannedCopy& copy : copies) copy.run(srcs, dsts, 0, copy.units());
            for (const BlockCopy& copy : block_copies) copy.run(srcs, dsts, 0, copy.units());
        }
        fence();
    }
    // False, and nothing done, where no other thread can help.
    bool run_shared(const std::byte* const* srcs, std::byte* const* dsts, int threads) const noexcept;
    // At the end of each thread's part.
    void fence() const noexcept {
        if (streams) kernels_for(options.isa).fence();
    }
    std::size_t nests() const { return records.size() + copies.size() + block_copies.size(); }

    void add(PlannedCopy&& copy) {
        streams = streams || copy.streams();
        most_units = std::max(most_units, copy.units());
        copies.push_back(std::move(copy));
    }
    void add(BlockCopy&& copy) {
        streams = streams || copy.walk.streams();
        most_units = std::max(most_units, copy.units());
        block_copies.push_back(std::move(copy));
    }
    // What is changed on its way: moved by blocks.
    void add_through_sink(const Transfer& transfer, const PlanContext& context);
    // What is not: by a plan, or by blocks where that takes less.
    void add_moved(const Transfer& transfer, const PlanContext& context, CopyPlanner& planner);
};

// A walk of its own for each alignment that the copies have.
void Program::Impl::add_through_sink(const Transfer& transfer, const PlanContext& context) {
    const Transfer::Repeat& repeat = transfer.repeat;
    const std::int64_t period = std::min(repeat.count, period_of(repeat, context.dst_alignment));
    Nest nest = transfer.nest;
    for (std::int64_t first = 0; first < period; ++first) {
        const Transfer::Repeat turn{(repeat.count - first + period - 1) / period, repeat.src_step * period,
                                    repeat.src_pitch * period, repeat.dst_pitch * period};
        add(BlockCopy{transfer.src + static_cast<int>(first * repeat.src_step), transfer.dst, turn, constant_of(transfer),
                      BlockWalk(nest, transfer.parameters.get(), transfer.sink, context)});
        nest.src_offset += repeat.src_pitch;
        nest.dst_offset += repeat.dst_pitch;
    }
}

void Program::Impl::add_moved(const Transfer& transfer, const PlanContext& context, CopyPlanner& planner) {
    PlannedCopy copy = planner.plan(transfer);
    if (!copy.planned.plan->complete()) {
        for (Transfer& part : split_padding(transfer)) {
            part.nest = canonical(std::move(part.nest));
            add(planner.plan(part));
        }
        return;
    }
    std::optional<BlockWalk> walk;
    if (context.alone) walk = BlockWalk::instead_of(*copy.planned.plan, transfer.nest, context);
    if (walk) return add(BlockCopy{transfer.src, transfer.dst, {}, constant_of(transfer), std::move(*walk)});
    add(std::move(copy));
}

Program::Program(std::vector<Transfer> transfers, const PlanOptions& options) {
    make_canonical(transfers);
    const Traffic traffic = traffic_of(transfers);
    auto impl = std::make_unique<Impl>();
    impl->options = options;
    impl->bytes = traffic.written;
    impl->work = static_cast<std::int64_t>(std::min(static_cast<double>(traffic.written) + traffic.listed, 0x1p62));
    const bool repeated = std::any_of(transfers.begin(), transfers.end(), [](const Transfer& each) { return each.repeats(); });
    const bool sinks = std::any_of(transfers.begin(), transfers.end(),
                                   [](const Transfer& each) { return each.sink != nullptr; });
    if (repeated) transfers = with_fields_apart(std::move(transfers));
    PlanContext context = context_of(options, traffic);
    if (!sinks && !repeated) transfers = with_rows_together(std::move(transfers), context);
    context = with_neighbours(context, transfers);
    for (const Transfer& transfer : transfers) {
        if (transfer.constant != nullptr) impl->constants.push_back(transfer.constant);
    }
    std::vector<bool> taken(transfers.size());
    for (std::size_t k = 0; k < transfers.size(); ++k) {
        taken[k] = transfers[k].empty() || transfers[k].sink != nullptr;
        if (!transfers[k].empty() && transfers[k].sink != nullptr) impl->add_through_sink(transfers[k], context);
    }
    while (auto records = Records::take(transfers, taken, context)) {
        impl->streams = impl->streams || records->streams();
        impl->records.push_back(std::move(*records));
    }
    impl->copies.reserve(transfers.size());
    CopyPlanner planner(context, transfers.size() > 1 || repeated);
    for (std::size_t k = 0; k < transfers.size(); ++k) {
        if (!taken[k]) impl->add_moved(transfers[k], context, planner);
    }
    if (impl->nests() == 1 && impl->copies.size() == 1) {
        const PlannedCopy& copy = impl->copies.front();
        if (copy.repeats == nullptr && copy.constant == nullptr) impl->single = &copy;
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
        int threads;
    } context{*this, srcs, dsts, threads};
    const auto body = [](void* opaque, Participant& participant) noexcept {
        const auto& call = *static_cast<const Context*>(opaque);
        // (All are one chunk where no worker is there.)
        const std::uint32_t chunks = participant.chunks();
        const int sharers = chunks % static_cast<unsigned>(call.threads) == 0 ? call.threads : 1;
        for (std::uint32_t chunk = 0; participant.take(chunk);) {
            call.impl.run(call.srcs, call.dsts, {chunk, chunks, sharers});
        }
        call.impl.fence();
    };
    return parallel(threads, work, body, &context);
}

void Program::execute(const std::byte* const* srcs, std::byte* const* dsts, int threads) const noexcept {
    // A small call is over in less time than the bookkeeping of chunks takes.
    const int useful = useful_threads(threads, impl_->work);
    if (useful > 1 && impl_->run_shared(srcs, dsts, useful)) return;
    impl_->run_alone(srcs, dsts);
}

std::int64_t Program::bytes_written() const { return impl_->bytes; }

std::size_t Program::memory() const {
    std::size_t bytes = sizeof(Impl) + heap_bytes(impl_->copies) + heap_bytes(impl_->records);
    std::set<const NestPlan*> counted;
    const auto add = [&](const PlannedCopy::Planned& planned) {
        if (counted.insert(planned.plan.get()).second) bytes += planned.plan->memory();
    };
    for (const PlannedCopy& copy : impl_->copies) {
        add(copy.planned);
        if (copy.repeats == nullptr) continue;
        for (const PlannedCopy::Planned& other : copy.repeats->others) add(other);
        bytes += sizeof *copy.repeats + heap_bytes(copy.repeats->others);
    }
    for (const Records& walk : impl_->records) bytes += walk.memory();
    for (const BlockCopy& copy : impl_->block_copies) bytes += copy.walk.memory();
    return bytes;
}

ProgramSummary Program::summary(std::size_t most) const {
    ProgramSummary summary{native_name(impl_->options.isa), impl_->bytes, impl_->nests(), {}};
    for (const Records& walk : impl_->records) {
        if (summary.copies.size() < most) summary.copies.push_back({0, 0, std::nullopt, walk.describe()});
    }
    for (const PlannedCopy& copy : impl_->copies) {
        if (summary.copies.size() == most) break;
        summary.copies.push_back(
            {copy.src, copy.dst, copy.planned.plan->summary(), copy.planned.plan->describe(), copy.count()});
    }
    for (const BlockCopy& copy : impl_->block_copies) {
        if (summary.copies.size() < most)
            summary.copies.push_back({copy.src, copy.dst, std::nullopt, copy.walk.describe(), copy.repeat.count});
    }
    return summary;
}

std::string Program::explain(int threads) const {
    std::string text = native_name(impl_->options.isa) + ", " + std::to_string(impl_->nests()) + " nests, " +
                       std::to_string(impl_->bytes) + " bytes, at most " + std::to_string(threads) +
                       " threads, results at multiples of " + std::to_string(impl_->options.dst_alignment) + " B\n";
    for (const Records& walk : impl_->records) text += "  " + walk.describe() + "\n";
    for (const PlannedCopy& copy : impl_->copies) {
        text += "  " + copy.source() + " -> destination " + std::to_string(copy.dst) + ": " + copy.planned.plan->describe() +
                "\n";
    }
    for (const BlockCopy& copy : impl_->block_copies) {
        text += "  " + name_of_sources(copy.src, copy.repeat) + " -> destination " + std::to_string(copy.dst) + ": " +
                copy.walk.describe() + "\n";
    }
    return text;
}

}  // namespace dnnmove
