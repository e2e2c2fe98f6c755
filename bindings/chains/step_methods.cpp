// The steps as Python calls them: how their arguments are read, and the methods of Chain.
#include "chains/step_methods.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "arguments/operand.hpp"
#include "chains/chain.hpp"
#include "ops/ops.hpp"
#include "python/errors.hpp"
#include "reference/chain_methods.hpp"
#include "reference/steps.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

using Arguments = PyObject* const*;

std::int64_t integer_or(PyObject* object, const char* name, std::int64_t otherwise) {
    return object == nullptr ? otherwise : parse_integer(object, name);
}

std::string text_or(PyObject* object, const char* name, const char* otherwise) {
    return object == nullptr ? otherwise : std::string(parse_text(object, name));
}

// For the array before its parameters, and `out` behind them?
constexpr bool has_room(const StepMethod& method) {
    std::size_t parameters = 3;
    int depth = 0;  // of brackets, which defaults may have
    for (const char c : std::string_view(method.parameters)) {
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (c == ',' && depth == 0) ++parameters;
    }
    return parameters <= kMaxParameters;
}

chain::StepPtr make_broadcast(Arguments values) {
    std::string mode = text_or(values[2], "mode", "numpy");
    ops::parse_broadcast_mode(mode);
    Dims target = parse_integers(values[0], "target_shape");
    std::optional<Dims> mapping;
    if (values[1] != nullptr && values[1] != Py_None) mapping = parse_integers(values[1], "axes_mapping");
    return chain::broadcast(std::move(target), std::move(mapping), std::move(mode));
}

chain::StepPtr make_branch(Arguments values) {
    return chain::branch(values[0] == Py_None ? std::nullopt : std::optional(parse_integer(values[0], "i")));
}

}  // namespace

