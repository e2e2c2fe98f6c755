// Reads the arguments of the C entry points without building strings or dictionaries.
#include "parse.hpp"

#include <cstring>
#include <string>

#include "errors.hpp"
#include "operand.hpp"
#include "runtime/threads.hpp"

namespace dnnmove {
namespace {

std::string place(std::string_view name, std::optional<std::size_t> position) {
    std::string text(name);
    if (position) text += "[" + std::to_string(*position) + "]";
    return text;
}

// The integers of an array of at most one dimension, any kind; empty where `object` is no array.
std::optional<Dims> integers_of_array(PyObject* object, std::string_view name, bool scalar) {
    if (!is_array(object)) return std::nullopt;
    Operand array;
    array.read(object, name);
    if (!array.is_integer()) {
        throw TypeError(std::string(name) + " must hold integers, not an array of " + array.dtype_name());
    }
    const bool one = array.ndim() == 0 || (array.ndim() == 1 && array.shape()[0] == 1);
    if (scalar ? !one : array.ndim() != 1) {
        throw ValueError(std::string(name) + " must be " +
                         (scalar ? "one integer, or an array of shape () or (1,)" : "one-dimensional") +
                         ", but has shape " + to_string(Dims(array.shape().begin(), array.shape().end())));
    }
    const std::size_t count = array.ndim() == 0 ? 1 : static_cast<std::size_t>(array.shape()[0]);
    Dims values(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto value = array.integer_at(static_cast<std::int64_t>(i));
        if (!value) throw ValueError(place(name, i) + " does not fit into 64 bits");
        values[i] = *value;
    }
    return values;
}

}  // namespace

Signature::Signature(const char* function, std::initializer_list<const char*> names, std::size_t positional,
                     std::size_t required)
    : function_(function), size_(names.size()), positional_(positional), required_(required) {
    std::size_t i = 0;
    for (const char* name : names) {
        names_[i] = PyUnicode_InternFromString(name);
        if (names_[i++] == nullptr) throw PythonError{};
    }
}

void Signature::parse_slowly(PyObject* const* args, std::size_t count, PyObject* keywords,
                             std::array<PyObject*, kMaxParameters>& values) const {
    const auto function = [this] { return std::string(function_) + "()"; };
    if (count > positional_) {
        throw TypeError(function() + " takes at most " + std::to_string(positional_) + " positional arguments, but " +
                        std::to_string(count) + " were given");
    }
    values.fill(nullptr);
    for (std::size_t i = 0; i < count; ++i) values[i] = args[i];
    const Py_ssize_t given = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t k = 0; k < given; ++k) {
        PyObject* keyword = PyTuple_GET_ITEM(keywords, k);
        std::size_t i = 0;
        while (i < size_ && names_[i] != keyword) ++i;
        if (i == size_) {
            i = 0;
            while (i < size_ && PyUnicode_Compare(names_[i], keyword) != 0) ++i;
        }
        if (i == size_) {
            throw TypeError(function() + " got an unexpected keyword argument " + short_repr(keyword));
        }
        if (values[i] != nullptr) {
            throw TypeError(function() + " got multiple values for argument " + short_repr(keyword));
        }
        values[i] = args[count + static_cast<std::size_t>(k)];
    }
    for (std::size_t i = 0; i < required_; ++i) {
        if (values[i] == nullptr) {
            throw TypeError(function() + " missing required argument " + short_repr(names_[i]));
        }
    }
}

std::int64_t parse_integer_slowly(PyObject* object, std::string_view name, std::optional<std::size_t> position) {
    if (PyBool_Check(object) || PyArray_IsScalar(object, Bool) || !PyIndex_Check(object)) {
        throw TypeError(place(name, position) + " must be an integer, not " + type_name(object) + " (" +
                        short_repr(object) + ")");
    }
    if (!PyLong_Check(object) && is_array(object)) {
        // An array of one bool has __index__ in some libraries.
        const auto values = integers_of_array(object, place(name, position), true);
        return values->front();
    }
    const PyRef index = checked(PyNumber_Index(object));
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError{};
    if (overflow != 0) {
        const std::string why = place(name, position) + " (" + short_repr(index.get()) + ") does not fit into 64 bits";
        if (name == "axis") throw AxisError(why);
        throw ValueError(why);
    }
    return value;
}

std::int64_t parse_axis(PyObject* object, std::string_view name) {
    if (!PyLong_Check(object) && is_array(object)) return integers_of_array(object, name, true)->front();
    return parse_integer(object, name);
}

Dims parse_integers(PyObject* object, std::string_view name) {
    if (PyTuple_Check(object) || PyList_Check(object) || PyRange_Check(object)) {
        // A copy as a tuple: __index__ of an element may run code that changes the list.
        const PyRef items = PyTuple_Check(object) ? PyRef::share(object) : checked(PySequence_Tuple(object));
        const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(items.get()));
        Dims values(count);
        for (std::size_t i = 0; i < count; ++i) {
            values[i] = parse_integer(PyTuple_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i)), name, i);
        }
        return values;
    }
    if (auto values = integers_of_array(object, name, false)) return std::move(*values);
    if ((PyLong_Check(object) && !PyBool_Check(object)) || PyArray_IsScalar(object, Integer)) {
        throw ValueError(std::string(name) + " (" + short_repr(object) +
                         ") must be a list or one-dimensional array of integers, not a scalar");
    }
    throw TypeError(std::string(name) + " must be a list, tuple or one-dimensional array of integers, not " +
                    type_name(object) + " (" + short_repr(object) + ")");
}

std::string_view parse_text(PyObject* object, std::string_view name) {
    if (!PyUnicode_Check(object)) {
        throw TypeError(std::string(name) + " must be a str, not " + type_name(object) + " (" + short_repr(object) +
                        ")");
    }
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text == nullptr) throw PythonError{};
    return {text, static_cast<std::size_t>(size)};
}

bool parse_flag(PyObject* object, std::string_view name) {
    if (!PyBool_Check(object)) throw TypeError(std::string(name) + " must be a bool, not " + type_name(object));
    return object == Py_True;
}

int parse_threads(PyObject* object, std::string_view name) {
    const std::int64_t value = parse_integer(object, name);
    if (value < 1 || value > kMaxThreads) {
        throw ValueError(std::string(name) + " (" + std::to_string(value) + ") must be at least 1 and at most " +
                         std::to_string(kMaxThreads));
    }
    return static_cast<int>(value);
}

}  // namespace dnnmove
