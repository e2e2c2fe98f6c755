// Kernels whose callers are checked against the contract: those of debug builds.
#pragma once

#include "kernels/contract.hpp"

namespace dnnmove {

// The same kernels behind functions that look at their arguments first. Null stays null.
const Kernels& checked_kernels(const Kernels& kernels);

// What becomes of a call that breaks the contract: prints and aborts, unless a test has put something else here. The
// kernel is called afterwards.
using OnViolation = void (*)(const char* kernel, const char* expected);
extern OnViolation on_violation;

}  // namespace dnnmove
