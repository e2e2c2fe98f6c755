// Reads the arguments of the C entry points without building strings or dictionaries.
#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array/dims.hpp"

namespace dnnmove {

class Operand;

inline constexpr std::size_t kMaxParameters = 6;

// The parameters of one function: names in order, how many may be positional and how many are required.
class Signature {
public:
    // `function` is what errors call it.
    Signature(std::string function, std::initializer_list<const char*> names, std::size_t positional, std::size_t required);
    // From the text that inspect reads, as in "(self, axis=1, *, tune=False)"; a leading self is no parameter.
    Signature(std::string function, std::string_view text);

    // Fills `values` (borrowed, null where absent) from a vectorcall; TypeError as Python words it.
    void parse(PyObject* const* args, std::size_t count, PyObject* keywords,
               std::array<PyObject*, kMaxParameters>& values) const {
        if (keywords == nullptr && count <= positional_ && count >= required_) {
            for (std::size_t i = 0; i < kMaxParameters; ++i) values[i] = i < count ? args[i] : nullptr;
            return;
        }
        values.fill(nullptr);
        parse_slowly(args, count, keywords, values);
    }
    // TypeError where the arguments of a vectorcall do not fit.
    void check(PyObject* const* args, std::size_t count, PyObject* keywords) const {
        if (keywords == nullptr && count <= positional_ && count >= required_) return;
        std::vector<PyObject*> values(names_.size());
        parse_slowly(args, count, keywords, values);
    }
    std::size_t size() const { return names_.size(); }
    // How many arguments have no place: keywords that it does not know and positions that it does not have.
    std::size_t misfits(std::size_t count, PyObject* keywords) const;

private:
    // `values` are null, one for each parameter at least.
    void parse_slowly(PyObject* const* args, std::size_t count, PyObject* keywords, std::span<PyObject*> values) const;
    void add(std::string_view name);
    std::size_t find(PyObject* keyword) const;

    std::string function_;
    std::vector<PyObject*> names_;  // interned
    std::size_t positional_ = 0;
    std::size_t required_ = 0;
};

// An integer: anything with __index__, never bool. TypeError, or ValueError beyond 64 bits
// (AxisError for an axis); `name` is the argument in the message, `position` its place in a list.
std::int64_t parse_integer_slowly(PyObject* object, std::string_view name, std::optional<std::size_t> position = {});

inline std::int64_t parse_integer(PyObject* object, std::string_view name, std::optional<std::size_t> position = {}) {
    if (PyLong_CheckExact(object)) {
        int overflow = 0;
        const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow == 0) return value;
    }
    return parse_integer_slowly(object, name, position);
}

// As parse_integer, or an integer array of shape () or (1,).
std::int64_t parse_axis(PyObject* object, std::string_view name);

// A list, tuple or range of integers, or a 1-D integer array of any kind.
Dims parse_integers(PyObject* object, std::string_view name);
// The same of an array that has been read.
Dims parse_integers(const Operand& array, std::string_view name);

// A str.
std::string_view parse_text(PyObject* object, std::string_view name);

// A bool.
bool parse_flag(PyObject* object, std::string_view name);

// A number of threads in [1, kMaxThreads].
int parse_threads(PyObject* object, std::string_view name);

}  // namespace dnnmove