// Braces of the lambdas' bodies are one line each: what reads each argument is all there is to see.
constexpr std::array<StepMethod, kStepMethods> step_methods{{
    {"shuffle", "axis, group_size",
     [](Arguments v) { return chain::shuffle(parse_integer(v[0], "axis"), parse_integer(v[1], "group_size")); },
     reference::chain_methods::kChainShuffle, nullptr},
    {"shuffle_channels", "axis=1, group=1",
     [](Arguments v) { return chain::shuffle_channels(integer_or(v[0], "axis", 1), integer_or(v[1], "group", 1)); },
     reference::chain_methods::kChainShuffleChannels, nullptr},
    {"transpose", "input_order=()",
     [](Arguments v) { return chain::transpose(v[0] == nullptr ? Dims{} : parse_integers(v[0], "input_order")); },
     reference::chain_methods::kChainTranspose, nullptr},
    {"variadic_split", "axis, split_lengths",
     [](Arguments v) { return chain::variadic_split(parse_axis(v[0], "axis"), parse_integers(v[1], "split_lengths")); },
     reference::chain_methods::kChainVariadicSplit, nullptr},
    {"split", "axis, num_splits",
     [](Arguments v) { return chain::split(parse_axis(v[0], "axis"), parse_integer(v[1], "num_splits")); },
     reference::chain_methods::kChainSplit, nullptr},
    {"broadcast", "target_shape, axes_mapping=None, mode='numpy'", make_broadcast, reference::chain_methods::kChainBroadcast,
     nullptr},
    {"reshape", "shape", [](Arguments v) { return chain::reshape(parse_integers(v[0], "shape")); },
     reference::chain_methods::kChainReshape, nullptr},
    {"index", "key", [](Arguments v) { return chain::index(parse_index(v[0])); }, reference::chain_methods::kChainIndex,
     nullptr},
    {"branch", "i", make_branch, reference::chain_methods::kChainBranch, nullptr},
    {"stack", "axis=0", [](Arguments v) { return chain::stack(integer_or(v[0], "axis", 0)); },
     reference::chain_methods::kChainStack, nullptr},
    {"concat", "axis=0", [](Arguments v) { return chain::concat(integer_or(v[0], "axis", 0)); },
     reference::chain_methods::kChainConcat, nullptr},
    {"squeeze", "axis=None", [](Arguments v) { return chain::squeeze(parse_axes(v[0], "axis")); },
     reference::steps::kChainSqueeze, reference::steps::kSqueeze},
    {"expand_dims", "axis", [](Arguments v) { return chain::expand_dims(parse_some_axes(v[0], "axis")); },
     reference::steps::kChainExpandDims, reference::steps::kExpandDims},
    {"moveaxis", "source, destination",
     [](Arguments v) { return chain::moveaxis(parse_some_axes(v[0], "source"), parse_some_axes(v[1], "destination")); },
     reference::steps::kChainMoveaxis, reference::steps::kMoveaxis},
    {"swapaxes", "axis1, axis2",
     [](Arguments v) { return chain::swapaxes(parse_integer(v[0], "axis1"), parse_integer(v[1], "axis2")); },
     reference::steps::kChainSwapaxes, reference::steps::kSwapaxes},
    {"flatten", "start=0, end=-1",
     [](Arguments v) { return chain::flatten(integer_or(v[0], "start", 0), integer_or(v[1], "end", -1)); },
     reference::steps::kChainFlatten, reference::steps::kFlatten},
    {"unflatten", "axis, sizes",
     [](Arguments v) { return chain::unflatten(parse_integer(v[0], "axis"), parse_integers(v[1], "sizes")); },
     reference::steps::kChainUnflatten, reference::steps::kUnflatten},
    {"flip", "axis=None", [](Arguments v) { return chain::flip(parse_axes(v[0], "axis")); }, reference::steps::kChainFlip,
     reference::steps::kFlip},
    {"roll", "shift, axis=None",
     [](Arguments v) { return chain::roll(parse_some_axes(v[0], "shift"), parse_axes(v[1], "axis")); },
     reference::steps::kChainRoll, reference::steps::kRoll},
    {"tile", "reps", [](Arguments v) { return chain::tile(parse_some_axes(v[0], "reps")); }, reference::steps::kChainTile,
     reference::steps::kTile},
    {"repeat_elements", "repeats, axis",
     [](Arguments v) { return chain::repeat_elements(parse_some_axes(v[0], "repeats"), parse_integer(v[1], "axis")); },
     reference::steps::kChainRepeatElements, reference::steps::kRepeatElements},
    {"take", "indices, axis",
     [](Arguments v) { return chain::take(parse_integers(v[0], "indices"), parse_integer(v[1], "axis")); },
     reference::steps::kChainTake, reference::steps::kTake},
    {"unfold", "axis, size, step=1",
     [](Arguments v) {
         return chain::unfold(parse_integer(v[0], "axis"), parse_integer(v[1], "size"), integer_or(v[2], "step", 1));
     },
     reference::steps::kChainUnfold, reference::steps::kUnfold},
    {"space_to_depth", "block_size", [](Arguments v) { return chain::space_to_depth(parse_integer(v[0], "block_size")); },
     reference::steps::kChainSpaceToDepth, reference::steps::kSpaceToDepth},
    {"depth_to_space", "block_size, mode='DCR'",
     [](Arguments v) { return chain::depth_to_space(parse_integer(v[0], "block_size"), text_or(v[1], "mode", "DCR")); },
     reference::steps::kChainDepthToSpace, reference::steps::kDepthToSpace},
    {"pixel_shuffle", "factor", [](Arguments v) { return chain::pixel_shuffle(parse_integer(v[0], "factor")); },
     reference::steps::kChainPixelShuffle, reference::steps::kPixelShuffle},
    {"pixel_unshuffle", "factor", [](Arguments v) { return chain::pixel_unshuffle(parse_integer(v[0], "factor")); },
     reference::steps::kChainPixelUnshuffle, reference::steps::kPixelUnshuffle},
}};
static_assert(step_methods.back().name != nullptr, "kStepMethods is more than there are");
static_assert(std::ranges::all_of(step_methods, has_room), "more parameters than Signature::parse fills: kMaxParameters");

constexpr std::array<PatternMethod, kPatternMethods> pattern_methods{
    {{"rearrange", chain::rearrange, reference::steps::kChainRearrange, reference::steps::kRearrange},
     {"repeat", chain::repeat, reference::steps::kChainRepeat, reference::steps::kRepeat}}};

chain::Axes parse_some_axes(PyObject* object, const char* name) {
    if (PyTuple_Check(object) || PyList_Check(object) || PyRange_Check(object)) return parse_integers(object, name);
    if (!PyLong_Check(object) && is_array(object)) {
        Operand array;
        array.read(object, name);
        if (array.ndim() > 0) return parse_integers(object, name);
    }
    return parse_integer(object, name);
}

chain::Axes parse_axes(PyObject* object, const char* name) {
    if (object == nullptr || object == Py_None) return std::monostate();
    return parse_some_axes(object, name);
}

