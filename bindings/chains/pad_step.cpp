// pad as a method of Chain and as an eager function: it reads a constant as an element of the data's dtype.
#include "chains/pad_step.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arguments/parse.hpp"
#include "chains/chain.hpp"
#include "chains/step_arrays.hpp"
#include "chains/step_methods.hpp"
#include "ops/ops.hpp"
#include "python/errors.hpp"
#include "reference/pad.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

constexpr std::int64_t kPadKey = 902;  // behind those of the other steps that change elements

enum class Form : std::int64_t { one, pair, pairs };

bool is_list(PyObject* object) { return PyTuple_Check(object) || PyList_Check(object); }

constexpr const char* kName = "pad_width";

// A width or a pair by axis: pairs for all `ndim` axes. May run Python code, which may change the dict: its items are taken first.
std::vector<Dims> pairs_by_axis(PyObject* dict, std::size_t ndim) {
    constexpr const char* kAxis = "an axis of pad_width";
    std::vector<Dims> pairs(ndim, Dims{0, 0});
    std::vector<bool> given(ndim);
    const PyRef items = checked(PyDict_Items(dict));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
        PyObject* const item = PyList_GET_ITEM(items.get(), i);
        const std::int64_t key = parse_integer(PyTuple_GET_ITEM(item, 0), kAxis);
        const std::size_t axis = ops::normalize_axis(key, ndim, kAxis);
        if (given[axis])
            throw ValueError("pad_width (" + short_repr(dict) + ") must name an axis once, but names " + std::to_string(axis) +
                             " twice");
        given[axis] = true;
        PyObject* const widths = PyTuple_GET_ITEM(item, 1);
        const std::string name = std::string(kName) + "[" + std::to_string(key) + "]";
        pairs[axis] = is_list(widths) ? parse_integers(widths, name) : Dims{parse_integer(widths, name)};
    }
    return pairs;
}

// NumPy's forms: a width, a pair, or pairs; by axis, of `ndim` axes.
chain::Widths parse_widths(PyObject* object, std::size_t ndim) {
    if (PyDict_Check(object)) return pairs_by_axis(object, ndim);
    PyRef held;
    if (auto* const array = reinterpret_cast<PyArrayObject*>(object); PyArray_Check(object) && PyArray_NDIM(array) > 0) {
        if (!PyTypeNum_ISINTEGER(PyArray_TYPE(array))) {
            throw TypeError("pad_width must hold integers, not an array of another dtype (" + short_repr(object) + ")");
        }
        if (PyArray_NDIM(array) > 2 || PyArray_SIZE(array) == 0) {
            throw ValueError("pad_width must hold a width, a pair or pairs, not an array of shape " +
                             to_string(Dims(PyArray_DIMS(array), PyArray_DIMS(array) + PyArray_NDIM(array))));
        }
        held = checked(PyArray_ToList(array));
        object = held.get();
    }
    if (!is_list(object)) return parse_integer(object, kName);
    const PyRef items = checked(PySequence_Tuple(object));
    const Py_ssize_t count = PyTuple_GET_SIZE(items.get());
    Py_ssize_t rows = 0;
    for (Py_ssize_t i = 0; i < count; ++i) rows += is_list(PyTuple_GET_ITEM(items.get(), i)) ? 1 : 0;
    if (rows == 0 && count > 0) return parse_integers(items.get(), kName);
    std::vector<Dims> pairs;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* const item = PyTuple_GET_ITEM(items.get(), i);
        const std::string name = std::string(kName) + "[" + std::to_string(i) + "]";
        if (!is_list(item)) {
            throw TypeError(name + " must be a pair (before, after), as others are, not " + type_name(item) + " (" +
                            short_repr(item) + ")");
        }
        pairs.push_back(parse_integers(item, name));
    }
    return pairs;
}

void push(PlanKey& key, const Dims& widths) {
    key.push(static_cast<std::int64_t>(widths.size()));
    key.push(widths);
}

