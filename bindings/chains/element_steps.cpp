// The steps that change elements, not where they are: convert and byteswap, as methods of Chain and as eager functions.
#include "chains/element_steps.hpp"

#include "python/numpy_api.hpp"

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments/factor.hpp"
#include "arguments/parse.hpp"
#include "calls/element_type.hpp"
#include "chains/chain.hpp"
#include "chains/step_arrays.hpp"
#include "chains/step_methods.hpp"
#include "python/errors.hpp"
#include "reference/elements.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

constexpr std::int64_t kSwapKey = 900;  // beyond the numbers of Op, before those of the other steps
constexpr std::int64_t kConvertKey = 901;

// What convert takes but for its array.
struct ConvertArguments {
    chain::Conversion conversion;

    explicit ConvertArguments(PyObject* const* values)
        : conversion{Number::f32, parse_number(values[0]), parse_factor(values[1], "scale"), parse_factor(values[2], "shift"),
                     std::nullopt} {
        if (values[3] != nullptr && values[3] != Py_None) conversion.axis = parse_integer(values[3], "axis");
    }
    chain::StepPtr step_from(Number from) && {
        conversion.from = from;
        const Number to = conversion.to;
        return chain::convert(std::move(conversion), numpy_name(to));
    }
};

PyObject* chain_convert(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
    try {
        static const Signature signature("Chain.convert", "(self, dtype, scale=None, shift=None, axis=None)");
        std::array<PyObject*, kMaxParameters> values;
        signature.parse(args, static_cast<std::size_t>(count), keywords, values);
        return with_step(self, "convert", [&](const Chain& before) {
            ConvertArguments arguments(values.data());
            Number from{};
            for (std::size_t i = 0; i < before.steps.outputs().size(); ++i) {
                const bool turned = before.steps.swapped(i);
                if (i > 0 && turned == before.steps.swapped(i - 1)) continue;
                from = number_of(turned ? swapped(before.src.dtype) : before.src.dtype, "the chain's dtype");
            }
            return std::move(arguments).step_from(from);
        });
    } catch (...) {
        return set_python_error();
    }
}

PyObject* chain_byteswap(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
    try {
        static const Signature signature("Chain.byteswap", "(self)");
        std::array<PyObject*, kMaxParameters> values;
        signature.parse(args, static_cast<std::size_t>(count), keywords, values);
        return with_step(self, "byteswap", [&](const Chain& before) {
            return chain::byteswap(words_of(reinterpret_cast<PyArray_Descr*>(before.src.dtype.ptr())));
        });
    } catch (...) {
        return set_python_error();
    }
}

PyObject* convert(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
    try {
        static const Signature signature("convert", "(data, dtype, scale=None, shift=None, axis=None, *, out=None)");
        std::array<PyObject*, kMaxParameters> values;
        signature.parse(args, static_cast<std::size_t>(count), keywords, values);
        ConvertArguments arguments(values.data() + 1);  // may run Python code: before the arrays are fetched
        const chain::Conversion& conversion = arguments.conversion;
        StepArrays arrays(values[0], values[5]);
        const Number from = number_of(arrays.data(), "data.dtype");
        const ResultType& type = type_of(conversion.to);
        PlanKey key;
        key.push(kConvertKey);
        key.push(static_cast<std::int64_t>(from));
        key.push(static_cast<std::int64_t>(conversion.to));
        push_factor(key, conversion.scale);
        push_factor(key, conversion.shift);
        key.push(conversion.axis ? 1 : 0);
        key.push(conversion.axis.value_or(0));
        return arrays.run(key, [&] { return std::move(arguments).step_from(from); }, &type);
    } catch (...) {
        return set_python_error();
    }
}

PyObject* byteswap(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
    try {
        static const Signature signature("byteswap", "(data, *, out=None)");
        std::array<PyObject*, kMaxParameters> values;
        signature.parse(args, static_cast<std::size_t>(count), keywords, values);
        Operand data;
        data.read(values[0], "data", Access::describe);
        const auto dtype = py::reinterpret_steal<py::dtype>(data.descr().release());
        std::vector<Words> words = words_of(reinterpret_cast<PyArray_Descr*>(dtype.ptr()));
        const ResultType type = ResultType::of(PyRef::share(swapped(dtype).ptr()));
        StepArrays arrays(values[0], values[1]);
        if (!arrays.data().has_dtype(reinterpret_cast<PyArray_Descr*>(dtype.ptr()))) {
            throw std::runtime_error("data was given another dtype by Python code that ran during the call");
        }
        PlanKey key;
        key.push(kSwapKey);
        key.push(dtype.itemsize());
        key.push(static_cast<std::int64_t>(words.size()));
        for (const Words& each : words) {
            for (const std::int64_t number : {each.offset, each.bytes, each.count}) key.push(number);
        }
        return arrays.run(key, [&] { return chain::byteswap(std::move(words)); }, &type);
    } catch (...) {
        return set_python_error();
    }
}

}  // namespace

void register_element_steps(PyObject* chain_type, PyObject* module) {
    add_method(chain_type, "convert", chain_convert, reference::elements::kChainConvert);
    add_method(chain_type, "byteswap", chain_byteswap, reference::elements::kChainByteswap);
    static PyMethodDef functions[] = {{"convert", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(convert)),
                                       METH_FASTCALL | METH_KEYWORDS, reference::elements::kConvert},
                                      {"byteswap", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(byteswap)),
                                       METH_FASTCALL | METH_KEYWORDS, reference::elements::kByteswap},
                                      {nullptr, nullptr, 0, nullptr}};
    if (PyModule_AddFunctions(module, functions) != 0) throw PythonError{};
}

}  // namespace dnnmove::python
