// Scale and shift: numbers of any kind, as float32.
#pragma once

#include <Python.h>

#include "call/plan_key.hpp"
#include "chain/step.hpp"

namespace dnnmove::python {

// None (or null), a real number, or several: a list, tuple or array with one dimension. Rounded to float32. TypeError
// or ValueError that calls it `name`.
chain::Factor parse_factor(PyObject* object, const char* name);
void push_factor(PlanKey& key, const chain::Factor& factor);

}  // namespace dnnmove::python