chain::StepPtr make_pattern_step(const PatternMethod& method, const std::string& function, PyObject* const* args,
                                 std::size_t count, std::size_t before, PyObject* keywords, PyObject** out) {
    if (count != before + 1) {
        throw TypeError(function + "() takes " + (before == 0 ? "the pattern" : "the array and the pattern") +
                        " as positional arguments, and lengths by keyword, but " + std::to_string(count) +
                        (count == 1 ? " positional argument was given" : " positional arguments were given"));
    }
    std::string pattern(parse_text(args[before], "pattern"));
    std::vector<chain::Length> lengths;
    const Py_ssize_t given = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t k = 0; k < given; ++k) {
        std::string name(parse_text(PyTuple_GET_ITEM(keywords, k), "a keyword"));
        PyObject* const value = args[count + static_cast<std::size_t>(k)];
        if (name != "out") {
            const std::int64_t length = parse_integer(value, name);
            lengths.emplace_back(std::move(name), length);
        } else if (out != nullptr) {
            *out = value;
        } else {
            throw TypeError("out is no name of an axis: it is the eager function's output");
        }
    }
    return method.make(std::move(pattern), std::move(lengths));
}

PyObject* with_step(PyObject* self, const char* name, const std::function<chain::StepPtr(const Chain&)>& make) {
    const auto& before = py::handle(self).cast<const Chain&>();
    const auto where = [&] { return "step " + std::to_string(before.steps.steps().size() + 1) + " (" + name + "): "; };
    chain::StepPtr step;
    try {
        step = make(before);
    } catch (const AxisError& error) {
        throw AxisError(where() + error.what());
    } catch (const IndexError& error) {
        throw IndexError(where() + error.what());
    } catch (const TypeError& error) {
        throw TypeError(where() + error.what());
    } catch (const ValueError& error) {
        throw ValueError(where() + error.what());
    }
    return py::cast(Chain{before.src, before.steps.then(std::move(step)), before.sources}).release().ptr();
}

namespace {

template <std::size_t kMethod>
PyObject* call_method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
    try {
        constexpr const StepMethod& method = step_methods[kMethod];
        static const Signature signature(std::string("Chain.") + method.name, std::string("(self, ") + method.parameters + ")");
        std::array<PyObject*, kMaxParameters> values;
        signature.parse(args, static_cast<std::size_t>(count), keywords, values);
        return with_step(self, method.name, [&](const Chain&) { return method.make(values.data()); });
    } catch (...) {
        return set_python_error();
    }
}

template <std::size_t kMethod>
PyObject* call_pattern_method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) noexcept {
    try {
        constexpr const PatternMethod& method = pattern_methods[kMethod];
        const std::string function = std::string("Chain.") + method.name;
        return with_step(self, method.name, [&](const Chain&) {
            return make_pattern_step(method, function, args, static_cast<std::size_t>(count), 0, keywords, nullptr);
        });
    } catch (...) {
        return set_python_error();
    }
}

}  // namespace

// The text and the definition live as long as the type, which is as long as the process.
void add_method(PyObject* type, const char* name, FastFunction function, std::string doc) {
    auto* const text = new std::string(std::move(doc));
    auto* const definition = new PyMethodDef{name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
                                             METH_FASTCALL | METH_KEYWORDS, text->c_str()};
    const PyRef method = checked(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type), definition));
    if (PyObject_SetAttrString(type, name, method.get()) != 0) throw PythonError{};
}

namespace {

template <std::size_t... kMethods, std::size_t... kPatterns>
void add_methods(PyObject* type, std::index_sequence<kMethods...>, std::index_sequence<kPatterns...>) {
    const auto add = [type](const StepMethod& method, FastFunction function) {
        add_method(type, method.name, function,
                   std::string(method.name) + "($self, " + method.parameters + ")\n--\n\n" + method.doc);
    };
    const auto add_pattern = [type](const PatternMethod& method, FastFunction function) {
        add_method(type, method.name, function,
                   std::string(method.name) + "($self, pattern, /, **lengths)\n--\n\n" + method.doc);
    };
    (add(step_methods[kMethods], call_method<kMethods>), ...);
    (add_pattern(pattern_methods[kPatterns], call_pattern_method<kPatterns>), ...);
}

}  // namespace

void register_step_methods(PyObject* chain_type) {
    add_methods(chain_type, std::make_index_sequence<kStepMethods>(), std::make_index_sequence<kPatternMethods>());
}

}  // namespace dnnmove::python