void push(PlanKey& key, const chain::Widths& widths) {
    key.push(static_cast<std::int64_t>(widths.index()));
    if (const auto* one = std::get_if<std::int64_t>(&widths)) key.push(*one);
    if (const auto* pair = std::get_if<Dims>(&widths)) push(key, *pair);
    if (const auto* pairs = std::get_if<std::vector<Dims>>(&widths)) {
        key.push(static_cast<std::int64_t>(pairs->size()));
        for (const Dims& pair : *pairs) push(key, pair);
    }
}

bool push_plain_integer(PlanKey& key, PyObject* object) {
    int overflow = 1;
    const long long value = PyLong_CheckExact(object) ? PyLong_AsLongLongAndOverflow(object, &overflow) : 0;
    if (overflow == 0) key.push(value);
    return overflow == 0;
}

// The same as push(key, parse_widths(object)), where it is of plain integers and tuples; false where it is not.
bool push_plain_pads(PlanKey& key, PyObject* object) {
    if (!PyTuple_CheckExact(object)) {
        key.push(static_cast<std::int64_t>(Form::one));
        return push_plain_integer(key, object);
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(object);
    if (count == 0) return false;
    const bool nested = PyTuple_CheckExact(PyTuple_GET_ITEM(object, 0));
    key.push(static_cast<std::int64_t>(nested ? Form::pairs : Form::pair));
    key.push(count);
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* const item = PyTuple_GET_ITEM(object, i);
        if (!nested) {
            if (!push_plain_integer(key, item)) return false;
            continue;
        }
        if (!PyTuple_CheckExact(item)) return false;
        key.push(PyTuple_GET_SIZE(item));
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(item); ++k) {
            if (!push_plain_integer(key, PyTuple_GET_ITEM(item, k))) return false;
        }
    }
    return true;
}

bool is_zero(PyObject* value) {
    if (value == nullptr) return true;
    int overflow = 1;
    return PyLong_CheckExact(value) && PyLong_AsLongLongAndOverflow(value, &overflow) == 0 && overflow == 0;
}

chain::Element zero(std::int64_t itemsize) {
    return {"0", std::make_shared<const std::vector<std::byte>>(static_cast<std::size_t>(itemsize))};
}

// May run Python code.
chain::Element element_of(PyObject* value, const py::dtype& dtype) {
    if (is_zero(value)) return zero(dtype.itemsize());
    py::tuple made;
    try {
        made = py::module_::import("dnnmove._pad").attr("encoded")(py::handle(value), dtype);
    } catch (py::error_already_set& error) {
        error.restore();
        throw PythonError{};
    }
    const auto bytes = made[0].cast<std::string>();
    auto element = std::make_shared<std::vector<std::byte>>(bytes.size());
    std::transform(bytes.begin(), bytes.end(), element->begin(), [](char byte) { return static_cast<std::byte>(byte); });
    return {made[1].cast<std::string>(), std::move(element)};
}

std::string mode_of(PyObject* value) { return value == nullptr ? "constant" : std::string(parse_text(value, "mode")); }

void check_constant(const std::string& mode, PyObject* value) {
    if (mode == "constant" || is_zero(value)) return;
    throw ValueError("constant_value (" + short_repr(value) + ") is for mode 'constant', not for '" + mode + "'");
}

// Of those that the step applies to, whose axes `dict` names.
std::size_t ndim_of_branches(const Chain& before, PyObject* dict) {
    const chain::Level& level = *before.steps.levels().back();
    const auto [begin, end] = level.active;
    if (begin == end) return before.src.layout.ndim();  // a split into no parts leaves none: then any widths will do
    const std::size_t ndim = level.shapes[begin].size();
    for (std::size_t i = begin + 1; i < end; ++i) {
        if (level.shapes[i].size() == ndim) continue;
        throw ValueError("pad_width (" + short_repr(dict) + ") names axes of branches " + std::to_string(begin) + " and " +
                         std::to_string(i) + ", which must have as many dimensions, but have " + std::to_string(ndim) +
                         " and " + std::to_string(level.shapes[i].size()) + ": branch(i) chooses one");
    }
    return ndim;
}

