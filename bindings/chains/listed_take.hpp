// A take of many places: the list is an operand of the call, as new indices come with each, and no part of the plan.
#pragma once

#include "python/pyref.hpp"

namespace dnnmove::python {

// take(data, indices, axis, out=out), of which the last may be null or None. Null where it is to be planned by its values:
// of a few places, which may be a few strides; of data with gaps; and of wrong arguments, whose errors come from there.
PyRef take_listed(PyObject* data, PyObject* indices, PyObject* axis, PyObject* out);

}  // namespace dnnmove::python
