// Tuning: measures variants of a plan on the memory of a real call, and remembers which was the fastest.
#include "plan/tuning.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>

#include "plan/canonical.hpp"
#include "runtime/recent.hpp"

namespace dnnmove {
namespace {

constexpr int kKernels = 3;  // of those that can run a problem; others are far from the fastest
constexpr std::int64_t kPanels[] = {64, 128, 256, 512};
constexpr int kRounds = 7;
constexpr double kSampleSeconds = 300e-6;  // at least
// What a plan finds in the caches when it is called again shows after several calls: another plan was run before.
constexpr int kWarmCalls = 3;
constexpr double kLongSeconds = 3e-3;  // of a call that goes far beyond the caches: once is enough
constexpr double kHopeless = 1.5;          // times slower than the fastest: measured no further
// A gain that a second measurement will find again.
constexpr double kClearMedian = 1.05;
constexpr double kClearBest = 1.02;

struct Contestant {
    Variant variant;
    std::unique_ptr<const Program> program;
    std::vector<double> seconds;  // per call, a sample per round

    double median() const {
        std::vector<double> sorted = seconds;
        std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
        return sorted[sorted.size() / 2];
    }
    double best() const { return *std::min_element(seconds.begin(), seconds.end()); }
};

// Measures one choice after another, each among the variants that differ from the winner in it alone.
class Tuner {
public:
    Tuner(const std::vector<Transfer>& transfers, const PlanOptions& options, const std::byte* const* srcs,
          std::byte* const* dsts, int threads)
        : transfers_(transfers), options_(options), srcs_(srcs), dsts_(dsts), threads_(threads) {}

    Tuned run() {
        choose(kKernels, [](Variant& variant, int k) { variant.kernel = k; });
        choose(3, [](Variant& variant, int k) { variant.stores = static_cast<Variant::Stores>(k); });
        choose(5, [](Variant& variant, int k) { variant.panel = k == 0 ? 0 : kPanels[k - 1]; });
        const Variant found = winner_;
        if (found == Variant{}) return {};
        // Once more, the winner against the planner's own choice alone.
        winner_ = {};
        const double gain = choose(1, [&](Variant& variant, int) { variant = found; });
        return {winner_, gain};
    }

private:
    // Lets the variants that `set` makes of the winner compete with it; returns what was gained.
    template <class Set>
    double choose(int count, const Set& set) {
        std::vector<Contestant> contestants;
        std::vector<std::string> texts;
        add(winner_, contestants, texts);
        for (int k = 0; k < count; ++k) {
            Variant variant = winner_;
            set(variant, k);
            if (!(variant == winner_)) add(variant, contestants, texts);
        }
        if (contestants.size() == 1) return 1;
        measure(contestants);
        const Contestant& before = contestants.front();
        const auto fastest = std::min_element(
            contestants.begin(), contestants.end(),
            [](const Contestant& one, const Contestant& other) { return one.median() < other.median(); });
        const double gain = before.median() / fastest->median();
        if (gain < kClearMedian || before.best() / fastest->best() < kClearBest) return 1;
        winner_ = fastest->variant;
        return gain;
    }

    // Unless it would run as another contestant does.
    void add(const Variant& variant, std::vector<Contestant>& contestants, std::vector<std::string>& texts) const {
        PlanOptions options = options_;
        options.variant = variant;
        auto program = std::make_unique<const Program>(transfers_, options);
        std::string text = program->explain(threads_);
        if (std::find(texts.begin(), texts.end(), text) != texts.end()) return;
        texts.push_back(std::move(text));
        contestants.push_back({variant, std::move(program), {}});
    }

    double time(const Contestant& contestant, int calls) const {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i) contestant.program->execute(srcs_, dsts_, threads_);
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
    }

    void measure(std::vector<Contestant>& contestants) const {
        for (int round = 0; round < kRounds; ++round) {
            double fastest = 1e30;
            for (const Contestant& contestant : contestants) {
                if (round > 0) fastest = std::min(fastest, contestant.best());
            }
            for (std::size_t k = 0; k < contestants.size(); ++k) {
                // Another one first in every round: what a contestant leaves in the caches helps or harms the next.
                Contestant& contestant = contestants[(k + static_cast<std::size_t>(round)) % contestants.size()];
                if (round > 0 && contestant.best() > kHopeless * fastest) continue;
                double once = time(contestant, 1);
                if (once < kLongSeconds) once = time(contestant, kWarmCalls);
                const int calls = static_cast<int>(std::clamp(kSampleSeconds / std::max(once, 1e-9), 1.0, 1000.0));
                contestant.seconds.push_back(time(contestant, calls));
            }
        }
    }

