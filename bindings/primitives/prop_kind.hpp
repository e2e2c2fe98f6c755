// PropKind: the kind of propagation, as a Python enumeration with oneDNN's numbers.
#pragma once

#include <pybind11/pybind11.h>

#include "onednn/onednn.hpp"

namespace dnnmove::python {

void register_prop_kind(pybind11::module_& module);

// The member; to be called after register_prop_kind.
pybind11::object to_python(onednn::PropKind kind);
// TypeError for anything but a member.
onednn::PropKind to_prop_kind(pybind11::handle value);

}  // namespace dnnmove::python
