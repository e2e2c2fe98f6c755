// Plans of calls: built by several threads at once, while one of them measures, and kept in a bounded cache.
#include "call/call_plan.hpp"

#include <atomic>
#include <chrono>
#include <latch>
#include <set>
#include <thread>

#include "call/plan_cache.hpp"
#include "test.hpp"

using namespace dnnmove;

namespace {

using testing::Bytes;

Bytes counted(std::size_t size) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i % 251);
    return bytes;
}

// The transpose of `rows` x `columns` elements of four bytes.
CallPlan transpose_plan(std::int64_t rows, std::int64_t columns, bool tune) {
    const Nest nest{{{columns, 4, 4 * rows}, {rows, 4 * columns, 4}}, 0, 0, 4};
    return CallPlan({}, {}, {}, {Transfer{0, 0, nest}}, tune);
}

bool is_transpose(const Bytes& dst, const Bytes& src, std::size_t rows, std::size_t columns) {
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
            if (dst[4 * (j * rows + i) + 1] != src[4 * (i * columns + j) + 1]) return false;
        }
    }
    return true;
}

// A call that cuts `parts` rows apart.
std::shared_ptr<const CallPlan> rows_plan(std::int64_t parts, std::int64_t bytes) {
    std::vector<Transfer> transfers;
    for (std::int64_t i = 0; i < parts; ++i) {
        transfers.push_back({0, static_cast<int>(i), Nest{{}, i * bytes, 0, bytes}});
    }
    return std::make_shared<const CallPlan>(Title{}, std::vector<Placement>{}, std::vector<Placement>{}, std::move(transfers));
}

PlanKey key_of(std::int64_t number) {
    PlanKey key;
    key.push(-1);  // no operation has this number
    key.push(number);
    return key;
}

}  // namespace

TEST_CASE("threads that plan at once share one program") {
    constexpr std::size_t kThreads = 8;
    const Bytes src = counted(4 * 60 * 70);
    for (int round = 0; round < 20; ++round) {
        CAPTURE(round);
        const CallPlan plan = transpose_plan(60, 70, false);
        std::vector<Bytes> dsts(kThreads, Bytes(src.size()));
        std::latch start(kThreads);
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < kThreads; ++i) {
            threads.emplace_back([&, i] {
                const std::byte* const from = src.data();
                std::byte* const to = dsts[i].data();
                start.arrive_and_wait();
                plan.program(&from, &to, 1, 1).execute(&from, &to, 1);
            });
        }
        for (std::thread& thread : threads) thread.join();
        std::set<const Program*> programs;
        for (Bytes& dst : dsts) {
            const std::byte* const from = src.data();
            std::byte* const to = dst.data();
            CHECK(is_transpose(dst, src, 60, 70));
            programs.insert(&plan.program(&from, &to, 1, 1));
            programs.insert(&plan.program(&from, &to, 1, 2));  // where nothing was measured, threads make no difference
        }
        CHECK(programs.size() == 1);  // small outputs are aligned alike
    }
}

TEST_CASE("a call does not wait for a measurement") {
    constexpr std::size_t kRows = 1400, kColumns = 1800;
    const Bytes src = counted(4 * kRows * kColumns);
    bool met = false;
    for (int attempt = 0; attempt < 50 && !met; ++attempt) {
        const CallPlan plan = transpose_plan(kRows, kColumns, true);
        Bytes dst(src.size()), other(src.size());
        const std::byte* const from = src.data();
        std::byte* const to = dst.data();
        std::byte* const to_other = other.data();
        std::atomic<bool> begun{false};
        std::atomic<const Program*> measured{nullptr};
        std::thread thread([&] {
            begun = true;
            measured = &plan.program(&from, &to_other, 1, 1);
        });
        while (!begun) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const Program& program = plan.program(&from, &to, 1, 1);
        program.execute(&from, &to, 1);
        met = measured == nullptr && plan.explain(1).find("to be tuned") != std::string::npos;
        thread.join();
        CHECK(is_transpose(dst, src, kRows, kColumns));
        CHECK(plan.explain(1).find("  tuned: ") != std::string::npos);
        CHECK(!plan.tunes(&to_other, 1, 1));
        // Else the other thread had lost its processor, and this one measured or came when all was over.
        if (met) {
            CHECK(measured != &program);
            CHECK(&plan.program(&from, &to_other, 1, 1) == measured);
        }
    }
    CHECK(met);
}

