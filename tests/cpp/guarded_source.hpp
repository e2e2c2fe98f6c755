// Memory behind whose end, or before whose begin, nothing can be read.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace testing {

// Readable bytes that end with a page, behind which nothing is readable, or begin with one, before which nothing is.
class GuardedSource {
public:
    explicit GuardedSource(std::int64_t bytes, bool before = false)
        : page_(sysconf(_SC_PAGESIZE)), size_((bytes / page_ + 2) * page_) {
        map_ = static_cast<std::byte*>(
            mmap(nullptr, static_cast<std::size_t>(size_), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mprotect(before ? map_ : map_ + size_ - page_, static_cast<std::size_t>(page_), PROT_NONE);
        start_ = before ? map_ + page_ : map_ + size_ - page_ - bytes;
    }
    GuardedSource(const GuardedSource&) = delete;
    GuardedSource& operator=(const GuardedSource&) = delete;
    ~GuardedSource() { munmap(map_, static_cast<std::size_t>(size_)); }
    std::byte* data() { return start_; }

private:
    std::int64_t page_;
    std::int64_t size_;
    std::byte* map_;
    std::byte* start_;
};

}  // namespace testing
