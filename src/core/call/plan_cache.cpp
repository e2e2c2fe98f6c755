// The cache of call plans: a thread's own table before a shared one.
#include "call/plan_cache.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "runtime/heap_bytes.hpp"
#include "runtime/recent.hpp"

namespace dnnmove {
namespace {

constexpr std::size_t kMostPlans = 1024;
constexpr std::size_t kLocalBytes = 64 * 1024;  // a larger plan is used long enough to be looked up in the shared cache

using Entry = std::shared_ptr<const CachedPlan>;

// Everything needs lock_for(&shared). What is dropped is handed out, to be destroyed without it.
class SharedCache {
public:
    // The entry, now the one used last; null where there is none.
    Entry find(const PlanKey& key, std::uint64_t hash) {
        const auto [first, last] = index_.equal_range(hash);
        const auto matches = [&](const auto& item) { return (*item.second)->matches(key, hash); };
        const auto found = std::find_if(first, last, matches);
        if (found == last) return nullptr;
        entries_.splice(entries_.begin(), entries_, found->second);
        return *found->second;
    }
    void insert(Entry entry) {
        entries_.push_front(std::move(entry));
        try {
            index_.emplace(entries_.front()->hash, entries_.begin());
        } catch (...) {
            entries_.pop_front();
            throw;
        }
        charge(*entries_.front());
    }
    // Counts what the plan holds now: it grows with each program that is built.
    void charge(const CachedPlan& entry) noexcept {
        bytes_ -= entry.charged;
        entry.charged = sizeof entry + heap_bytes(entry.words) + entry.plan->memory();
        bytes_ += entry.charged;
    }
    // Down to the bounds, but for the entry used last.
    std::list<Entry> trim() noexcept {
        std::list<Entry> dropped;
        while (entries_.size() > kMostPlans || (bytes_ > kCachedPlanBytes && entries_.size() > 1)) {
            const auto oldest = std::prev(entries_.end());
            discharge(**oldest);
            auto [first, last] = index_.equal_range((*oldest)->hash);
            index_.erase(std::find_if(first, last, [&](const auto& item) { return item.second == oldest; }));
            dropped.splice(dropped.begin(), entries_, oldest);
        }
        return dropped;
    }
    std::list<Entry> clear() noexcept {
        for (const Entry& entry : entries_) discharge(*entry);
        index_.clear();
        return std::exchange(entries_, {});
    }
    CachedPlans state() const noexcept { return {entries_.size(), bytes_}; }

private:
    void discharge(const CachedPlan& entry) noexcept { bytes_ -= std::exchange(entry.charged, 0); }

    std::list<Entry> entries_;  // least recently used last
    std::unordered_multimap<std::uint64_t, std::list<Entry>::iterator> index_;
    std::size_t bytes_ = 0;
};

// Never destroyed: threads may outlive the interpreter's exit handlers.
SharedCache& shared = *new SharedCache();

}  // namespace

thread_local LocalPlans* LocalPlans::current_ = nullptr;

LocalPlans& LocalPlans::create() {
    // Destroyed with the thread; a call from a later destructor makes a fresh one.
    struct Holder {
        std::unique_ptr<LocalPlans> plans = std::make_unique<LocalPlans>();
        ~Holder() { current_ = nullptr; }
    };
    static thread_local Holder holder;
    if (holder.plans == nullptr) holder.plans = std::make_unique<LocalPlans>();
    current_ = holder.plans.get();
    return *current_;
}

std::atomic<std::uint64_t> LocalPlans::shared_generation_{0};

std::shared_ptr<const CallPlan> LocalPlans::find_shared(const PlanKey& key, std::uint64_t hash) {
    if (!is_current() && lent_ == 0) {
        entries_.fill(nullptr);
        newest_ = nullptr;
        generation_ = shared_generation_.load(std::memory_order_acquire);
    }
    Entry found;
    {
        const std::lock_guard lock(lock_for(&shared));
        found = shared.find(key, hash);
        if (found != nullptr) shared.charge(*found);
    }
    if (found == nullptr) return nullptr;
    if (lent_ == 0 && found->plan->memory() <= kLocalBytes) entries_[hash % kEntries] = found;
    return found->plan;
}

void LocalPlans::insert(const PlanKey& key, std::uint64_t hash, std::shared_ptr<const CallPlan> plan) {
    const auto words = key.words();
    auto made = std::make_shared<const CachedPlan>(CachedPlan{hash, {words.begin(), words.end()}, std::move(plan)});
    std::list<Entry> dropped;
    const std::lock_guard lock(lock_for(&shared));
    if (newest_ != nullptr && newest_->charged != 0) shared.charge(*newest_);  // its first program is there now
    if (shared.find(key, hash) != nullptr) return;
    shared.insert(made);
    newest_ = std::move(made);
    dropped = shared.trim();
}

void clear_plans() noexcept {
    std::list<Entry> dropped;
    const std::lock_guard lock(lock_for(&shared));
    dropped = shared.clear();
    LocalPlans::shared_generation_.fetch_add(1, std::memory_order_release);
}

CachedPlans cached_plans() {
    const std::lock_guard lock(lock_for(&shared));
    return shared.state();
}

}  // namespace dnnmove