TEST_CASE("equal parts share one plan") {
    constexpr std::int64_t kParts = 1000, kBytes = 40;
    const auto plan = rows_plan(kParts, kBytes);
    const Bytes src = counted(kParts * kBytes);
    Bytes dst(src.size());
    const std::byte* const from = src.data();
    std::vector<std::byte*> to;
    for (std::int64_t i = 0; i < kParts; ++i) to.push_back(dst.data() + (kParts - 1 - i) * kBytes);
    const std::size_t before = plan->memory();
    plan->program(&from, to.data(), to.size(), 1).execute(&from, to.data(), 1);
    CHECK(plan->memory() - before < 64 * kParts);
    bool right = true;
    for (std::int64_t i = 0; i < kParts; ++i) {
        const std::byte* const part = to[static_cast<std::size_t>(i)];
        right = right && std::equal(part, part + kBytes, from + i * kBytes);
    }
    CHECK(right);
}

TEST_CASE("the cache is bounded by bytes") {
    clear_plans();
    CHECK(cached_plans().plans == 0);
    CHECK(cached_plans().bytes == 0);
    LocalPlans& cache = LocalPlans::of_thread();
    const std::size_t each = rows_plan(20000, 1)->memory();
    const auto count = static_cast<std::int64_t>(2 * kCachedPlanBytes / each);
    for (std::int64_t i = 0; i < count; ++i) {
        const PlanKey key = key_of(i);
        cache.insert(key, key.hash(), rows_plan(20000, 1));
        CHECK(cached_plans().bytes <= kCachedPlanBytes);
    }
    CHECK(cached_plans().bytes > kCachedPlanBytes / 2);
    CHECK(!cache.find(key_of(0), key_of(0).hash()));
    CHECK(cache.find(key_of(count - 1), key_of(count - 1).hash()));
    clear_plans();
    CHECK(cached_plans().plans == 0);
    CHECK(cached_plans().bytes == 0);
    CHECK(!cache.find(key_of(count - 1), key_of(count - 1).hash()));
}

TEST_CASE("the cache counts programs that are built later") {
    clear_plans();
    LocalPlans& cache = LocalPlans::of_thread();
    const PlanKey key = key_of(1);
    const auto plan = rows_plan(3000, 8);
    cache.insert(key, key.hash(), plan);
    const std::size_t before = cached_plans().bytes;
    CHECK(before >= plan->memory());
    const Bytes src(3000 * 8);
    Bytes dst(src.size());
    const std::byte* const from = src.data();
    const std::vector<std::byte*> to(3000, dst.data());
    plan->program(&from, to.data(), to.size(), 1);
    CHECK(cache.find(key, key.hash()).get() == plan.get());
    CHECK(cached_plans().bytes >= before + 3000 * sizeof(void*));
    clear_plans();
}

TEST_CASE("a plan in use stays whatever is called meanwhile") {
    clear_plans();
    LocalPlans& cache = LocalPlans::of_thread();
    const PlanKey key = key_of(1);
    std::weak_ptr<const CallPlan> watched;
    {
        const auto plan = rows_plan(2, 8);
        watched = plan;
        cache.insert(key, key.hash(), plan);
    }
    CHECK(cache.find(key, key.hash()));  // now it is in this thread's table
    const Bytes src = counted(16);
    Bytes dst(src.size());
    {
        const PlanInUse used = cache.find(key, key.hash());
        // As a garbage collector's finalizers might do in the middle of a call: more plans than the table has places.
        for (std::int64_t i = 2; i < 800; ++i) {
            cache.insert(key_of(i), key_of(i).hash(), rows_plan(1, i));
            CHECK(cache.find(key_of(i), key_of(i).hash()).get()->bytes() == i);
        }
        clear_plans();
        CHECK(!cache.find(key, key.hash()));
        CHECK(!watched.expired());
        const std::byte* const from = src.data();
        std::byte* const to[] = {dst.data() + 8, dst.data()};
        if (!watched.expired()) (*used).program(&from, to, 2, 1).execute(&from, to, 1);
    }
    CHECK(std::equal(src.begin(), src.begin() + 8, dst.begin() + 8));
    CHECK(std::equal(src.begin() + 8, src.end(), dst.begin()));
    CHECK(!cache.find(key, key.hash()));
    CHECK(watched.expired());
}

TEST_CASE("keys hold what was pushed however long they are") {
    std::set<std::uint64_t> hashes;
    for (const std::int64_t ndim : {0, 1, 2, 3, 45, 46, 47, 48, 64}) {
        Dims shape, strides;
        for (std::int64_t axis = 0; axis < ndim; ++axis) {
            shape.push_back(1000 + axis);
            strides.push_back(-2000 - axis);
        }
        PlanKey key;
        std::vector<std::int64_t> expected;
        for (int array = 0; array < 2; ++array) {
            key.push(7);
            key.push_layout(shape, strides);
            expected.insert(expected.end(), {7, ndim});
            for (std::size_t axis = 0; axis < shape.size(); ++axis) {
                expected.insert(expected.end(), {shape[axis], strides[axis]});
            }
            CHECK(std::equal(expected.begin(), expected.end(), key.words().begin(), key.words().end()));
            CHECK(hashes.insert(key.hash()).second);
        }
    }
}
