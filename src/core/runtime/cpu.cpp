// Facts about this machine's caches.
#include "runtime/cpu.hpp"

#include <algorithm>
#include <cstdio>

namespace dnnmove {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

// No processor has more of its last-level cache for each CPU that shares it: 96 MiB for 16 of them (Zen with stacked
// caches).
constexpr std::int64_t kMostPerCpu = 6 * kMiB;
// A guest of few CPUs finds one part in so many of its host's cache, however many others are there. (Two CPUs that see the
// 480 MiB of a Granite Rapids, copies of rows of 12 to 25 MB with a reader behind them: 1.2 to 1.26 times as fast with
// 48 MiB as with 20, transposes level; random shapes of 4 to 100 MB without one 1.03 times.)
constexpr std::int64_t kGuestsPart = 10;

// The first line of a file; empty where there is none.
std::string first_line(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "r");
    if (file == nullptr) return {};
    char line[4096];
    const std::string found = std::fgets(line, sizeof line, file) == nullptr ? "" : line;
    std::fclose(file);
    return found;
}

// "32768K" and "32M" in bytes; 0 where it is no such size.
std::int64_t size_of(const std::string& text) {
    long long size = 0;
    char unit = 0;
    if (std::sscanf(text.c_str(), "%lld%c", &size, &unit) < 1) return 0;
    return size * (unit == 'K' ? 1024 : unit == 'M' ? kMiB : 1);
}

// How many CPUs a list such as "0-3,8" names; 0 where it is none.
std::int64_t count_cpus(const std::string& list) {
    std::int64_t count = 0;
    for (const char* at = list.c_str();;) {
        long long first = 0;
        long long last = 0;
        int length = 0;
        if (std::sscanf(at, "%lld%n", &first, &length) < 1) return 0;
        at += length;
        last = first;
        if (*at == '-') {
            if (std::sscanf(at + 1, "%lld%n", &last, &length) < 1) return 0;
            at += 1 + length;
        }
        count += last - first + 1;
        if (*at != ',') return count;
        ++at;
    }
}

}  // namespace

std::int64_t LastLevelCache::usable(std::int64_t least) const {
    if (bytes <= 0) return least;
    return cpus <= 0 ? bytes : std::min(bytes, std::max({least, cpus * kMostPerCpu, bytes / kGuestsPart}));
}

LastLevelCache read_last_level_cache(const std::string& root) {
    LastLevelCache cache;
    for (int index = 0; index < 8; ++index) {
        const std::string folder = root + "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
        const std::int64_t size = size_of(first_line(folder + "/size"));
        if (size == 0) break;
        if (size > cache.bytes) cache = {size, count_cpus(first_line(folder + "/shared_cpu_list"))};
    }
    return cache;
}

const LastLevelCache& last_level_cache() {
    static const LastLevelCache cache = read_last_level_cache("");
    return cache;
}

}  // namespace dnnmove
