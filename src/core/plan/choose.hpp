// Chooses the strategy for a nest. This is the only place that decides: all strategies are asked, the cheapest is taken.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "plan/strategy.hpp"

namespace dnnmove {

// Each in the file of plan/strategies that has its name; null where it cannot copy the nest.
std::unique_ptr<Strategy> match_fill(const Problem& problem);
std::unique_ptr<Strategy> match_row_copy(const Problem& problem);
std::unique_ptr<Strategy> match_row_blocks(const Problem& problem);
std::unique_ptr<Strategy> match_element_copy(const Problem& problem);
std::unique_ptr<Strategy> match_gather(const Problem& problem);
std::unique_ptr<Strategy> match_gather_by_table(const Problem& problem);
std::unique_ptr<Strategy> match_interleave(const Problem& problem);
std::unique_ptr<Strategy> match_exchange(const Problem& problem);
std::unique_ptr<Strategy> match_tile_transpose(const Problem& problem);
std::unique_ptr<Strategy> match_strided_transpose(const Problem& problem);
std::unique_ptr<Strategy> match_row_panels(const Problem& problem);

// What a match_ function is for a strategy S with a `bool match(const Problem&)`.
template <class S>
std::unique_ptr<Strategy> matched(const Problem& problem) {
    S strategy(problem);
    return strategy.match(problem) ? std::make_unique<S>(std::move(strategy)) : nullptr;
}

// Would rows be copied in the order of the source? (plan/strategies/row_copy.cpp)
bool follows_source(const Problem& problem);

struct Candidate {
    std::unique_ptr<Strategy> strategy;
    double cost;  // cycles per byte, with those of calls
};

// All that can copy the nest, in the order of the list; empty where it has padding that none zeroes.
std::vector<Candidate> candidates(const Problem& problem);

struct Choice {
    std::unique_ptr<Strategy> strategy = nullptr;  // null where there is no candidate
    Schedule schedule = {};
};

// The cheapest candidate, or where the context's variant asks for it, another; scheduled.
Choice choose(const Problem& problem);

}  // namespace dnnmove
