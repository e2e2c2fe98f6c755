// What processors of the same instruction set differ in: how many rows far apart they read and write well at once.
#pragma once

#include <cstdint>

namespace dnnmove {

struct Processor {
    // What a transpose past the caches writes of each destination row at a time, the longer of both: so many bytes leave as
    // fast as more do, and so many source rows are read at once.
    std::int64_t panel_bytes;
    std::int64_t panel_rows;
    // Single lines leave for rows far apart much slower than longer runs do: bytes are transposed by way of a stage.
    bool stages_bytes;
    // Source rows that lie in few sets of the caches are read some lines at a time.
    bool reads_row_blocks;
};

// Zen: its prefetchers are not needed, since the kernels ask for what they read. (Zen 5: lines for 64 rows 19 GB/s, runs of
// four lines 60.)
inline constexpr Processor kManyStreams{512, 0, true, true};

// Intel's: a second-level cache follows 32 streams, and two lines for a row leave as fast as more. (Granite Rapids, two
// threads: of 32 rows 34 GB/s are read, of 64 25, of 128 whose pitch is 16 KiB 9; single lines 27 GB/s, two 50.)
inline constexpr Processor kFewStreams{128, 32, false, false};

// The one that this is, or is most like.
const Processor& this_processor();

}  // namespace dnnmove
