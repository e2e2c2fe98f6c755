// Facts about this machine's caches.
#include "runtime/cpu.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace dnnmove {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

// No processor has more of its last-level cache for each CPU that shares it: 96 MiB for 16 of them (Zen with stacked
// caches).
constexpr std::int64_t kMostPerCpu = 6 * kMiB;

// What one core may well fill alone.
constexpr std::int64_t kUsual = 32 * kMiB;

// How many CPUs a list such as "0-3,8" names; 0 where it is none.
std::int64_t count_cpus(const std::string& list) {
    std::int64_t count = 0;
    std::istringstream parts(list);
    for (std::string part; std::getline(parts, part, ',');) {
        std::istringstream range(part);
        std::int64_t first = 0;
        if (!(range >> first)) return 0;
        std::int64_t last = first;
        if (range.get() == '-' && !(range >> last)) return 0;
        count += last - first + 1;
    }
    return count;
}

}  // namespace

std::int64_t last_level_cache_bytes(const std::string& root) {
    std::int64_t largest = 0;
    std::int64_t cpus = 0;
    for (int index = 0; index < 8; ++index) {
        const std::string folder = root + "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
        std::ifstream file(folder + "/size");
        std::int64_t size = 0;
        if (!(file >> size)) break;
        const int unit = file.get();
        size *= unit == 'K' ? 1024 : unit == 'M' ? kMiB : 1;
        if (size <= largest) continue;
        largest = size;
        std::string list;
        std::ifstream sharing(folder + "/shared_cpu_list");
        cpus = std::getline(sharing, list) ? count_cpus(list) : 0;
    }
    if (largest <= 0) return kUsual;
    return cpus == 0 ? largest : std::min(largest, std::max(kUsual, cpus * kMostPerCpu));
}

std::int64_t last_level_cache_bytes() {
    static const std::int64_t bytes = last_level_cache_bytes("");
    return bytes;
}

}  // namespace dnnmove
