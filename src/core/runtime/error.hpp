// The core's exceptions; the bindings translate each to the Python exception of the same name.
#pragma once

#include <stdexcept>
#include <string>

#include "runtime/abbreviated.hpp"

namespace dnnmove {

// All messages are abbreviated: they quote what the caller gave.

// An argument of the right type has a value that the operation does not take.
struct ValueError : std::invalid_argument {
    explicit ValueError(const std::string& what) : std::invalid_argument(abbreviated(what)) {}
};

// An axis lies outside [-ndim, ndim): numpy.exceptions.AxisError in Python.
struct AxisError : ValueError {
    using ValueError::ValueError;
};

// A position lies outside what it counts: IndexError in Python.
struct IndexError : std::out_of_range {
    explicit IndexError(const std::string& what) : std::out_of_range(abbreviated(what)) {}
};

// A step is right, but what it makes has more boxes than are worth it: a chain copies something first then. Whoever
// composes several steps catches it; one step of an array that is there stays below.
struct TooManyBoxes : std::logic_error {
    using std::logic_error::logic_error;
};

}  // namespace dnnmove
