// The primitive types: C heap types whose objects are called without pybind11 in between.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "executable.hpp"

namespace dnnmove {

// What a primitive built from `desc` runs; throws TypeError where `desc` is no descriptor of it.
using Builder = std::shared_ptr<const python::Executable> (*)(pybind11::handle desc);

// Makes the type `name`, adds it to `module` and returns it: objects are made from one descriptor
// and called as prim(x), prim(x, out=y) and prim.execute(stream, args). `doc` starts with the text
// signature. Desc classes are made with the type as their scope.
pybind11::object make_primitive_type(pybind11::module_& module, const char* name, const char* doc, Builder build);

// Runs `executable` on args (a dict of argument number to Memory or array), as prim.execute does:
// everything is checked first. `stream` may be None.
void execute_arguments(std::shared_ptr<const python::Executable> executable, PyObject* stream, PyObject* args);

}  // namespace dnnmove
