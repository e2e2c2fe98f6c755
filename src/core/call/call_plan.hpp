// The plan of one call: where its arrays lie, what is copied, and a program for each alignment of the outputs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "array/overlap.hpp"
#include "call/title.hpp"
#include "plan/program.hpp"

namespace dnnmove {

// Where one array of a call lies: lengths in elements, strides in bytes.
struct Placement {
    Dims shape;
    Dims strides;
    bool c_contiguous = false;
    Extent extent;
};
Placement place(Dims shape, Dims strides, std::int64_t itemsize);

// What a call does, whatever the addresses: the copies, and the layouts of all arrays. Immutable
// but for the programs, which are built on first use for each alignment. Safe to share.
//
// Nothing waits here, for any thread: a program is built without a lock, and of two that were built at once one is
// dropped. So a child forked meanwhile, or a thread that only asks for explain(), never hangs.
class CallPlan {
public:
    // With `tune` the first call measures variants of the plan (plan/tuning.hpp) and keeps the fastest.
    CallPlan(Title title, std::vector<Placement> inputs, std::vector<Placement> outputs, std::vector<Transfer> transfers,
             bool tune = false);
    ~CallPlan();
    CallPlan(const CallPlan&) = delete;
    CallPlan& operator=(const CallPlan&) = delete;

    const Title& title() const noexcept { return title_; }
    const std::vector<Placement>& inputs() const noexcept { return inputs_; }
    const std::vector<Placement>& outputs() const noexcept { return outputs_; }
    const std::vector<Transfer>& transfers() const noexcept { return transfers_; }
    std::int64_t bytes() const noexcept { return bytes_; }  // written by one call
    // Bytes that the plan holds, programs included: it grows with them.
    std::size_t memory() const noexcept { return memory_.load(std::memory_order_relaxed); }

    // Will such a call measure variants first? It takes long then, however little it copies.
    bool tunes(std::byte* const* dsts, std::size_t dst_count, int threads) const noexcept {
        return tune_ && !planned(dsts, dst_count, threads);
    }

    // Is the program of such a call built?
    bool planned(std::byte* const* dsts, std::size_t dst_count, int threads) const noexcept {
        return find(alignment_slot(dsts, dst_count), threads) != nullptr;
    }

    // For a call on this memory with at most `threads` threads. Where the plan is to be tuned the destinations
    // are written by the first such call already.
    const Program& program(const std::byte* const* srcs, std::byte* const* dsts, std::size_t dst_count, int threads) const {
        const std::size_t slot = alignment_slot(dsts, dst_count);
        if (const Built* built = find(slot, threads)) return built->program;
        return build(slot, srcs, dsts, threads);
    }
    std::string impl_info() const;
    // How the last call that had to plan runs; before the first, how one with aligned outputs will.
    std::string explain(int threads) const;
    // The same as values, of at most `most` copies.
    ProgramSummary summary(int threads, std::size_t most) const;

private:
    // Kept until the end: another thread may be executing it.
    struct Built {
        Program program;
        int threads;     // of the calls that it is for, or one of the two below
        double gain;     // by tuning
        const Built* next;
    };
    static constexpr int kAnyThreads = 0;     // no measurement had a say
    static constexpr int kProvisional = -1;   // for calls while another thread measures
    static constexpr std::size_t kSlots = 7;  // alignments 1, 2, 4 ... 64

    std::size_t alignment_slot(std::byte* const* dsts, std::size_t dst_count) const noexcept {
        std::uintptr_t addresses = finest_;
        for (std::size_t i = 0; i < dst_count; ++i) addresses |= reinterpret_cast<std::uintptr_t>(dsts[i]);
        return static_cast<std::size_t>(__builtin_ctzll(addresses));
    }
    // The program for this alignment and so many threads; null before it is built.
    const Built* find(std::size_t slot, int threads) const noexcept {
        const Built* built = built_[slot].load(std::memory_order_acquire);
        while (built != nullptr && built->threads != threads && built->threads != kAnyThreads) built = built->next;
        return built;
    }
    PlanOptions options_for(std::size_t slot) const;
    std::string explain(const Program& program, double gain, int threads) const;
    const Program& build(std::size_t slot, const std::byte* const* srcs, std::byte* const* dsts, int threads) const;
    const Program& publish(std::size_t slot, Built built) const;

    Title title_;
    std::vector<Placement> inputs_;
    std::vector<Placement> outputs_;
    std::vector<Transfer> transfers_;
    std::int64_t bytes_ = 0;
    std::uintptr_t finest_ = 64;  // alignment beyond this makes no difference
    bool tune_ = false;
    mutable std::array<std::atomic<const Built*>, kSlots> built_{};  // the newest of each, which leads to the others
    mutable std::atomic<const Built*> last_{nullptr};
    mutable std::atomic<int> tuner_{0};  // the process that measures, if any
    mutable std::atomic<std::size_t> memory_{0};
};

}  // namespace dnnmove
