// The plan of one call: where its arrays lie, what is copied, and a program for each alignment of the outputs.
#include "call/call_plan.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>

#include "plan/tuning.hpp"
#include "runtime/heap_bytes.hpp"

namespace dnnmove {
namespace {

// More bytes than can be counted: of arrays that no machine holds, and of the others' extents where one is 0.
constexpr std::int64_t kCountless = std::numeric_limits<std::int64_t>::max();

constexpr std::int64_t kSmall = 256 * 1024;     // bytes; below, alignment beyond a vector is no use
constexpr std::uintptr_t kSmallAlignment = 16;  // bytes; what every allocator gives

// What an earlier call has measured, or a file has brought.
std::optional<Tuned> find_tuned(const std::vector<Transfer>& transfers, const PlanOptions& options, int threads) {
    if (tuned_problems::none()) return std::nullopt;
    return tuned_problems::find(problem_of(transfers, options, threads));
}

// The right to measure, of one thread at a time. A thread of a parent process, which a fork has left behind, has none.
class Claim {
public:
    explicit Claim(std::atomic<int>& owner) : owner_(owner) {
        const int self = getpid();
        int before = owner.load();
        held_ = before != self && owner.compare_exchange_strong(before, self);
    }
    ~Claim() {
        if (held_) owner_.store(0);
    }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    bool held() const { return held_; }

private:
    std::atomic<int>& owner_;
    bool held_;
};

}  // namespace

Placement place(Dims shape, Dims strides, std::int64_t itemsize) {
    Placement placement;
    placement.extent = extent_of(shape, strides, itemsize);
    std::int64_t expected = itemsize;
    placement.c_contiguous = true;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        placement.c_contiguous = placement.c_contiguous && strides[axis] == expected;
        // More than 63 bits count: of an empty array, where it decides nothing.
        if (__builtin_mul_overflow(expected, std::max<std::int64_t>(shape[axis], 1), &expected)) expected = itemsize;
    }
    placement.shape = std::move(shape);
    placement.strides = std::move(strides);
    return placement;
}

CallPlan::CallPlan(Title title, std::vector<Placement> inputs, std::vector<Placement> outputs, std::vector<Transfer> transfers,
                   bool tune)
    : title_(std::move(title)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      transfers_(std::move(transfers)),
      tune_(tune) {
    std::size_t memory = sizeof *this + heap_bytes(inputs_) + heap_bytes(outputs_) + heap_bytes(transfers_) +
                         title_.name.capacity() + title_.auxiliary.capacity();
    for (const auto* placements : {&inputs_, &outputs_}) {
        for (const Placement& placement : *placements) {
            memory += heap_bytes(placement.shape) + heap_bytes(placement.strides);
        }
    }
    for (const Transfer& transfer : transfers_) {
        if (transfer.sink) tune_ = false;  // nothing to choose from
        std::int64_t bytes = transfer.dst_bytes();
        memory += heap_bytes(transfer.nest.loops);
        for (const Loop& loop : transfer.nest.loops) {
            if (__builtin_mul_overflow(bytes, loop.extent, &bytes)) bytes = kCountless;
            if (loop.table) memory += heap_bytes(loop.table->src) + heap_bytes(loop.table->dst);
        }
        if (__builtin_mul_overflow(bytes, transfer.repeat.count, &bytes)) bytes = kCountless;
        if (__builtin_add_overflow(bytes_, bytes, &bytes_)) bytes_ = kCountless;
    }
    if (bytes_ < kSmall) finest_ = kSmallAlignment;
    memory_.store(memory);
}

CallPlan::~CallPlan() {
    for (const auto& slot : built_) {
        for (const Built* built = slot.load(std::memory_order_relaxed); built != nullptr;) {
            const Built* next = built->next;
            delete built;
            built = next;
        }
    }
}

PlanOptions CallPlan::options_for(std::size_t slot) const {
    PlanOptions options;
    options.dst_alignment = std::int64_t{1} << slot;
    return options;
}

const Program& CallPlan::build(std::size_t slot, const std::byte* const* srcs, std::byte* const* dsts, int threads) const {
    PlanOptions options = options_for(slot);
    if (!tune_) {
        const bool measured = !tuned_problems::none();
        const std::optional<Tuned> tuned = find_tuned(transfers_, options, threads);
        if (tuned) options.variant = tuned->variant;
        const double gain = tuned ? tuned->gain : 1;
        return publish(slot, {Program(transfers_, options), measured ? threads : kAnyThreads, gain, nullptr});
    }
    const Claim claim(tuner_);
    if (const Built* built = find(slot, threads)) return built->program;
    if (!claim.held()) {
        // As the planner says, rather than to wait, or to measure at the same time.
        const Built* built = built_[slot].load(std::memory_order_acquire);
        while (built != nullptr && built->threads != kProvisional) built = built->next;
        if (built != nullptr) return built->program;
        return publish(slot, {Program(transfers_, options), kProvisional, 1, nullptr});
    }
    std::optional<Tuned> tuned = find_tuned(transfers_, options, threads);
    if (!tuned) {
        tuned = dnnmove::tune(transfers_, options, srcs, dsts, threads);
        tuned_problems::insert(problem_of(transfers_, options, threads), *tuned);
    }
    options.variant = tuned->variant;
    return publish(slot, {Program(transfers_, options), threads, tuned->gain, nullptr});
}

// The program that another thread has built for the same calls meanwhile, else this one.
const Program& CallPlan::publish(std::size_t slot, Built built) const {
    auto made = std::make_unique<Built>(std::move(built));
    made->next = built_[slot].load(std::memory_order_acquire);
    do {
        for (const Built* other = made->next; other != nullptr; other = other->next) {
            if (other->threads == made->threads) return other->program;
        }
    } while (!built_[slot].compare_exchange_weak(made->next, made.get(), std::memory_order_acq_rel));
    const Built& kept = *made.release();
    memory_.fetch_add(sizeof kept + kept.program.memory(), std::memory_order_relaxed);
    if (kept.threads != kProvisional) last_.store(&kept, std::memory_order_release);
    return kept.program;
}

std::string CallPlan::impl_info() const { return native_name(best_isa()); }

ProgramSummary CallPlan::summary(int threads, std::size_t most) const {
    if (const Built* last = last_.load(std::memory_order_acquire)) return last->program.summary(most);
    PlanOptions options = options_for(alignment_slot(nullptr, 0));
    if (const std::optional<Tuned> tuned = find_tuned(transfers_, options, threads)) options.variant = tuned->variant;
    return Program(transfers_, options).summary(most);
}

std::string CallPlan::explain(int threads) const {
    if (const Built* last = last_.load(std::memory_order_acquire)) return explain(last->program, last->gain, threads);
    PlanOptions options = options_for(alignment_slot(nullptr, 0));
    const std::optional<Tuned> tuned = find_tuned(transfers_, options, threads);
    if (tuned) options.variant = tuned->variant;
    const Program program(transfers_, options);
    if (!tuned && tune_) return program.explain(threads) + "  to be tuned by the first call\n";
    return explain(program, tuned ? tuned->gain : 1, threads);
}

std::string CallPlan::explain(const Program& program, double gain, int threads) const {
    std::string text = program.explain(threads);
    if (gain > 1) {
        char times[32];
        std::snprintf(times, sizeof times, "%.2f", gain);
        text += std::string("  tuned: ") + times + " times faster than the planner's own choice\n";
    } else if (tune_) {
        text += "  tuned: the planner's own choice is the fastest\n";
    }
    return text;
}

}  // namespace dnnmove
