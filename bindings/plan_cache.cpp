// Call plans, and the cache that finds them again: a thread's own table before a shared one.
#include "plan_cache.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <list>
#include <unordered_map>

#include "plan/tuning.hpp"

namespace dnnmove {
namespace {

constexpr std::size_t kCapacity = 1024;           // plans
constexpr std::size_t kMaxKeyWords = 16 * 1024;   // larger calls are planned each time
constexpr std::int64_t kSmall = 256 * 1024;       // bytes; below, alignment beyond a vector is no use
constexpr std::uintptr_t kSmallAlignment = 16;    // bytes; what every allocator gives

}  // namespace

// Least recently used last.
struct SharedCache {
    using Entry = std::shared_ptr<const CachedPlan>;
    std::mutex mutex;
    std::list<Entry> entries;
    std::unordered_multimap<std::uint64_t, std::list<Entry>::iterator> index;

    auto find(const PlanKey& key, std::uint64_t hash) {
        const auto [first, last] = index.equal_range(hash);
        auto at = first;
        while (at != last && !LocalPlans::matches(**at->second, key, hash)) ++at;
        return at == last ? index.end() : at;
    }
};

namespace {

// Never destroyed: threads may outlive the interpreter's exit handlers.
SharedCache& shared_cache() {
    static auto* cache = new SharedCache();
    return *cache;
}

// What an earlier call has measured, or a file has brought.
std::optional<Tuned> find_tuned(const std::vector<Transfer>& transfers, const PlanOptions& options) {
    if (tuned_problems::none()) return std::nullopt;
    return tuned_problems::find(problem_of(transfers, options));
}

}  // namespace

Placement place(Dims shape, Dims strides, std::int64_t itemsize) {
    Placement placement;
    placement.extent = extent_of(shape, strides, itemsize);
    std::int64_t expected = itemsize;
    placement.c_contiguous = true;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        placement.c_contiguous = placement.c_contiguous && strides[axis] == expected;
        expected *= std::max<std::int64_t>(shape[axis], 1);
    }
    placement.shape = std::move(shape);
    placement.strides = std::move(strides);
    return placement;
}

CallPlan::CallPlan(Title title, std::vector<Placement> inputs, std::vector<Placement> outputs,
                   std::vector<Transfer> transfers, bool tune)
    : title_(std::move(title)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      transfers_(std::move(transfers)),
      tune_(tune) {
    for (const Transfer& transfer : transfers_) {
        std::int64_t bytes = transfer.nest.itemsize;
        for (const Loop& loop : transfer.nest.loops) bytes *= loop.extent;
        bytes_ += bytes;
    }
    if (bytes_ < kSmall) finest_ = kSmallAlignment;
}

CallPlan::~CallPlan() {
    for (const auto& slot : built_) {
        for (const Built* built = slot.load(std::memory_order_relaxed); built != nullptr;) {
            const Built* previous = built->previous;
            delete built;
            built = previous;
        }
    }
}

PlanOptions CallPlan::options_for(std::size_t slot, int threads) const {
    PlanOptions options;
    options.threads = threads;
    options.dst_alignment = std::int64_t{1} << slot;
    return options;
}

const Program& CallPlan::build(std::size_t slot, const std::byte* const* srcs, std::byte* const* dsts,
                               int threads) const {
    const std::lock_guard lock(mutex_);
    const Built* before = built_[slot].load(std::memory_order_relaxed);
    if (before != nullptr && before->threads >= threads) return before->program;
    PlanOptions options = options_for(slot, threads);
    std::optional<Tuned> tuned = find_tuned(transfers_, options);
    if (!tuned && tune_) {
        tuned = dnnmove::tune(transfers_, options, srcs, dsts, threads);
        tuned_problems::insert(problem_of(transfers_, options), *tuned);
    }
    if (tuned) options.variant = tuned->variant;
    const auto* built = new Built{Program(transfers_, options), threads, tuned ? tuned->gain : 1, before};
    built_[slot].store(built, std::memory_order_release);
    last_ = built;
    return built->program;
}

std::string CallPlan::impl_info() const { return native_name(best_isa()); }

std::string CallPlan::explain(int threads) const {
    const std::lock_guard lock(mutex_);
    if (last_ != nullptr) return explain(last_->program, last_->gain);
    PlanOptions options = options_for(alignment_slot(nullptr, 0), threads);
    const std::optional<Tuned> tuned = find_tuned(transfers_, options);
    if (tuned) options.variant = tuned->variant;
    const Program program(transfers_, options);
    if (!tuned && tune_) return program.explain() + "  to be tuned by the first call\n";
    return explain(program, tuned ? tuned->gain : 1);
}

std::string CallPlan::explain(const Program& program, double gain) const {
    std::string text = program.explain();
    if (gain > 1) {
        char times[32];
        std::snprintf(times, sizeof times, "%.2f", gain);
        text += std::string("  tuned: ") + times + " times faster than the planner's own choice\n";
    } else if (tune_) {
        text += "  tuned: the planner's own choice is the fastest\n";
    }
    return text;
}

void PlanKey::push_slowly(std::int64_t word) {
    if (size_ == kInline) heap_.assign(inline_, inline_ + kInline);
    if (size_ < kInline) {
        inline_[size_++] = word;
        return;
    }
    heap_.push_back(word);
    ++size_;
}

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
    if (!is_current()) {
        entries_.fill(nullptr);
        generation_ = shared_generation_.load(std::memory_order_acquire);
    }
    SharedCache& cache = shared_cache();
    const std::lock_guard lock(cache.mutex);
    const auto found = cache.find(key, hash);
    if (found == cache.index.end()) return nullptr;
    cache.entries.splice(cache.entries.begin(), cache.entries, found->second);
    entries_[hash % kEntries] = *found->second;
    return (*found->second)->plan;
}

void LocalPlans::insert(const PlanKey& key, std::uint64_t hash, std::shared_ptr<const CallPlan> plan) {
    const auto words = key.words();
    if (words.size() > kMaxKeyWords) return;
    auto made = std::make_shared<const CachedPlan>(CachedPlan{hash, {words.begin(), words.end()}, std::move(plan)});
    entries_[hash % kEntries] = made;
    SharedCache& cache = shared_cache();
    const std::lock_guard lock(cache.mutex);
    if (cache.find(key, hash) != cache.index.end()) return;
    cache.entries.push_front(std::move(made));
    cache.index.emplace(hash, cache.entries.begin());
    if (cache.entries.size() > kCapacity) {
        const auto oldest = std::prev(cache.entries.end());
        const auto [first, last] = cache.index.equal_range((*oldest)->hash);
        for (auto at = first; at != last; ++at) {
            if (at->second == oldest) {
                cache.index.erase(at);
                break;
            }
        }
        cache.entries.erase(oldest);
    }
}

void clear_plans() noexcept {
    SharedCache& cache = shared_cache();
    const std::lock_guard lock(cache.mutex);
    cache.index.clear();
    cache.entries.clear();
    LocalPlans::shared_generation_.fetch_add(1, std::memory_order_release);
}

std::size_t cached_plans() {
    SharedCache& cache = shared_cache();
    const std::lock_guard lock(cache.mutex);
    return cache.entries.size();
}

}  // namespace dnnmove
