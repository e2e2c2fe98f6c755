// Memory for results: large buffers are kept for the next result instead of going back to the kernel.
//
// A fresh large buffer costs more than the copy into it: the kernel clears each page on first touch. So
// buffers of kPooledBytes and more are maps of their own, aligned to huge pages and advised to be them;
// after use they wait in a bounded list. A size is rounded up by at most an eighth, so that results of
// about one size share buffers, and nothing here touches a fresh buffer: the threads that write it do.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace dnnmove {

inline constexpr std::size_t kPooledBytes = std::size_t{256} << 10;  // smaller buffers come from malloc
inline constexpr std::size_t kBufferAlignment = 64;                // bytes, of every buffer

// Thread-safe. A buffer that was taken is nobody else's until it is given back. Errors are null
// pointers, so that it can serve callers in C.
class BufferPool {
public:
    static constexpr std::size_t kMaxIdle = 256;  // buffers kept

    // Keeps at most `limit` bytes of idle buffers.
    explicit BufferPool(std::size_t limit) noexcept : limit_(limit) {}
    ~BufferPool() { clear(); }
    BufferPool(const BufferPool&) = delete;
    BufferPool& operator=(const BufferPool&) = delete;

    struct Taken {
        void* data;   // at least the bytes asked for; null where the kernel gives no more
        bool zeroed;  // fresh from the kernel
    };
    Taken take(std::size_t bytes) noexcept;
    // False, and nothing done, where `data` is no buffer that was taken here and is still out.
    bool give(void* data) noexcept;
    // Bytes behind `data`; 0 where give() would return false.
    std::size_t capacity(const void* data) const noexcept;
    // Returns all idle buffers to the kernel.
    void clear() noexcept;

    struct State {
        std::size_t limit;         // bytes
        std::size_t idle_bytes;
        std::size_t idle_buffers;
        std::size_t live_buffers;  // taken and not given back
    };
    State state() const noexcept;

    // For a fork: the child must not find the lock taken by a thread that it does not have.
    void lock() noexcept { mutex_.lock(); }
    void unlock() noexcept { mutex_.unlock(); }

private:
    struct Buffer {
        void* data = nullptr;
        std::size_t bytes = 0;
    };
    Buffer remove_idle(std::size_t position) noexcept;

    const std::size_t limit_;
    mutable std::mutex mutex_;
    std::array<Buffer, kMaxIdle> idle_{};  // least recently used first
    std::size_t idle_count_ = 0;
    std::size_t idle_bytes_ = 0;
    std::unordered_map<const void*, std::size_t> live_;  // bytes of each buffer that is out
};

// Bytes that a buffer for `bytes` (at least kPooledBytes) has: whole pages, and at most an eighth more.
// From 16 MiB on whole huge pages. 0 where no address space could hold them.
std::size_t buffer_class(std::size_t bytes) noexcept;

// The memory that the cgroups of this process grant it; 0 where they set no limit. (`root`: as for cgroup_folders.)
std::size_t cgroup_memory_bytes(const char* root = "");

// The value of DNNMOVE_POOL: bytes, with K, M or G for powers of 1024. 0 turns the pool off; ValueError
// for anything else that is less than kPooledBytes, and for what is no such number.
std::size_t parse_pool_limit(const char* text);

// ---- The process's pool. Its limit is DNNMOVE_POOL, else a sixteenth of the memory, at most 1 GiB. ----

// Null where DNNMOVE_POOL=0. Never destroyed: results outlive everything. Throws ValueError for a wrong
// DNNMOVE_POOL.
BufferPool* process_pool();

// Like malloc, calloc, realloc and free, for buffers of any size; those from kPooledBytes on come from
// the pool where there is one. Aligned to kBufferAlignment, but for small ones that were resized. Each
// takes whatever pointer the others returned, from any thread, at any time.
void* allocate_buffer(std::size_t bytes) noexcept;
void* allocate_zeroed_buffer(std::size_t bytes) noexcept;
void* resize_buffer(void* data, std::size_t bytes) noexcept;
void free_buffer(void* data) noexcept;

}  // namespace dnnmove
