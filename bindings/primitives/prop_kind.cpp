// PropKind: the kind of propagation, as a Python enumeration with oneDNN's numbers.
#include "primitives/prop_kind.hpp"

#include "python/errors.hpp"
#include "reference/shuffle.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

PyObject* prop_kind_type = nullptr;  // for the life of the process

}  // namespace

void register_prop_kind(py::module_& module) {
    using onednn::PropKind;
    py::list members;
    const auto add = [&members](const char* name, PropKind kind) {
        members.append(py::make_tuple(name, static_cast<int>(kind)));
    };
    add("forward_training", PropKind::forward_training);
    add("forward_inference", PropKind::forward_inference);
    add("forward", PropKind::forward_training);
    add("backward_data", PropKind::backward_data);
    const py::object made = py::module_::import("enum").attr("IntEnum")("PropKind", members, py::arg("module") = "dnnmove");
    made.attr("__doc__") = reference::shuffle::kPropKind;
    module.attr("PropKind") = made;
    prop_kind_type = py::object(made).release().ptr();
}

py::object to_python(onednn::PropKind kind) { return py::handle(prop_kind_type)(static_cast<int>(kind)); }

onednn::PropKind to_prop_kind(py::handle value) {
    if (!py::isinstance(value, prop_kind_type)) {
        throw TypeError("prop_kind (" + short_repr(value.ptr()) +
                        ") must be a PropKind: PropKind.forward_training or PropKind.forward_inference");
    }
    return static_cast<onednn::PropKind>(py::cast<int>(value));
}

}  // namespace dnnmove::python
