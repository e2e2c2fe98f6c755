// Memory for results: large buffers are kept for the next result instead of going back to the kernel.
#include "runtime/buffer_pool.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>

#include "runtime/cgroup.hpp"
#include "runtime/error.hpp"

namespace dnnmove {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;  // bytes
constexpr std::size_t kDefaultLimit = std::size_t{1} << 30;

std::size_t page_bytes() noexcept {
    const long bytes = sysconf(_SC_PAGE_SIZE);
    return bytes > 0 ? static_cast<std::size_t>(bytes) : 4096;
}

std::size_t round_up(std::size_t bytes, std::size_t step) noexcept { return (bytes + step - 1) / step * step; }

// Starts on a huge page; the kernel backs each whole one inside by one page. `bytes` is a class.
void* map(std::size_t bytes) noexcept {
    void* block = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return nullptr;
    const auto first = reinterpret_cast<std::uintptr_t>(block);
    const std::size_t before = round_up(first, kHugePage) - first;
    auto* data = static_cast<std::byte*>(block) + before;
    if (before > 0) munmap(block, before);
    munmap(data + bytes, kHugePage - before);
#if defined(MADV_HUGEPAGE)
    madvise(data, bytes, MADV_HUGEPAGE);  // refused where the kernel has none: then it has small pages
#endif
    return data;
}

// The memory of this machine, or of its control groups where that is less.
std::size_t memory_bytes() {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const std::size_t bytes = pages > 0 ? static_cast<std::size_t>(pages) * page_bytes() : 16 * kDefaultLimit;
    const std::size_t limit = cgroup_memory_bytes();
    return limit == 0 ? bytes : std::min(bytes, limit);
}

std::size_t process_limit() {
    const char* text = std::getenv("DNNMOVE_POOL");
    if (text != nullptr && *text != '\0') return parse_pool_limit(text);
    // At least one byte, as 0 would turn it off: large buffers are worth their huge pages even if none is kept.
    return std::clamp<std::size_t>(memory_bytes() / 16, 1, kDefaultLimit);
}

void* allocate_small(std::size_t bytes) noexcept {
    if (bytes > PTRDIFF_MAX - kBufferAlignment) return nullptr;
    return std::aligned_alloc(kBufferAlignment, round_up(std::max<std::size_t>(bytes, 1), kBufferAlignment));
}

// process_pool() in the functions below, once the import has seen that it does not throw.
BufferPool* pool_or_null() noexcept {
    try {
        return process_pool();
    } catch (...) {
        return nullptr;
    }
}

}  // namespace

std::size_t cgroup_memory_bytes(const char* root) {
    std::size_t least = 0;
    for (const CgroupFolder& folder : cgroup_folders("memory", root)) {
        std::ifstream file(folder.path + (folder.version_2 ? "/memory.max" : "/memory.limit_in_bytes"));
        std::size_t limit = 0;
        if (file >> limit && limit != 0) least = least == 0 ? limit : std::min(least, limit);  // or it says "max"
    }
    return least;
}

std::size_t buffer_class(std::size_t bytes) noexcept {
    if (bytes > PTRDIFF_MAX / 2) return 0;
    return round_up(bytes, std::max(page_bytes(), std::bit_floor(bytes) / 8));
}

BufferPool::Buffer BufferPool::remove_idle(std::size_t position) noexcept {
    const Buffer buffer = idle_[position];
    std::move(idle_.begin() + static_cast<std::ptrdiff_t>(position) + 1,
              idle_.begin() + static_cast<std::ptrdiff_t>(idle_count_), idle_.begin() + static_cast<std::ptrdiff_t>(position));
    --idle_count_;
    idle_bytes_ -= buffer.bytes;
    return buffer;
}

BufferPool::Taken BufferPool::take(std::size_t bytes) noexcept {
    const std::size_t size = buffer_class(bytes);
    if (size == 0) return {nullptr, false};
    Buffer buffer;
    {
        const std::lock_guard guard(mutex_);
        for (std::size_t i = idle_count_; i-- > 0;) {
            if (idle_[i].bytes == size) {
                buffer = remove_idle(i);
                break;
            }
        }
    }
    const bool fresh = buffer.data == nullptr;
    if (fresh) {
        buffer = {map(size), size};
        if (buffer.data == nullptr) {
            clear();
            buffer.data = map(size);
        }
        if (buffer.data == nullptr) return {nullptr, false};
    }
    try {
        const std::lock_guard guard(mutex_);
        live_.emplace(buffer.data, buffer.bytes);
    } catch (const std::bad_alloc&) {
        munmap(buffer.data, buffer.bytes);
        return {nullptr, false};
    }
    return {buffer.data, fresh};
}

