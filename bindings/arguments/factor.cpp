// Scale and shift: numbers of any kind, as float32.
#include "python/numpy_api.hpp"

#include "arguments/factor.hpp"

#include <pybind11/numpy.h>

#include <bit>
#include <string>

#include "arguments/dtype.hpp"
#include "python/errors.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

[[noreturn]] void refuse(PyObject* object, const char* name) {
    throw TypeError(std::string(name) + " (" + short_repr(object) +
                    ") must be None, a real number, or a list, tuple or array of real numbers with one dimension");
}

// Of an array of doubles or floats, as it lies.
template <class T>
chain::Floats read(PyArrayObject* array) {
    const npy_intp count = PyArray_DIM(array, 0);
    const char* at = PyArray_BYTES(array);
    chain::Floats floats(static_cast<std::size_t>(count));
    for (float& each : floats) {
        T value;
        std::memcpy(&value, at, sizeof value);
        each = static_cast<float>(value);
        at += PyArray_STRIDE(array, 0);
    }
    return floats;
}

bool is_plain(PyObject* object, int type) {
    if (!PyArray_CheckExact(object)) return false;
    auto* const array = reinterpret_cast<PyArrayObject*>(object);
    return PyArray_NDIM(array) == 1 && PyArray_TYPE(array) == type && PyArray_ISNOTSWAPPED(array);
}

// Anything that NumPy makes an array of, as doubles, which hold what converts to float32 but for the widest.
py::array to_doubles(PyObject* object, const char* name) {
    try {
        const py::module_ numpy = py::module_::import("numpy");
        const py::array array = numpy.attr("asarray")(py::handle(object));
        const char kind = array.dtype().kind();
        const std::string type = name_of(array.dtype());
        const bool extended = type == "bfloat16" || type.rfind("float8_", 0) == 0;
        if (kind != 'f' && kind != 'i' && kind != 'u' && !extended) refuse(object, name);
        return array.attr("astype")("float64").cast<py::array>();
    } catch (py::error_already_set& error) {
        if (error.matches(PyExc_MemoryError)) throw;
        refuse(object, name);
    }
}

}  // namespace

chain::Factor parse_factor(PyObject* object, const char* name) {
    if (object == nullptr || object == Py_None) return std::monostate();
    if (PyFloat_Check(object)) return static_cast<float>(PyFloat_AS_DOUBLE(object));
    if (PyLong_CheckExact(object)) {
        const double value = PyLong_AsDouble(object);
        if (value == -1.0 && PyErr_Occurred() != nullptr) {
            drop_failed_attempt();
            throw ValueError(std::string(name) + " (" + short_repr(object) + ") is beyond the range of floats");
        }
        return static_cast<float>(value);
    }
    if (is_plain(object, NPY_FLOAT)) return read<float>(reinterpret_cast<PyArrayObject*>(object));
    if (is_plain(object, NPY_DOUBLE)) return read<double>(reinterpret_cast<PyArrayObject*>(object));
    if (PyBool_Check(object) || PyUnicode_Check(object) || PyBytes_Check(object)) refuse(object, name);
    const py::array doubles = to_doubles(object, name);
    if (doubles.ndim() == 0) return static_cast<float>(*static_cast<const double*>(doubles.data()));
    if (doubles.ndim() == 1) return read<double>(reinterpret_cast<PyArrayObject*>(doubles.ptr()));
    throw ValueError(std::string(name) + " has " + std::to_string(doubles.ndim()) +
                     " dimensions, but must be a number or have one dimension");
}

void push_factor(PlanKey& key, const chain::Factor& factor) {
    if (const auto* one = std::get_if<float>(&factor)) {
        key.push(-2);
        key.push(std::bit_cast<std::int32_t>(*one));
    } else if (const auto* several = std::get_if<chain::Floats>(&factor)) {
        key.push(static_cast<std::int64_t>(several->size()));
        for (const float each : *several) key.push(std::bit_cast<std::int32_t>(each));
    } else {
        key.push(-1);
    }
}

}  // namespace dnnmove::python
