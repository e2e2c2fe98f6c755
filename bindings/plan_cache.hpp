// Call plans, and the cache that finds them again: a thread's own table before a shared one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "plan/program.hpp"
#include "title.hpp"
#include "view/overlap.hpp"

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

private:
    struct Built {
        Program program;
        int threads;
        double gain;            // by tuning
        const Built* previous;  // kept: another thread may be executing it
    };
    static constexpr std::size_t kSlots = 7;  // alignments 1, 2, 4 ... 64

    std::size_t alignment_slot(std::byte* const* dsts, std::size_t dst_count) const noexcept {
        std::uintptr_t addresses = finest_;
        for (std::size_t i = 0; i < dst_count; ++i) addresses |= reinterpret_cast<std::uintptr_t>(dsts[i]);
        return static_cast<std::size_t>(__builtin_ctzll(addresses));
    }
    // The program for this alignment and so many threads; null before it is built.
    const Built* find(std::size_t slot, int threads) const noexcept {
        const Built* built = built_[slot].load(std::memory_order_acquire);
        return built != nullptr && built->threads >= threads ? built : nullptr;
    }
    PlanOptions options_for(std::size_t slot, int threads) const;
    std::string explain(const Program& program, double gain) const;
    const Program& build(std::size_t slot, const std::byte* const* srcs, std::byte* const* dsts, int threads) const;

    Title title_;
    std::vector<Placement> inputs_;
    std::vector<Placement> outputs_;
    std::vector<Transfer> transfers_;
    std::int64_t bytes_ = 0;
    std::uintptr_t finest_ = 64;  // alignment beyond this makes no difference
    bool tune_ = false;
    mutable std::array<std::atomic<const Built*>, kSlots> built_{};
    mutable const Built* last_ = nullptr;
    mutable std::mutex mutex_;
};

// All that decides a plan, as numbers.
class PlanKey {
public:
    PlanKey() noexcept {}  // leaves the words uninitialised
    void push(std::int64_t word) {
        if (size_ < kInline) {
            inline_[size_++] = word;
        } else {
            push_slowly(word);
        }
    }
    void push(std::span<const std::int64_t> words) {
        if (size_ + words.size() <= kInline) {
            for (std::size_t i = 0; i < words.size(); ++i) inline_[size_ + i] = words[i];
            size_ += words.size();
        } else {
            for (const std::int64_t word : words) push_slowly(word);
        }
    }
    // For a word that is known only later (a count).
    std::size_t reserve() {
        push(0);
        return size_ - 1;
    }
    void set(std::size_t position, std::int64_t word) noexcept { data()[position] = word; }
    std::size_t size() const noexcept { return size_; }
    std::span<const std::int64_t> words() const noexcept {
        return {size_ <= kInline ? inline_ : heap_.data(), size_};
    }
    std::uint64_t hash() const noexcept {
        std::uint64_t hash = 0x9E3779B97F4A7C15U ^ size_;
        for (const std::int64_t word : words()) {
            const auto product = static_cast<unsigned __int128>(hash ^ static_cast<std::uint64_t>(word)) * 0xD6E8FEB86659FD93U;
            hash = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
        }
        return hash;
    }

private:
    static constexpr std::size_t kInline = 96;
    std::int64_t* data() noexcept { return size_ <= kInline ? inline_ : heap_.data(); }
    void push_slowly(std::int64_t word);

    std::size_t size_ = 0;
    std::int64_t inline_[kInline];
    std::vector<std::int64_t> heap_;
};

// One entry of the cache.
struct CachedPlan {
    std::uint64_t hash;
    std::vector<std::int64_t> words;
    std::shared_ptr<const CallPlan> plan;
};


// This thread's table: direct mapped, emptied when the shared cache was cleared.
class LocalPlans {
public:
    static LocalPlans& of_thread() {
        if (current_ == nullptr) return create();
        return *current_;
    }
    // Null where there is none. Shared, since the garbage collector may run another call in between.
    std::shared_ptr<const CallPlan> find(const PlanKey& key, std::uint64_t hash) {
        const auto& entry = entries_[hash % kEntries];
        if (is_current() && entry && matches(*entry, key, hash)) return entry->plan;
        return find_shared(key, hash);
    }
    void insert(const PlanKey& key, std::uint64_t hash, std::shared_ptr<const CallPlan> plan);

private:
    static LocalPlans& create();
    static bool matches(const CachedPlan& entry, const PlanKey& key, std::uint64_t hash) noexcept {
        const auto words = key.words();
        return entry.hash == hash && entry.words.size() == words.size() &&
               std::memcmp(entry.words.data(), words.data(), words.size_bytes()) == 0;
    }
    friend struct SharedCache;
    bool is_current() const noexcept { return generation_ == shared_generation_.load(std::memory_order_acquire); }
    std::shared_ptr<const CallPlan> find_shared(const PlanKey& key, std::uint64_t hash);
    static thread_local LocalPlans* current_;

    friend void clear_plans() noexcept;
    static std::atomic<std::uint64_t> shared_generation_;  // counts clear_plans

    static constexpr std::size_t kEntries = 256;
    std::array<std::shared_ptr<const CachedPlan>, kEntries> entries_;
    std::uint64_t generation_ = 0;
};

void clear_plans() noexcept;
// How many plans the shared cache holds; for tests.
std::size_t cached_plans();

}  // namespace dnnmove
