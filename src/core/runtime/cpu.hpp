// Facts about this machine's caches.
#pragma once

#include <cstdint>
#include <string>

namespace dnnmove {

// The last-level cache, as the system describes it.
struct LastLevelCache {
    std::int64_t bytes = 0;  // 0: it does not say
    std::int64_t cpus = 0;   // that share it; 0: it does not say

    // Bytes of it that the CPUs of this machine can fill. A guest of a cloud sees the whole cache of its host, which
    // hundreds of CPUs share: it counts for no more than a processor of as many CPUs as the guest has could have, but for
    // a tenth of all, and for `least`, which is what one core may well fill alone; where the system says nothing, it is
    // `least`.
    std::int64_t usable(std::int64_t least) const;
};

// That of this machine, read once.
const LastLevelCache& last_level_cache();

// That of a system whose files lie below `root`.
LastLevelCache read_last_level_cache(const std::string& root);

}  // namespace dnnmove
