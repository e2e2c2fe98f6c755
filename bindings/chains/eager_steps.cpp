// The eager functions that are steps of chains: one step, one pass, planned once for each layout.
#include "chains/step_methods.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "chains/listed_take.hpp"
#include "chains/step_arrays.hpp"
#include "python/errors.hpp"
#include "tensors/memory.hpp"

namespace dnnmove::python {
namespace {

constexpr std::int64_t kFirstKey = 1000;  // beyond the numbers of Op

// What an argument is in a key; each is followed by what it takes to tell it from others.
enum class Kind : std::int64_t { absent, none, integer, integers, text };

void push_text(PlanKey& key, std::string_view text) {
    key.push(static_cast<std::int64_t>(Kind::text));
    key.push(static_cast<std::int64_t>(text.size()));
    for (std::size_t at = 0; at < text.size(); at += sizeof(std::int64_t)) {
        std::int64_t word = 0;
        std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
        key.push(word);
    }
}

// The argument as it was given, where it is of Python's plain types; false where it has to be read first.
bool push_plain(PlanKey& key, PyObject* object) {
    const auto push_integer = [&key](PyObject* item) {
        int overflow = 1;
        const long long value = PyLong_CheckExact(item) ? PyLong_AsLongLongAndOverflow(item, &overflow) : 0;
        if (overflow == 0) key.push(value);
        return overflow == 0;
    };
    if (object == nullptr || object == Py_None) {
        // Not every step takes None where it has a default.
        key.push(static_cast<std::int64_t>(object == nullptr ? Kind::absent : Kind::none));
        return true;
    }
    if (PyTuple_CheckExact(object)) {
        const Py_ssize_t count = PyTuple_GET_SIZE(object);
        key.push(static_cast<std::int64_t>(Kind::integers));
        key.push(count);
        for (Py_ssize_t i = 0; i < count; ++i) {
            if (!push_integer(PyTuple_GET_ITEM(object, i))) return false;
        }
        return true;
    }
    if (PyUnicode_CheckExact(object)) {
        Py_ssize_t size = 0;
        const char* const text = PyUnicode_AsUTF8AndSize(object, &size);
        if (text == nullptr) {
            drop_failed_attempt();
            return false;
        }
        push_text(key, {text, static_cast<std::size_t>(size)});
        return true;
    }
    key.push(static_cast<std::int64_t>(Kind::integer));
    return push_integer(object);
}

void push_step(PlanKey& key, const chain::Step& step) {
    for (const chain::Argument& argument : step.arguments()) {
        push_text(key, argument.name);
        if (std::holds_alternative<std::monostate>(argument.value)) {
            key.push(static_cast<std::int64_t>(Kind::none));
        } else if (const auto* integer = std::get_if<std::int64_t>(&argument.value)) {
            key.push(static_cast<std::int64_t>(Kind::integer));
            key.push(*integer);
        } else if (const auto* integers = std::get_if<Dims>(&argument.value)) {
            key.push(static_cast<std::int64_t>(Kind::integers));
            key.push(static_cast<std::int64_t>(integers->size()));
            key.push(*integers);
        } else if (const auto* text = std::get_if<std::string>(&argument.value)) {
            push_text(key, *text);
        } else {
            // A text of it may say less than it is: two calls would share a plan.
            throw std::logic_error(std::string(step.name()) + ": no key holds an argument of the kind of " + argument.name);
        }
    }
}

// By a key of what the step has read of its arguments. `method` counts the patterns behind the other methods.
PyRef run_exactly(std::size_t method, StepArrays& arrays, const chain::StepPtr& step) {
    PlanKey key;
    key.push(kFirstKey + 2 * static_cast<std::int64_t>(method) + 1);
    push_step(key, *step);
    return PyRef::steal(arrays.run(key, [&] { return step; }));
}

template <std::size_t kMethod>
PyObject* call_eagerly(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
    try {
        constexpr const StepMethod& method = step_methods[kMethod];
        static const Signature signature(method.name, std::string("(data, ") + method.parameters + ", *, out=None)");
        static const std::size_t parameters = signature.size() - 2;
        std::array<PyObject*, kMaxParameters> values;
        signature.parse(args, static_cast<std::size_t>(count), keywords, values);
        PyObject* const out = std::exchange(values[parameters + 1], nullptr);
        if (method.name == std::string_view("take")) {
            const auto by_value = [](StepArrays& arrays, const chain::StepPtr& step) {
                return run_exactly(kMethod, arrays, step);
            };
            if (PyRef taken = take_read_once(values[0], values[1], values[2], out, by_value)) return taken.release();
        }
        const auto make = [&] { return method.make(values.data() + 1); };
        PlanKey key;
        key.push(kFirstKey + 2 * static_cast<std::int64_t>(kMethod));
        bool plain = true;
        for (std::size_t i = 1; plain && i <= parameters; ++i) plain = push_plain(key, values[i]);
        if (plain) return StepArrays(values[0], out).run(key, make);
        const chain::StepPtr step = make();
        StepArrays arrays(values[0], out);
        return run_exactly(kMethod, arrays, step).release();
    } catch (...) {
        return set_python_error();
    }
}

template <std::size_t kMethod>
PyObject* call_pattern_eagerly(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
    try {
        constexpr const PatternMethod& method = pattern_methods[kMethod];
        const auto given = static_cast<std::size_t>(count);
        PyObject* out = nullptr;
        const auto make = [&] { return make_pattern_step(method, method.name, args, given, 1, keywords, &out); };
        PlanKey key;
        key.push(kFirstKey + 2 * static_cast<std::int64_t>(kStepMethods + kMethod));
        bool plain = count == 2 && PyUnicode_CheckExact(args[1]) && push_plain(key, args[1]);
        for (Py_ssize_t k = 0; plain && keywords != nullptr && k < PyTuple_GET_SIZE(keywords); ++k) {
            PyObject* const name = PyTuple_GET_ITEM(keywords, k);
            PyObject* const value = args[given + static_cast<std::size_t>(k)];
            if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
                out = value;
            } else {
                plain = PyLong_CheckExact(value) && push_plain(key, name) && push_plain(key, value);
            }
        }
        if (plain) return StepArrays(args[0], out).run(key, make);
        const chain::StepPtr step = make();
        StepArrays arrays(args[0], out);
        return run_exactly(kStepMethods + kMethod, arrays, step).release();
    } catch (...) {
        return set_python_error();
    }
}

template <std::size_t... kMethods, std::size_t... kPatterns>
void add_functions(PyObject* module, std::index_sequence<kMethods...>, std::index_sequence<kPatterns...>) {
    static std::vector<PyMethodDef> functions;
    const auto add = [](const char* name, FastFunction function, std::string doc) {
        auto* const text = new std::string(std::move(doc));  // for as long as the module
        functions.push_back({name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
                             METH_FASTCALL | METH_KEYWORDS, text->c_str()});
    };
    const auto add_step = [&](const StepMethod& method, FastFunction function) {
        if (method.function_doc == nullptr) return;
        add(method.name, function,
            std::string(method.name) + "($module, data, " + method.parameters + ", *, out=None)\n--\n\n" + method.function_doc);
    };
    const auto add_pattern = [&](const PatternMethod& method, FastFunction function) {
        add(method.name, function,
            std::string(method.name) + "($module, data, pattern, /, *, out=None, **lengths)\n--\n\n" + method.function_doc);
    };
    (add_step(step_methods[kMethods], call_eagerly<kMethods>), ...);
    (add_pattern(pattern_methods[kPatterns], call_pattern_eagerly<kPatterns>), ...);
    functions.push_back({nullptr, nullptr, 0, nullptr});
    if (PyModule_AddFunctions(module, functions.data()) != 0) throw PythonError{};
}

}  // namespace

void register_eager_steps(PyObject* module) {
    add_functions(module, std::make_index_sequence<kStepMethods>(), std::make_index_sequence<kPatternMethods>());
}

}  // namespace dnnmove::python
