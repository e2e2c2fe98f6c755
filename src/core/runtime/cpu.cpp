// Facts about this machine's caches.
#include "runtime/cpu.hpp"

#include <cstdio>
#include <string>

namespace dnnmove {
namespace {

std::int64_t read_cache_bytes() {
    std::int64_t largest = 0;
    for (int index = 0; index < 8; ++index) {
        const std::string path = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size";
        std::FILE* file = std::fopen(path.c_str(), "r");
        if (file == nullptr) break;
        long long size = 0;
        char unit = 0;
        if (std::fscanf(file, "%lld%c", &size, &unit) >= 1) {
            const std::int64_t bytes = size * (unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : 1);
            largest = bytes > largest ? bytes : largest;
        }
        std::fclose(file);
    }
    return largest > 0 ? largest : std::int64_t{32} * 1024 * 1024;
}

}  // namespace

std::int64_t last_level_cache_bytes() {
    static const std::int64_t bytes = read_cache_bytes();
    return bytes;
}

}  // namespace dnnmove
