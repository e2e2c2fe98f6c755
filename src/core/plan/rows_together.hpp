// Copies of pieces of the same short rows as one copy.
//
// A roll, a mirrored edge or a take of a few channels cuts the rows of an array into pieces, and each piece of all rows is a
// nest. One after the other they touch every line of the rows as often; as a table of a row's elements they are one nest,
// whose rows a gather permutes in registers.
//
//   pieces   y[i][0] = x[i][3];  y[i][1:4] = x[i][0:3]        table   3 0 1 2
#pragma once

#include <vector>

#include "plan/problem.hpp"
#include "plan/transfer.hpp"

namespace dnnmove {

// The canonical `transfers`, those that write parts of the same rows as one where that is estimated to take less.
std::vector<Transfer> with_rows_together(std::vector<Transfer> transfers, const PlanContext& context);

}  // namespace dnnmove
