// The type of the functions and methods that pybind11 defines, as the user meets them.
#pragma once

#include <pybind11/pybind11.h>

namespace dnnmove {

// Puts every public function and method that pybind11 defined in `scope`, a module or a class, behind an object that
// checks names and number of the arguments first, in words: pybind11's own answer to a call that does not fit lists
// C++ types. Each docstring must begin with its signature, as "name(self, axis, *, tune=False)\n--\n\n"; an overloaded
// function has several such parts, one behind another, which must differ in names or number. Parameters must be taken
// as objects and read by hand. To be called once all is defined; classes and functions are of the package then, not
// of the extension module.
void present(pybind11::handle scope);

// Gives pybind11's base class and metaclass names of this package: help() and type() show them. Calling the base class
// is a TypeError then; with pybind11's own tp_new it ends the process. Needs internals that no other extension module
// shares (PYBIND11_STDLIB). To be called before any class is made.
void adopt_pybind11_types();

}  // namespace dnnmove
