// Tuning: measures variants of a plan on the memory of a real call, and remembers which was the fastest.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/program.hpp"

namespace dnnmove {

struct Tuned {
    Variant variant;
    double gain = 1;  // how many times faster than the planner's own choice
};

// Runs the program's variants in turn, several times each, and returns the fastest: the planner's own choice
// unless another gained clearly. Every run writes the same bytes that execute would. Takes as long as some
// 30 to 600 calls; where those are tiny, some 10 ms.
Tuned tune(const std::vector<Transfer>& transfers, const PlanOptions& options, const std::byte* const* srcs,
           std::byte* const* dsts, int threads);

// All that decides which variant is the fastest, as text: equal for equal problems.
std::string problem_of(const std::vector<Transfer>& transfers, const PlanOptions& options, int threads);

// The results of this process, by problem. Safe to use from many threads.
namespace tuned_problems {

std::optional<Tuned> find(const std::string& problem);
void insert(std::string problem, const Tuned& tuned);  // replaces
std::vector<std::pair<std::string, Tuned>> all();      // sorted by problem
void clear();
bool none() noexcept;

}  // namespace tuned_problems
}  // namespace dnnmove
