// Reads basic index expressions: what numpy.s_[...] gives.
#include "python/numpy_api.hpp"

#include "arguments/parse.hpp"
#include "chains/chain.hpp"
#include "python/errors.hpp"

namespace dnnmove::python {
namespace {

[[noreturn]] void refuse(PyObject* item, const std::string& name) {
    throw TypeError(name + " must be an integer, a slice, None or Ellipsis (basic indexing), not " + type_name(item) + " (" +
                    short_repr(item) + ")");
}

bool is_index(PyObject* object) {
    if (PyBool_Check(object) || PyArray_IsScalar(object, Bool) || !PyIndex_Check(object)) return false;
    return !PyArray_Check(object) || PyArray_NDIM(reinterpret_cast<PyArrayObject*>(object)) == 0;
}

// A bound or step of a slice: absent for None, cut to 64 bits as Python does.
std::optional<std::int64_t> parse_bound(PyObject* object, const std::string& name) {
    if (object == Py_None) return std::nullopt;
    if (!is_index(object)) {
        throw TypeError(name + " must have integers or None as bounds and step, not " + type_name(object) + " (" +
                        short_repr(object) + ")");
    }
    const Py_ssize_t value = PyNumber_AsSsize_t(object, nullptr);
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError{};
    return value;
}

chain::IndexEntry parse_item(PyObject* item, const std::string& name) {
    if (item == Py_None) return chain::NewAxis{};
    if (item == Py_Ellipsis) return chain::Ellipsis{};
    if (PySlice_Check(item)) {
        const auto* slice = reinterpret_cast<PySliceObject*>(item);
        chain::Slice parsed;
        parsed.start = parse_bound(slice->start, name);
        parsed.stop = parse_bound(slice->stop, name);
        parsed.step = parse_bound(slice->step, name).value_or(1);
        return parsed;
    }
    if (!is_index(item)) refuse(item, name);
    try {
        return parse_integer(item, name);
    } catch (const ValueError& error) {
        throw IndexError(error.what());  // beyond 64 bits it is beyond every axis
    }
}

}  // namespace

std::vector<chain::IndexEntry> parse_index(PyObject* key) {
    std::vector<chain::IndexEntry> entries;
    if (!PyTuple_Check(key)) {
        entries.push_back(parse_item(key, "key"));
        return entries;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
        entries.push_back(parse_item(PyTuple_GET_ITEM(key, i), "key[" + std::to_string(i) + "]"));
    }
    return entries;
}

}  // namespace dnnmove::python
