// Facts about this machine's caches.
#pragma once

#include <cstdint>

namespace dnnmove {

// Bytes of the last-level cache that one CPU sees, read once; 32 MiB where the system does not say.
std::int64_t last_level_cache_bytes();

}  // namespace dnnmove
