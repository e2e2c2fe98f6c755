// A take of many places: the list is an operand of the call, as new indices come with each, and no part of the plan.
#pragma once

#include <functional>

#include "chain/step.hpp"
#include "python/pyref.hpp"

namespace dnnmove::python {

class StepArrays;

// take(data, indices, axis, out=out), of which the last may be null or None. `by_value` runs a step on arrays that are read:
// of a few places, which may be a few strides; of data with gaps; and of wrong arguments, for its errors. Null, and nothing
// read, where a few places are given so that a plan may have them as they are.
PyRef take_read_once(PyObject* data, PyObject* indices, PyObject* axis, PyObject* out,
                     const std::function<PyRef(StepArrays&, const chain::StepPtr&)>& by_value);

}  // namespace dnnmove::python
