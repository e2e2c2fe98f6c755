// dnnmove.Error and dnnmove.UnimplementedError: what oneDNN reports, in C++ and in Python.
#include "onednn/onednn_errors.hpp"

#include <stdexcept>

#include "onednn/onednn.hpp"
#include "runtime/error.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

// Owned by the module for the life of the process.
PyObject* error_type = nullptr;
PyObject* unimplemented_type = nullptr;

PyObject* make_type(const char* name, const char* doc, const py::object& bases) {
    const py::object type = py::module_::import("builtins")
                                .attr("type")(name, bases,
                                              py::dict(py::arg("__doc__") = doc, py::arg("__module__") = "dnnmove",
                                                       py::arg("status") = 0));
    return py::object(type).release().ptr();
}

}  // namespace

UnimplementedError::UnimplementedError(const std::string& what) : OneDnnError(what, onednn::kUnimplemented) {}

void set_onednn_error(const OneDnnError& error) noexcept {
    PyObject* type = error.status == onednn::kUnimplemented ? unimplemented_type : error_type;
    PyObject* exception = PyObject_CallFunction(type, "s", error.what());
    PyObject* status = exception == nullptr ? nullptr : PyLong_FromLong(error.status);
    if (status != nullptr && PyObject_SetAttrString(exception, "status", status) == 0) PyErr_SetObject(type, exception);
    Py_XDECREF(status);
    Py_XDECREF(exception);
}

void register_onednn_errors(py::module_& module) {
    error_type = make_type("Error",
                           "oneDNN reported a failure.\n\n"
                           "Attributes\n----------\nstatus : int\n    oneDNN's ``dnnl_status_t``.\n",
                           py::make_tuple(py::handle(PyExc_RuntimeError)));
    unimplemented_type = make_type("UnimplementedError",
                                   "oneDNN has no implementation for the problem, or one that is known to be wrong.\n\n"
                                   "Attributes\n----------\nstatus : int\n    oneDNN's ``dnnl_status_t``.\n",
                                   py::make_tuple(py::handle(error_type), py::handle(PyExc_NotImplementedError)));
    module.attr("Error") = py::handle(error_type);
    module.attr("UnimplementedError") = py::handle(unimplemented_type);
}

}  // namespace dnnmove::python
