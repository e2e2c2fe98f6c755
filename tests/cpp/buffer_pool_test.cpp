// The pool of result buffers: sizes, reuse, both bounds, the parser of DNNMOVE_POOL.
#include "runtime/buffer_pool.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "test.hpp"
#include "runtime/error.hpp"

using namespace dnnmove;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

bool aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % kBufferAlignment == 0; }

}  // namespace

TEST_CASE("classes hold the bytes and waste at most an eighth") {
    for (std::size_t bytes = kPooledBytes; bytes < (std::size_t{1} << 40); bytes += bytes / 7 + 1) {
        const std::size_t size = buffer_class(bytes);
        CHECK(size >= bytes);
        CHECK(size - bytes <= bytes / 8);
        CHECK(size % 4096 == 0);
        CHECK(buffer_class(size) == size);
        if (bytes >= 16 * kMiB) CHECK(size % (2 * kMiB) == 0);
    }
    CHECK(buffer_class(SIZE_MAX) == 0);
}

TEST_CASE("a buffer is reused and never shared") {
    BufferPool pool(64 * kMiB);
    const BufferPool::Taken first = pool.take(5 * kMiB);
    CHECK(first.data != nullptr);
    CHECK(first.zeroed);
    CHECK(aligned(first.data));
    CHECK(pool.capacity(first.data) == 5 * kMiB);
    const BufferPool::Taken second = pool.take(5 * kMiB);
    CHECK(second.data != first.data);
    CHECK(pool.state().live_buffers == 2);
    CHECK(pool.give(first.data));
    CHECK(!pool.give(first.data));
    CHECK(pool.capacity(first.data) == 0);
    const BufferPool::Taken again = pool.take(5 * kMiB - 100);
    CHECK(again.data == first.data);
    CHECK(!again.zeroed);
    const BufferPool::Taken other = pool.take(9 * kMiB);
    CHECK(other.data != first.data);
    CHECK(other.zeroed);
    for (void* data : {again.data, second.data, other.data}) CHECK(pool.give(data));
    CHECK(pool.state().idle_bytes == 19 * kMiB);
    CHECK(pool.state().idle_buffers == 3);
    pool.clear();
    CHECK(pool.state().idle_bytes == 0);
    CHECK(pool.state().idle_buffers == 0);
}

TEST_CASE("bytes are bounded and the oldest leaves first") {
    BufferPool pool(10 * kMiB);
    void* small = pool.take(3 * kMiB).data;
    void* middle = pool.take(4 * kMiB).data;
    void* large = pool.take(5 * kMiB).data;
    void* larger = pool.take(11 * kMiB).data;
    for (void* data : {small, middle, large}) CHECK(pool.give(data));
    CHECK(pool.state().idle_bytes == 9 * kMiB);
    CHECK(pool.state().idle_buffers == 2);
    CHECK(pool.give(larger));
    CHECK(pool.state().idle_bytes == 9 * kMiB);
    const BufferPool::Taken kept = pool.take(4 * kMiB);
    CHECK(kept.data == middle);
    CHECK(!kept.zeroed);
    CHECK(pool.take(3 * kMiB).zeroed);
}

TEST_CASE("the count is bounded") {
    BufferPool pool(std::size_t{1} << 40);
    std::vector<void*> taken;
    for (std::size_t i = 0; i < BufferPool::kMaxIdle + 5; ++i) taken.push_back(pool.take(kPooledBytes).data);
    for (void* data : taken) CHECK(pool.give(data));
    CHECK(pool.state().idle_buffers == BufferPool::kMaxIdle);
    CHECK(pool.state().idle_bytes == BufferPool::kMaxIdle * kPooledBytes);
    CHECK(pool.state().live_buffers == 0);
}

TEST_CASE("what cannot be had is null") {
    BufferPool pool(kMiB);
    CHECK(pool.take(std::size_t{1} << 60).data == nullptr);
    CHECK(pool.take(SIZE_MAX).data == nullptr);
    CHECK(allocate_buffer(SIZE_MAX) == nullptr);
    CHECK(allocate_zeroed_buffer(SIZE_MAX) == nullptr);
    CHECK(!pool.give(nullptr));
    CHECK(pool.state().live_buffers == 0);
}

TEST_CASE("buffers of every size can be resized and freed") {
    const std::size_t sizes[] = {0, 1, 100, 5000, kPooledBytes - 1, kPooledBytes, 3 * kMiB, 20 * kMiB};
    for (const std::size_t from : sizes) {
        for (const std::size_t to : sizes) {
            auto* data = static_cast<unsigned char*>(allocate_buffer(from));
            CHECK(aligned(data));
            const std::size_t both = from < to ? from : to;
            for (std::size_t i = 0; i < both; ++i) data[i] = static_cast<unsigned char>(i * 7);
            data = static_cast<unsigned char*>(resize_buffer(data, to));
            bool same = data != nullptr;
            for (std::size_t i = 0; same && i < both; ++i) same = data[i] == static_cast<unsigned char>(i * 7);
            CHECK(same);
            if (to > 0) std::memset(data, 1, to);
            free_buffer(data);
        }
    }
    free_buffer(nullptr);
}

TEST_CASE("zeroed buffers are zero when used before") {
    for (int round = 0; round < 2; ++round) {
        auto* data = static_cast<unsigned char*>(allocate_zeroed_buffer(kMiB));
        bool zero = data != nullptr;
        for (std::size_t i = 0; zero && i < kMiB; ++i) zero = data[i] == 0;
        CHECK(zero);
        std::memset(data, 0xFF, kMiB);
        free_buffer(data);
    }
}

TEST_CASE("threads never meet in a buffer") {
    BufferPool pool(4 * kMiB);
    std::atomic<int> met{0};
    std::vector<std::thread> threads;
    for (int id = 1; id <= 4; ++id) {
        threads.emplace_back([&pool, &met, id] {
            for (std::size_t i = 0; i < 300; ++i) {
                auto* data = static_cast<std::atomic<int>*>(pool.take(kPooledBytes + (i % 3) * 300000).data);
                data->store(id);
                std::this_thread::yield();
                if (data->load() != id) ++met;
                if (i % 50 == 0) pool.clear();
                if (!pool.give(data)) ++met;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(met == 0);
    CHECK(pool.state().live_buffers == 0);
    CHECK(pool.state().idle_bytes <= 4 * kMiB);
}

TEST_CASE("the limit is bytes with a unit") {
    CHECK(parse_pool_limit("0") == 0);
    CHECK(parse_pool_limit("0G") == 0);
    CHECK(parse_pool_limit("268435456") == 256 * kMiB);
    CHECK(parse_pool_limit("256M") == 256 * kMiB);
    CHECK(parse_pool_limit("2048K") == 2 * kMiB);
    CHECK(parse_pool_limit("3G") == 3072 * kMiB);
    for (const char* wrong : {"", "1", "-1", "off", "M", "1T", "12 M", "1MM", "1.5G", "+5M", "0x100000", "99999999999999999999",
                              "99999999999999999G"}) {
        CHECK_THROWS_AS(parse_pool_limit(wrong), ValueError);
    }
}
