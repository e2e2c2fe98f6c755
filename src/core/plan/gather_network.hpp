// Decides whether a gather goes through a network of permutes, and builds its table (kernels/gather_network.hpp).
#pragma once

#include <vector>

#include "plan/gather_patterns.hpp"
#include "plan/gather_table.hpp"

namespace dnnmove {

// Which bits of a byte's place change roles with the number of a vector in its group.
struct NetworkShape {
    std::int32_t rounds = 0;  // bits; 0: no network
    std::int32_t bit = 0;     // the lowest of them
    std::size_t stride = 1;   // vectors of a group are so many apart
};

// `places`: source offsets of `units` units per vector, vector after vector.
NetworkShape choose_network(const std::vector<std::int32_t>& places, std::size_t units, GatherPatterns& patterns);

// Reorders table.vectors into groups and makes their steps; false, and nothing changed, where the vectors
// would need too many.
bool build_network(GatherTable& table, const std::vector<std::int32_t>& places, std::size_t units, std::int32_t unit,
                   const NetworkShape& shape, GatherPatterns& patterns);

}  // namespace dnnmove
