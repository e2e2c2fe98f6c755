// The primitive types: C heap types whose objects are called without pybind11 in between.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "primitives/executable.hpp"

namespace dnnmove {

// What a builder makes.
struct BuiltPrimitive {
    std::shared_ptr<const python::Executable> executable;
    pybind11::object made_from;  // the descriptor as it was then (a PrimitiveDesc may move on), to make it from again
    std::string problem;         // for repr: "MemoryDesc((2, 3), 'float32'), input_order=(1, 0)"
};
// A primitive from `desc`; throws TypeError where `desc` is no descriptor of it.
using Builder = BuiltPrimitive (*)(pybind11::handle desc);

struct PrimitiveType {
    const char* name;      // "ShuffleForward"
    const char* kind;      // oneDNN's word, or OpenVINO's: "shuffle"
    const char* argument;  // what it is made from: "pd" or "desc"
    const char* doc;       // begins with the text signature
    Builder build;
};

// Makes the type, adds it to `module` and returns it: objects are made from one descriptor and called as
// prim(x), prim(x, out=y) and prim.execute(stream, args). Desc classes are made with the type as their scope.
pybind11::object make_primitive_type(pybind11::module_& module, const PrimitiveType& type);

// Runs `executable` on args (a dict of argument number to Memory or array), as prim.execute does:
// everything is checked first. `stream` may be None.
void execute_arguments(std::shared_ptr<const python::Executable> executable, PyObject* stream, PyObject* args);

}  // namespace dnnmove