    const std::vector<Transfer>& transfers_;
    const PlanOptions& options_;
    const std::byte* const* srcs_;
    std::byte* const* dsts_;
    int threads_;
    Variant winner_;
};

// Guarded by lock_for(&table). Never destroyed: threads may outlive the exit handlers.
std::map<std::string, Tuned>& table = *new std::map<std::string, Tuned>();
constinit std::atomic<bool> table_is_empty{true};

// Tells tables of offsets apart.
std::uint64_t digest(const OffsetTable& offsets) {
    std::uint64_t hash = 14695981039346656037U;
    const auto add = [&](std::int64_t value) { hash = (hash ^ static_cast<std::uint64_t>(value)) * 1099511628211U; };
    for (const std::int64_t offset : offsets.src) add(offset);
    for (const std::int64_t offset : offsets.dst) add(offset);
    add(static_cast<std::int64_t>(offsets.whole));
    if (offsets.given()) {
        add(offsets.index_bytes);
        add(offsets.length);
        add(offsets.stride);
    }
    return hash;
}

}  // namespace

Tuned tune(const std::vector<Transfer>& transfers, const PlanOptions& options, const std::byte* const* srcs,
           std::byte* const* dsts, int threads) {
    return Tuner(transfers, options, srcs, dsts, threads).run();
}

std::string problem_of(const std::vector<Transfer>& transfers, const PlanOptions& options, int threads) {
    std::string text = std::string(to_string(options.isa)) + ", " + std::to_string(threads) + " threads, aligned to " +
                       std::to_string(options.dst_alignment);
    for (const Transfer& transfer : transfers) {
        const bool empty = std::any_of(transfer.nest.loops.begin(), transfer.nest.loops.end(),
                                       [](const Loop& loop) { return loop.extent == 0; });
        if (empty) continue;
        const Nest nest = canonical(transfer.nest);
        const Transfer::Repeat& repeat = transfer.repeat;
        text += "; " + std::to_string(transfer.src) + "+" + std::to_string(nest.src_offset) + " to " +
                std::to_string(transfer.dst) + "+" + std::to_string(nest.dst_offset) + ": " + std::to_string(nest.itemsize) +
                " B";
        for (const Loop& loop : nest.loops) {
            text += ", " + std::to_string(loop.extent) + " by ";
            text += loop.table ? "table " + std::to_string(digest(*loop.table))
                               : std::to_string(loop.src_stride) + " to " + std::to_string(loop.dst_stride);
        }
        if (transfer.sink) text += ", " + transfer.sink->describe();
        if (repeat.count > 1) {
            text += ", " + std::to_string(repeat.count) + " sources by " + std::to_string(repeat.src_step) + "+" +
                    std::to_string(repeat.src_pitch) + " to " + std::to_string(repeat.dst_pitch);
        }
    }
    return text;
}

namespace tuned_problems {

std::optional<Tuned> find(const std::string& problem) {
    const std::lock_guard lock(lock_for(&table));
    const auto found = table.find(problem);
    if (found == table.end()) return std::nullopt;
    return found->second;
}

void insert(std::string problem, const Tuned& tuned) {
    const std::lock_guard lock(lock_for(&table));
    table.insert_or_assign(std::move(problem), tuned);
    table_is_empty.store(false, std::memory_order_release);
}

std::vector<std::pair<std::string, Tuned>> all() {
    const std::lock_guard lock(lock_for(&table));
    return {table.begin(), table.end()};
}

void clear() {
    std::map<std::string, Tuned> dropped;
    const std::lock_guard lock(lock_for(&table));
    dropped.swap(table);
    table_is_empty.store(true, std::memory_order_release);
}

bool none() noexcept { return table_is_empty.load(std::memory_order_acquire); }

}  // namespace tuned_problems
}  // namespace dnnmove
