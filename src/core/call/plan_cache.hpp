// The cache of call plans: a thread's own table before a shared one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "call/call_plan.hpp"
#include "call/plan_key.hpp"

namespace dnnmove {

// One entry of the cache.
struct CachedPlan {
    std::uint64_t hash;
    std::vector<std::int64_t> words;
    std::shared_ptr<const CallPlan> plan;
    mutable std::size_t charged = 0;  // bytes that the shared cache counts for it; 0 while it is not there

    bool matches(const PlanKey& key, std::uint64_t key_hash) const noexcept {
        const auto wanted = key.words();
        return hash == key_hash && words.size() == wanted.size() &&
               std::memcmp(words.data(), wanted.data(), wanted.size_bytes()) == 0;
    }
};

class LocalPlans;

// A plan for as long as a call of this thread uses it; or none.
//
// Most are borrowed from the thread's table, which keeps what is borrowed. (To count the users of a shared pointer
// takes two atomic operations, and each of them waits for all stores before it, those of the copy among them.)
class PlanInUse {
public:
    PlanInUse() noexcept = default;
    PlanInUse(std::shared_ptr<const CallPlan> plan) noexcept : plan_(plan.get()), owned_(std::move(plan)) {}
    inline PlanInUse(const CallPlan& plan, LocalPlans& lender) noexcept;
    PlanInUse(PlanInUse&& other) noexcept
        : plan_(std::exchange(other.plan_, nullptr)),
          lender_(std::exchange(other.lender_, nullptr)),
          owned_(std::move(other.owned_)) {}
    PlanInUse& operator=(PlanInUse&& other) noexcept {
        std::swap(plan_, other.plan_);
        std::swap(lender_, other.lender_);
        std::swap(owned_, other.owned_);
        return *this;
    }
    inline ~PlanInUse();

    const CallPlan* get() const noexcept { return plan_; }
    const CallPlan& operator*() const noexcept { return *plan_; }
    explicit operator bool() const noexcept { return plan_ != nullptr; }

private:
    const CallPlan* plan_ = nullptr;
    LocalPlans* lender_ = nullptr;
    std::shared_ptr<const CallPlan> owned_;  // where it is not borrowed
};

// This thread's table: direct mapped, emptied when the shared cache was cleared. Every plan goes through the shared
// cache, which is bounded by count and by bytes; a small one that is found there again is kept here, too.
class LocalPlans {
public:
    static LocalPlans& of_thread() {
        if (current_ == nullptr) return create();
        return *current_;
    }
    // None where there is none.
    PlanInUse find(const PlanKey& key, std::uint64_t hash) {
        const auto& entry = entries_[hash % kEntries];
        if (is_current() && entry && entry->matches(key, hash)) [[likely]]
            return {*entry->plan, *this};
        return find_shared(key, hash);
    }
    void insert(const PlanKey& key, std::uint64_t hash, std::shared_ptr<const CallPlan> plan);

private:
    static LocalPlans& create();
    bool is_current() const noexcept { return generation_ == shared_generation_.load(std::memory_order_acquire); }
    std::shared_ptr<const CallPlan> find_shared(const PlanKey& key, std::uint64_t hash);
    static thread_local LocalPlans* current_;

    friend class PlanInUse;
    friend void clear_plans() noexcept;
    static std::atomic<std::uint64_t> shared_generation_;  // counts clear_plans

    static constexpr std::size_t kEntries = 256;
    std::array<std::shared_ptr<const CachedPlan>, kEntries> entries_;
    std::shared_ptr<const CachedPlan> newest_;  // inserted last: its size was not yet known then
    std::uint64_t generation_ = 0;
    // Plans borrowed from entries_, which meanwhile stay as they are: the garbage collector may run another call in
    // the middle of one.
    std::size_t lent_ = 0;
};

PlanInUse::PlanInUse(const CallPlan& plan, LocalPlans& lender) noexcept : plan_(&plan), lender_(&lender) { ++lender.lent_; }

PlanInUse::~PlanInUse() {
    if (lender_ != nullptr) --lender_->lent_;
}

// The plan of this key; `build` makes it where none is cached.
template <class Build>
PlanInUse cached_plan(const PlanKey& key, const Build& build) {
    const std::uint64_t hash = key.hash();
    LocalPlans& plans = LocalPlans::of_thread();
    if (PlanInUse found = plans.find(key, hash)) [[likely]]
        return found;
    std::shared_ptr<const CallPlan> made = build();
    plans.insert(key, hash, made);
    return made;
}

void clear_plans() noexcept;

// What the shared cache holds.
struct CachedPlans {
    std::size_t plans;
    std::size_t bytes;
};
CachedPlans cached_plans();

// Beyond these bytes the plans that were not used for longest are dropped.
inline constexpr std::size_t kCachedPlanBytes = std::size_t{64} << 20;

}  // namespace dnnmove
