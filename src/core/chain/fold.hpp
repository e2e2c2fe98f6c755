// Folding a chain: the fewest bytes that go through intermediates between its source and its outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chain/chain.hpp"
#include "view/mosaic.hpp"
#include "plan/transfer.hpp"

namespace dnnmove::chain {

inline constexpr std::size_t kMaxNests = 64;

// Boxes (Work) that the walk from the sources to the outputs may make before it ends at an intermediate: somewhat over half
// a millisecond. From there on a walk may make fewer; kLeastComposed from each intermediate, however many were made before.
inline constexpr std::size_t kMostComposed = 3000;
inline constexpr std::size_t kLeastComposed = 150;

// An array that some pass writes: an output, or an intermediate that the next pass reads.
struct Written {
    Mosaic mosaic;       // its place in the source it is copied from
    int source;          // 0: the chain's source, or all of them; j + 1: intermediate j
    std::size_t pass;    // from 0
    std::size_t step;    // the steps it is the result of
    std::size_t branch;  // among the branches of that step
    Finish finish = {};  // of an output
};

// What a step leaves of some branches in a row, and where its elements lie in what is read.
struct Note {
    struct Run {
        std::int64_t extent;
        std::optional<std::int64_t> stride;  // bytes; nothing where a table says
        std::int64_t sources = 0;            // from each step to the next, besides
    };
    std::size_t first = 0;  // branches of the step; of the input: sources
    std::size_t last = 0;
    Dims shape;
    std::string lies;                    // Mosaic::describe
    std::vector<std::vector<Run>> axes;  // the loops of each axis, the last one fastest; empty unless in one block
    std::size_t blocks = 0;
    std::int64_t offset = 0;  // bytes, of a single block
    std::string remark;       // "as after step 2 again, nothing changes"; may be empty
    int source = 0;           // as Written has it
    std::optional<std::size_t> written;  // the pass that writes it to memory as an intermediate
    std::string why;                     // and why it does
};

// What explain() says of a step, or of the input.
struct StepTrace {
    std::string heading;      // "variadic_split(axis=1, split_lengths=(58, 58)): 2 outputs"
    std::size_t branches = 1;
    std::vector<Note> notes;  // the first dozen
    bool more = false;
};

// Whether the nests of a row-major array copy consecutive bytes.
bool is_plain_copy(const std::vector<Nest>& nests);

// What each pass copies. Immutable.
struct Folded {
    std::vector<Written> outputs;
    std::vector<Written> intermediates;  // row-major, in an order in which each source precedes its readers
    std::size_t passes = 1;
    int sources = 1;               // of the chain
    std::size_t composed = 0;      // boxes that the search made, its measure of work
    bool cut_short = false;        // the search ended before it had compared all sets of intermediates
    std::vector<StepTrace> steps;  // the input, then the steps, where they are traced
    // Text for explain(): what every step did, and how each output is written.
    std::string trace() const;

    // The copies of one pass. Sources: the chain's, then the intermediates. Destinations: the outputs, then the
    // intermediates. `strides` in bytes per output; empty where all outputs are row-major.
    std::vector<Transfer> transfers(std::size_t pass, const std::vector<Dims>& strides = {}) const;
};

// An output or an intermediate takes at most `max_nests` (1 to kMaxPieces) nests. Where the steps from
// the source need more, or so many thin ones that each cache line is fetched again and again,
// intermediates are written to memory, at the steps that add up to the fewest bytes. `traced`: with what explain() says
// of every step, which takes as long again and changes nothing else.
Folded fold(const Chain& chain, std::size_t max_nests = kMaxNests, bool traced = false);

}  // namespace dnnmove::chain
