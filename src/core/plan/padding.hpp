// Copies that zero padding along the way, and how to do without.
#pragma once

#include <vector>

#include "plan/transfer.hpp"

namespace dnnmove {

// The same as transfers without such steps: whole blocks, the rest, and zeroes.
std::vector<Transfer> split_padding(const Transfer& transfer);

}  // namespace dnnmove
