// The steps as Python calls them: methods of Chain, and for most an eager function of the same name.
#pragma once

#include "python/numpy_api.hpp"

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "arguments/operand.hpp"
#include "arguments/parse.hpp"
#include "call/call_plan.hpp"
#include "chain/step.hpp"

namespace dnnmove::python {

struct StepMethod {
    const char* name;
    const char* parameters;  // as inspect reads them, "shift, axis=None"
    // From the arguments in their order, null where absent. TypeError or ValueError where one is wrong.
    chain::StepPtr (*make)(PyObject* const* values);
    const char* doc;           // below the signature
    const char* function_doc;  // the same of the eager function that is made from it, too; null where none is
};

inline constexpr std::size_t kStepMethods = 27;
extern const std::array<StepMethod, kStepMethods> step_methods;

// Those that take a pattern and lengths by keyword.
struct PatternMethod {
    const char* name;
    chain::StepPtr (*make)(std::string pattern, std::vector<chain::Length> lengths);
    const char* doc;
    const char* function_doc;
};
inline constexpr std::size_t kPatternMethods = 2;
extern const std::array<PatternMethod, kPatternMethods> pattern_methods;

// The arguments of a call of one of them: `positional` are the pattern and, before it, `before` others.
chain::StepPtr make_pattern_step(const PatternMethod& method, const std::string& function, PyObject* const* args,
                                 std::size_t count, std::size_t before, PyObject* keywords, PyObject** out);

// One integer or several; parse_axes: or null or None.
chain::Axes parse_some_axes(PyObject* object, const char* name);
chain::Axes parse_axes(PyObject* object, const char* name);

struct Chain;

// What a method gives: the chain with the step more that `make` makes of the chain so far. What it finds wrong with the
// arguments is led by the step's number and name, as what the core finds wrong is.
PyObject* with_step(PyObject* self, const char* name, const std::function<chain::StepPtr(const Chain&)>& make);

using FastFunction = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) noexcept;
void add_method(PyObject* type, const char* name, FastFunction function, std::string doc);

void register_step_methods(PyObject* chain_type);
void register_eager_steps(PyObject* module);

}  // namespace dnnmove::python
