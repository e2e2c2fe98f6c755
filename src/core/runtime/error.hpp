// The core's exceptions; the bindings translate each to the Python exception of the same name.
#pragma once

#include <stdexcept>
#include <string>

namespace dnnmove {

// An argument of the right type has a value that the operation does not take.
struct ValueError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// An axis lies outside [-ndim, ndim): numpy.exceptions.AxisError in Python.
struct AxisError : ValueError {
    using ValueError::ValueError;
};

// A position lies outside what it counts: IndexError in Python.
struct IndexError : std::out_of_range {
    using std::out_of_range::out_of_range;
};

// The operation is right but its result is no single view: several, or a copy, are needed. Only
// chains meet this; it never reaches a caller.
struct NotOneView : std::logic_error {
    using std::logic_error::logic_error;
};

}  // namespace dnnmove
