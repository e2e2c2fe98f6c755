// All strategies that there are: a new one is declared and listed here, and has its file in plan/strategies.
#pragma once

#include <memory>
#include <utility>

#include "plan/strategy.hpp"

namespace dnnmove {

// Each in the file of plan/strategies that has its name, the two gathers in one; null where it cannot copy the nest.
std::unique_ptr<Strategy> match_fill(const Problem& problem);
std::unique_ptr<Strategy> match_repeat(const Problem& problem);
std::unique_ptr<Strategy> match_row_copy(const Problem& problem);
std::unique_ptr<Strategy> match_row_blocks(const Problem& problem);
std::unique_ptr<Strategy> match_listed_elements(const Problem& problem);
std::unique_ptr<Strategy> match_element_copy(const Problem& problem);
std::unique_ptr<Strategy> match_gather(const Problem& problem);
std::unique_ptr<Strategy> match_gather_by_table(const Problem& problem);
std::unique_ptr<Strategy> match_interleave(const Problem& problem);
std::unique_ptr<Strategy> match_tile_transpose(const Problem& problem);
std::unique_ptr<Strategy> match_strided_transpose(const Problem& problem);
std::unique_ptr<Strategy> match_row_panels(const Problem& problem);
std::unique_ptr<Strategy> match_transpose_gather(const Problem& problem);
std::unique_ptr<Strategy> match_element_table(const Problem& problem);
std::unique_ptr<Strategy> match_transpose_runs(const Problem& problem);
std::unique_ptr<Strategy> match_batch_transpose(const Problem& problem);

// All strategies. Their order decides nothing but which of two that cost the same is taken: the first.
inline constexpr std::unique_ptr<Strategy> (*kStrategies[])(const Problem&) = {
    match_fill,           match_row_copy,        match_row_blocks,       match_element_copy,
    match_gather,         match_interleave,      match_tile_transpose,   match_strided_transpose,
    match_row_panels,     match_gather_by_table, match_transpose_gather, match_element_table,
    match_transpose_runs, match_repeat,          match_listed_elements,  match_batch_transpose};

// What a match_ function is for a strategy S with a `bool match(const Problem&)`.
template <class S>
std::unique_ptr<Strategy> matched(const Problem& problem) {
    S strategy(problem);
    return strategy.match(problem) ? std::make_unique<S>(std::move(strategy)) : nullptr;
}

// Would rows be copied in the order of the source? (plan/strategies/row_copy.cpp)
bool follows_source(const Problem& problem);

}  // namespace dnnmove
