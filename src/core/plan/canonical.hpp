// Canonical form of a nest: the same copy with as few, as wide loops as possible.
#pragma once

#include "plan/nest.hpp"

namespace dnnmove {

// Drops loops of one step, turns loops with a negative destination stride round, orders loops by
// destination stride (largest first; loops with tables outermost), joins neighbours that one loop
// describes, and folds a contiguous innermost loop into a wider element. Every extent must be at
// least 1. Afterwards destination strides are positive.
Nest canonical(Nest nest);

}  // namespace dnnmove
