// Reads the arguments of the C entry points without building strings or dictionaries.
#include "arguments/parse.hpp"

#include <cstring>
#include <string>

#include "arguments/operand.hpp"
#include "python/errors.hpp"
#include "python/suggest.hpp"
#include "runtime/threads.hpp"

namespace dnnmove {
namespace {

std::string place(std::string_view name, std::optional<std::size_t> position) {
    std::string text(name);
    if (position) text += "[" + std::to_string(*position) + "]";
    return text;
}

// The integers of an array, one or of one dimension.
Dims integers_of(const Operand& array, std::string_view name, bool scalar) {
    if (!array.is_integer()) {
        throw TypeError(std::string(name) + " must hold integers, not an array of " + array.dtype_name());
    }
    const bool one = array.ndim() == 0 || (array.ndim() == 1 && array.shape()[0] == 1);
    if (scalar ? !one : array.ndim() != 1) {
        throw ValueError(std::string(name) + " must be " +
                         (scalar ? "one integer, or an array of shape () or (1,)" : "one-dimensional") + ", but has shape " +
                         to_string(Dims(array.shape().begin(), array.shape().end())));
    }
    const std::size_t count = array.ndim() == 0 ? 1 : static_cast<std::size_t>(array.shape()[0]);
    Dims values(count);
    const std::size_t read = array.read_integers(values);
    if (read < count) throw ValueError(place(name, read) + " does not fit into 64 bits");
    return values;
}

// The same of an array of any kind; empty where `object` is none.
std::optional<Dims> integers_of_array(PyObject* object, std::string_view name, bool scalar) {
    if (!is_array(object)) return std::nullopt;
    Operand array;
    array.read(object, name);
    return integers_of(array, name, scalar);
}

// Empty for what is no valid text, as a lone surrogate.
std::string_view text_of(PyObject* string) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(string, &size);
    if (text == nullptr) PyErr_Clear();
    return text == nullptr ? std::string_view() : std::string_view(text, static_cast<std::size_t>(size));
}

}  // namespace

Signature::Signature(std::string function, std::initializer_list<const char*> names, std::size_t positional,
                     std::size_t required)
    : function_(std::move(function)), positional_(positional), required_(required) {
    for (const char* name : names) add(name);
}

Signature::Signature(std::string function, std::string_view text) : function_(std::move(function)) {
    bool keyword_only = false;
    int depth = 0;  // of brackets, which defaults may have
    std::size_t begin = 1;
    for (std::size_t end = 1; end < text.size(); ++end) {
        if (depth == 0 && (text[end] == ',' || end + 1 == text.size())) {
            const std::string_view parameter = text.substr(begin, end - begin);
            const std::string_view name = parameter.substr(0, parameter.find('='));
            begin = end + 2;  // ", "
            if (name == "*") keyword_only = true;
            if (name.empty() || name == "*" || name == "self") continue;
            add(name);
            if (!keyword_only) ++positional_;
            if (name.size() == parameter.size()) ++required_;
        }
        if (text[end] == '(') ++depth;
        if (text[end] == ')') --depth;
    }
}

void Signature::add(std::string_view name) {
    PyRef text = checked(PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
    PyObject* interned = text.release();
    PyUnicode_InternInPlace(&interned);
    names_.push_back(interned);
}

std::size_t Signature::find(PyObject* keyword) const {
    std::size_t i = 0;
    while (i < names_.size() && names_[i] != keyword) ++i;
    if (i < names_.size()) return i;
    i = 0;
    while (i < names_.size() && PyUnicode_Compare(names_[i], keyword) != 0) ++i;
    return i;
}

std::size_t Signature::misfits(std::size_t count, PyObject* keywords) const {
    std::size_t misfits = count > positional_ ? count - positional_ : 0;
    const Py_ssize_t given = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t k = 0; k < given; ++k) {
        if (find(PyTuple_GET_ITEM(keywords, k)) == names_.size()) ++misfits;
    }
    return misfits;
}

void Signature::parse_slowly(PyObject* const* args, std::size_t count, PyObject* keywords, std::span<PyObject*> values) const {
    if (count > positional_) {
        const std::string limit = positional_ == 0   ? "no positional arguments"
                                  : positional_ == 1 ? "at most 1 positional argument"
                                                     : "at most " + std::to_string(positional_) + " positional arguments";
        std::string text = function_ + "() takes " + limit + ", but " + std::to_string(count) +
                           (count == 1 ? " was given" : " were given");
        if (positional_ < names_.size() && count <= names_.size()) {
            text += ": " + short_repr(names_[positional_]) + " is given by keyword only";
        }
        throw TypeError(text);
    }
    for (std::size_t i = 0; i < count; ++i) values[i] = args[i];
    const Py_ssize_t given = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t k = 0; k < given; ++k) {
        PyObject* keyword = PyTuple_GET_ITEM(keywords, k);
        const std::size_t i = find(keyword);
        if (i == names_.size()) {
            std::vector<std::string_view> names;
            for (PyObject* name : names_) names.push_back(text_of(name));
            throw TypeError(function_ + "() got an unexpected keyword argument " + short_repr(keyword) +
                            suggestion(text_of(keyword), names));
        }
        if (values[i] != nullptr) {
            throw TypeError(function_ + "() got multiple values for argument " + short_repr(keyword));
        }
        values[i] = args[count + static_cast<std::size_t>(k)];
    }
    for (std::size_t i = 0; i < required_; ++i) {
        if (values[i] == nullptr) {
            throw TypeError(function_ + "() missing required argument " + short_repr(names_[i]));
        }
    }
}

std::int64_t parse_integer_slowly(PyObject* object, std::string_view name, std::optional<std::size_t> position) {
    if (PyBool_Check(object) || PyArray_IsScalar(object, Bool) || !PyIndex_Check(object)) {
        throw TypeError(place(name, position) + " must be an integer, not " + type_name(object) + " (" + short_repr(object) +
                        ")");
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

Dims parse_integers(const Operand& array, std::string_view name) { return integers_of(array, name, false); }

std::string_view parse_text(PyObject* object, std::string_view name) {
    if (!PyUnicode_Check(object)) {
        throw TypeError(std::string(name) + " must be a str, not " + type_name(object) + " (" + short_repr(object) + ")");
    }
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text == nullptr) {
        if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) == 0) throw PythonError{};
        PyErr_Clear();
        throw ValueError(std::string(name) + " (" + short_repr(object) + ") must be text, without lone surrogates");
    }
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
