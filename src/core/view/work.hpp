// The measure of work of making mosaics, as folding a chain does: boxes, counted as they are made, so that a bound on them means the same everywhere.
#pragma once

#include <cstddef>
#include <limits>

namespace dnnmove::view {

// Of a thread; a fold counts from 0. Time would be another measure on every machine and in every run.
struct Work {
    // As much as a box: so many entries of a table of offsets, keys by which boxes are found that may join, and pairs of
    // them that are tried.
    static constexpr std::size_t kEntries = 32;
    static constexpr std::size_t kKeys = 10;
    static constexpr std::size_t kPairs = 8;

    std::size_t done = 0;
    std::size_t most = std::numeric_limits<std::size_t>::max();  // what goes beyond it ends with TooManyBoxes

    static Work& of_thread() {
        static thread_local constinit Work work;
        return work;
    }
};

// Sets the most that this thread may do, until it is destroyed.
class WorkLimit {
public:
    explicit WorkLimit(std::size_t most) { Work::of_thread().most = most; }
    ~WorkLimit() { Work::of_thread().most = std::numeric_limits<std::size_t>::max(); }
    WorkLimit(const WorkLimit&) = delete;
    WorkLimit& operator=(const WorkLimit&) = delete;
};

}  // namespace dnnmove::view
