// The planner's choices that a measurement may overrule (plan/tuning.hpp).
#pragma once

#include <cstdint>

namespace dnnmove {

struct Variant {
    // Whether a program is planned as one whose data stay in the caches, or as one that goes past them.
    enum class Stores { automatic, cached, nontemporal };

    int kernel = 0;  // of those that can run a nest, by the planner's estimate: 0 the cheapest, 1 the next ...
    Stores stores = Stores::automatic;
    std::int64_t panel = 0;  // bytes of a destination row per pass of a transpose; 0: as the planner says

    bool operator==(const Variant&) const = default;
};

}  // namespace dnnmove
