// Memory for the axes of boxes: a chain is folded by making and dropping thousands of them, of a few sizes.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <vector>

namespace dnnmove::view {

// Blocks that a thread gave back, for its next ones. Allocators keep a handful of each size at hand and search for
// others, which was a fifth of the time to fold a chain. Any thread may give a block back.
class BlockPool {
public:
    static void* take(std::size_t bytes) {
        const std::size_t size = class_of(bytes);
        if (size >= kClasses) return ::operator new(bytes);
        BlockPool& pool = of_thread();
        if (pool.free_[size] == nullptr) return ::operator new((size + 1) * kGrain);
        Free* const block = pool.free_[size];
        pool.free_[size] = block->next;
        pool.kept_ -= (size + 1) * kGrain;
        return block;
    }
    static void give(void* block, std::size_t bytes) noexcept {
        const std::size_t size = class_of(bytes);
        if (size >= kClasses) return ::operator delete(block);
        BlockPool& pool = of_thread();
        if (pool.closed_ || pool.kept_ + (size + 1) * kGrain > kMostKept) return ::operator delete(block);
        pool.free_[size] = ::new (block) Free{pool.free_[size]};
        pool.kept_ += (size + 1) * kGrain;
    }
    ~BlockPool() {
        closed_ = true;
        for (Free*& first : free_) {
            while (first != nullptr) {
                Free* const next = first->next;
                ::operator delete(first);
                first = next;
            }
        }
    }

private:
    struct Free {
        Free* next;
    };
    static constexpr std::size_t kGrain = 256;           // bytes; sizes are multiples of it
    static constexpr std::size_t kClasses = 40;          // larger blocks are the allocator's own
    static constexpr std::size_t kMostKept = 512 << 10;  // bytes, of a thread

    static std::size_t class_of(std::size_t bytes) { return bytes == 0 ? 0 : (bytes - 1) / kGrain; }
    static BlockPool& of_thread() {
        thread_local BlockPool pool;
        return pool;
    }

    std::array<Free*, kClasses> free_{};
    std::size_t kept_ = 0;
    bool closed_ = false;  // the thread ends
};

template <class T>
struct Pooled {
    using value_type = T;
    Pooled() = default;
    template <class Other>
    explicit(false) Pooled(const Pooled<Other>&) noexcept {}
    T* allocate(std::size_t count) { return static_cast<T*>(BlockPool::take(count * sizeof(T))); }
    void deallocate(T* block, std::size_t count) noexcept { BlockPool::give(block, count * sizeof(T)); }
    template <class Other>
    bool operator==(const Pooled<Other>&) const noexcept {
        return true;
    }
};

template <class T>
using PooledList = std::vector<T, Pooled<T>>;

}  // namespace dnnmove::view
