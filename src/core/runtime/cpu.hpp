// Facts about this machine's caches.
#pragma once

#include <cstdint>
#include <string>

namespace dnnmove {

// Bytes of the last-level cache that the CPUs of this machine can fill, read once; 32 MiB where the system does not
// say. A guest of a cloud sees the whole cache of its host, which hundreds of CPUs share: it counts for no more than a
// processor of as many CPUs as the guest has could have.
std::int64_t last_level_cache_bytes();

// The same of a system whose files lie below `root`.
std::int64_t last_level_cache_bytes(const std::string& root);

}  // namespace dnnmove
