// The cache of call plans: a thread's own table before a shared one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
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

// This thread's table: direct mapped, emptied when the shared cache was cleared. Every plan goes through the shared
// cache, which is bounded by count and by bytes; a small one that is found there again is kept here, too.
class LocalPlans {
public:
    static LocalPlans& of_thread() {
        if (current_ == nullptr) return create();
        return *current_;
    }
    // Null where there is none. Shared, since the garbage collector may run another call in between.
    std::shared_ptr<const CallPlan> find(const PlanKey& key, std::uint64_t hash) {
        const auto& entry = entries_[hash % kEntries];
        if (is_current() && entry && entry->matches(key, hash)) return entry->plan;
        return find_shared(key, hash);
    }
    void insert(const PlanKey& key, std::uint64_t hash, std::shared_ptr<const CallPlan> plan);

private:
    static LocalPlans& create();
    bool is_current() const noexcept { return generation_ == shared_generation_.load(std::memory_order_acquire); }
    std::shared_ptr<const CallPlan> find_shared(const PlanKey& key, std::uint64_t hash);
    static thread_local LocalPlans* current_;

    friend void clear_plans() noexcept;
    static std::atomic<std::uint64_t> shared_generation_;  // counts clear_plans

    static constexpr std::size_t kEntries = 256;
    std::array<std::shared_ptr<const CachedPlan>, kEntries> entries_;
    std::shared_ptr<const CachedPlan> newest_;  // inserted last: its size was not yet known then
    std::uint64_t generation_ = 0;
};

// The plan of this key; `build` makes it where none is cached.
template <class Build>
std::shared_ptr<const CallPlan> cached_plan(const PlanKey& key, const Build& build) {
    const std::uint64_t hash = key.hash();
    LocalPlans& plans = LocalPlans::of_thread();
    if (auto found = plans.find(key, hash)) return found;
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
