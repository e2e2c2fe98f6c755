// Folding a chain: the fewest bytes that go through intermediates between its source and its outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "chain/chain.hpp"
#include "chain/mosaic.hpp"
#include "plan/program.hpp"

namespace dnnmove::chain {

inline constexpr std::size_t kMaxNests = 64;

// An array that some pass writes: an output, or an intermediate that the next pass reads.
struct Written {
    Mosaic mosaic;       // its place in the source it is copied from
    int source;          // 0: the chain's source; j + 1: intermediate j
    std::size_t pass;    // from 0
    std::size_t step;    // the steps it is the result of
    std::size_t branch;  // among the branches of that step
};

// What each pass copies. Immutable.
struct Folded {
    std::vector<Written> outputs;
    std::vector<Written> intermediates;  // row-major, in an order in which each source precedes its readers
    std::size_t passes = 1;
    std::string trace;  // text for explain(): what every step did, and how each output is written

    // The copies of one pass. Sources: as in Written. Destinations: the outputs, then the
    // intermediates. `strides` in bytes per output; empty where all outputs are row-major.
    std::vector<Transfer> transfers(std::size_t pass, const std::vector<Dims>& strides = {}) const;
};

// An output or an intermediate takes at most `max_nests` (1 to kMaxPieces) nests. Where the steps from
// the source need more, or so many thin ones that each cache line is fetched again and again,
// intermediates are written to memory, at the steps that add up to the fewest bytes.
Folded fold(const Chain& chain, std::size_t max_nests = kMaxNests);

}  // namespace dnnmove::chain