bool BufferPool::give(void* data) noexcept {
    if (reinterpret_cast<std::uintptr_t>(data) % kHugePage != 0) return false;
    std::array<Buffer, kMaxIdle + 1> dropped;  // unmapped outside the lock
    std::size_t count = 0;
    {
        const std::lock_guard guard(mutex_);
        const auto found = live_.find(data);
        if (found == live_.end()) return false;
        const Buffer buffer{data, found->second};
        live_.erase(found);
        if (buffer.bytes > limit_) {
            dropped[count++] = buffer;
        } else {
            while (idle_count_ == kMaxIdle || idle_bytes_ + buffer.bytes > limit_) dropped[count++] = remove_idle(0);
            idle_[idle_count_++] = buffer;
            idle_bytes_ += buffer.bytes;
        }
    }
    for (std::size_t i = 0; i < count; ++i) munmap(dropped[i].data, dropped[i].bytes);
    return true;
}

std::size_t BufferPool::capacity(const void* data) const noexcept {
    if (reinterpret_cast<std::uintptr_t>(data) % kHugePage != 0) return 0;
    const std::lock_guard guard(mutex_);
    const auto found = live_.find(data);
    return found == live_.end() ? 0 : found->second;
}

void BufferPool::clear() noexcept {
    std::array<Buffer, kMaxIdle> dropped;
    std::size_t count = 0;
    {
        const std::lock_guard guard(mutex_);
        while (idle_count_ > 0) dropped[count++] = remove_idle(idle_count_ - 1);
    }
    for (std::size_t i = 0; i < count; ++i) munmap(dropped[i].data, dropped[i].bytes);
}

BufferPool::State BufferPool::state() const noexcept {
    const std::lock_guard guard(mutex_);
    return {limit_, idle_bytes_, idle_count_, live_.size()};
}

std::size_t parse_pool_limit(const char* text) {
    const std::string value = text;
    const std::size_t digits = std::min(value.find_first_not_of("0123456789"), value.size());
    constexpr std::string_view kUnits = "KMG";
    const std::size_t unit = digits + 1 == value.size() ? kUnits.find(value[digits]) : std::string_view::npos;
    bool valid = digits > 0 && digits <= 18 && (digits == value.size() || unit != std::string_view::npos);
    if (valid) {
        const std::size_t number = std::stoull(value.substr(0, digits));
        const std::size_t shift = digits == value.size() ? 0 : 10 * (unit + 1);
        const std::size_t limit = number << shift;
        valid = limit >> shift == number && (number == 0 || limit >= kPooledBytes);
        if (valid) return limit;
    }
    throw ValueError("DNNMOVE_POOL (" + value + ") must be 0, or at least " + std::to_string(kPooledBytes) +
                     ": the bytes to keep for new results, where K, M or G at the end stands for a power of 1024");
}

BufferPool* process_pool() {
    static BufferPool* pool = []() -> BufferPool* {
        const std::size_t limit = process_limit();
        return limit == 0 ? nullptr : new BufferPool(limit);
    }();
    // After the pool, so that a handler never waits for the pool's creation.
    [[maybe_unused]] static const int registered = pool == nullptr
                                                       ? 0
                                                       : pthread_atfork([] { pool->lock(); }, [] { pool->unlock(); },
                                                                        [] { pool->unlock(); });
    return pool;
}

void* allocate_buffer(std::size_t bytes) noexcept {
    if (bytes < kPooledBytes) return allocate_small(bytes);
    BufferPool* pool = pool_or_null();
    return pool == nullptr ? allocate_small(bytes) : pool->take(bytes).data;
}

void* allocate_zeroed_buffer(std::size_t bytes) noexcept {
    BufferPool* pool = bytes < kPooledBytes ? nullptr : pool_or_null();
    const BufferPool::Taken taken = pool == nullptr ? BufferPool::Taken{allocate_small(bytes), false} : pool->take(bytes);
    if (taken.data != nullptr && !taken.zeroed) std::memset(taken.data, 0, bytes);
    return taken.data;
}

void* resize_buffer(void* data, std::size_t bytes) noexcept {
    if (data == nullptr) return allocate_buffer(bytes);
    BufferPool* pool = pool_or_null();
    const std::size_t capacity = pool == nullptr ? 0 : pool->capacity(data);
    if (capacity == 0) return std::realloc(data, std::max<std::size_t>(bytes, 1));
    // A buffer that shrinks to less than half goes where its size belongs.
    if (bytes <= capacity && bytes >= capacity / 2) return data;
    void* moved = allocate_buffer(bytes);
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, data, std::min(bytes, capacity));
    pool->give(data);
    return moved;
}

void free_buffer(void* data) noexcept {
    if (data == nullptr) return;
    // Nothing that malloc returned lies in the pool's table.
    BufferPool* pool = pool_or_null();
    if (pool == nullptr || !pool->give(data)) std::free(data);
}

}  // namespace dnnmove