PyObject* chain_pad(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
    try {
        static const Signature signature("Chain.pad", "(self, pad_width, mode='constant', constant_value=0)");
        std::array<PyObject*, kMaxParameters> values;
        signature.parse(args, static_cast<std::size_t>(count), keywords, values);
        return with_step(self, "pad", [&](const Chain& before) {
            const std::string mode = mode_of(values[1]);
            check_constant(mode, values[2]);
            const bool by_axis = PyDict_Check(values[0]);
            if (by_axis && PyDict_GET_SIZE(values[0]) == 0)  // of no axis, however many there are
                return chain::pad(std::int64_t{0}, mode, element_of(values[2], before.src.dtype));
            const std::size_t ndim = by_axis ? ndim_of_branches(before, values[0]) : 0;
            return chain::pad(parse_widths(values[0], ndim), mode, element_of(values[2], before.src.dtype));
        });
    } catch (...) {
        return set_python_error();
    }
}

std::size_t ndim_of(PyObject* data) {
    Operand probe;
    probe.read(data, "data", Access::describe);
    return probe.ndim();
}

PyObject* pad(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
    try {
        static const Signature signature("pad", "(data, pad_width, mode='constant', constant_value=0, *, out=None)");
        std::array<PyObject*, kMaxParameters> values;
        signature.parse(args, static_cast<std::size_t>(count), keywords, values);
        PlanKey key;
        key.push(kPadKey);
        std::optional<chain::Widths> widths;
        // What runs Python code does so before the arrays are fetched.
        if (!push_plain_pads(key, values[1])) {
            key.clear();
            key.push(kPadKey);
            widths = parse_widths(values[1], PyDict_Check(values[1]) ? ndim_of(values[0]) : 0);
            push(key, *widths);
        }
        const std::string mode = mode_of(values[2]);
        for (const char letter : mode) key.push(letter);
        key.push(0);
        check_constant(mode, values[3]);
        std::optional<chain::Element> element;
        py::object dtype;
        if (!is_zero(values[3])) {
            Operand probe;
            probe.read(values[0], "data", Access::describe);
            dtype = py::reinterpret_steal<py::object>(probe.descr().release());
            element = element_of(values[3], py::reinterpret_borrow<py::dtype>(dtype));
        }
        StepArrays arrays(values[0], values[4]);
        key.push(element ? 1 : 0);
        if (element) {
            if (!arrays.data().has_dtype(reinterpret_cast<PyArray_Descr*>(dtype.ptr()))) {
                throw std::runtime_error("data was given another dtype by Python code that ran during the call");
            }
            for (const std::byte byte : *element->bytes) key.push(static_cast<std::int64_t>(byte));
        }
        return arrays.run(key, [&] {
            // (Of what is not parsed yet only plain integers are read.)
            return chain::pad(widths ? *widths : parse_widths(values[1], 0), mode,
                              element ? *element : zero(arrays.data().itemsize()));
        });
    } catch (...) {
        return set_python_error();
    }
}

}  // namespace

py::object element_object(const chain::Element& element, const py::dtype& dtype) {
    if (element.text == "0") return py::int_(0);
    const py::bytes bytes(reinterpret_cast<const char*>(element.bytes->data()), element.bytes->size());
    return py::module_::import("numpy").attr("frombuffer")(bytes, dtype)[py::int_(0)];
}

void register_pad(PyObject* chain_type, PyObject* module) {
    add_method(chain_type, "pad", chain_pad, reference::pad::kChainPad);
    static PyMethodDef functions[] = {{"pad", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(pad)),
                                       METH_FASTCALL | METH_KEYWORDS, reference::pad::kPad},
                                      {nullptr, nullptr, 0, nullptr}};
    if (PyModule_AddFunctions(module, functions) != 0) throw PythonError{};
}

}  // namespace dnnmove::python
