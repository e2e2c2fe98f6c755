// Chain: the operations of several calls composed before anything runs.
#include "numpy_api.hpp"

#include "chain.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <tuple>

#include "built_chain.hpp"
#include "chain_docs.hpp"
#include "element_steps.hpp"
#include "element_type.hpp"
#include "errors.hpp"
#include "initialized.hpp"
#include "function.hpp"
#include "integers.hpp"
#include "memory.hpp"
#include "parse.hpp"
#include "step_methods.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

[[noreturn]] void refuse_blocked(const char* name, const MemoryDesc& desc) {
    throw ValueError(std::string(name) + " (" + desc.repr() + ") must have a plain layout: reorder to one first");
}

Chain start(const py::object& data_desc) {
    if (!py::isinstance<MemoryDesc>(data_desc)) {
        throw TypeError("data_desc (" + type_name(data_desc.ptr()) +
                        ") must be a MemoryDesc; MemoryDesc.of(array) gives an array's");
    }
    const auto& desc = data_desc.cast<const MemoryDesc&>();
    if (desc.layout.blocked()) refuse_blocked("data_desc", desc);
    return Chain{desc, chain::Chain(desc.layout.dims, desc.layout.strides, desc.layout.itemsize)};
}

// Byte strides of an array as a chain keeps them: whole elements, also along axes that take no step.
Dims whole_strides(const Operand& array) {
    const Dims shape(array.shape().begin(), array.shape().end());
    Dims strides = dense_strides(shape, array.itemsize());
    if (array.itemsize() == 0 || std::find(shape.begin(), shape.end(), 0) != shape.end()) return strides;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::int64_t stride = array.strides()[axis];
        if (stride % array.itemsize() == 0) {
            strides[axis] = stride;
        } else if (shape[axis] > 1) {
            throw ValueError(not_whole("array", axis, stride, array.itemsize()) +
                             ": build the chain for np.ascontiguousarray(array)");
        }
    }
    return strides;
}

Chain start_from(const py::object& array) {
    Operand data;
    data.read(array.ptr(), "array", Access::describe);
    if (data.blocked()) refuse_blocked("array", data.memory()->desc);
    const Dims shape(data.shape().begin(), data.shape().end());
    const Dims strides = whole_strides(data);
    const auto dtype = py::reinterpret_steal<py::dtype>(data.descr().release());
    return Chain{MemoryDesc{Layout::strided(shape, strides, data.itemsize()), dtype, {}},
                 chain::Chain(shape, strides, data.itemsize())};
}

std::string repr(const Chain& chain) { return abbreviated("Chain(" + chain.src.repr() + ")" + chain.steps.text()); }

[[noreturn]] py::object refuse_call(const Chain&, const py::args&, const py::kwargs&) {
    throw TypeError("this Chain is not built: call .build() first, then what it returns, as in f = chain.build(); y = f(x)");
}

MemoryDesc dst_desc(const Chain& chain) {
    if (chain.steps.splits()) throw py::attribute_error("dst_desc: this chain splits, see dst_descs");
    return output_desc(chain.src, chain.steps, 0);
}

py::tuple dst_descs(const Chain& chain) {
    py::tuple descs = new_tuple(chain.steps.outputs().size());
    for (std::size_t i = 0; i < descs.size(); ++i) descs[i] = py::cast(output_desc(chain.src, chain.steps, i));
    return descs;
}

// What the caller gave, as Python objects: ("transpose", (), {"input_order": (0, 2, 1)}).
py::object to_python(const std::optional<std::int64_t>& bound) {
    return bound ? py::object(py::int_(*bound)) : py::object(py::none());
}

py::object to_python(const chain::IndexEntry& entry) {
    if (std::holds_alternative<chain::Ellipsis>(entry)) return py::ellipsis();
    if (std::holds_alternative<chain::NewAxis>(entry)) return py::none();
    if (const auto* position = std::get_if<std::int64_t>(&entry)) return py::int_(*position);
    const auto& slice = std::get<chain::Slice>(entry);
    return py::slice(to_python(slice.start), to_python(slice.stop), py::int_(slice.step));
}

py::object to_python(const chain::Value& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return py::int_(*integer);
    if (const auto* integers = std::get_if<Dims>(&value)) return to_tuple(*integers);
    if (const auto* text = std::get_if<std::string>(&value)) return py::str(*text);
    if (const auto* number = std::get_if<float>(&value)) return py::float_(*number);
    if (const auto* numbers = std::get_if<chain::Floats>(&value)) {
        py::tuple all = new_tuple(numbers->size());
        for (std::size_t i = 0; i < numbers->size(); ++i) all[i] = py::float_((*numbers)[i]);
        return all;
    }
    if (const auto* entries = std::get_if<std::vector<chain::IndexEntry>>(&value)) {
        py::tuple key = new_tuple(entries->size());
        for (std::size_t i = 0; i < entries->size(); ++i) key[i] = to_python((*entries)[i]);
        return key;
    }
    return py::none();
}

py::tuple calls_of(const chain::Chain& chain) {
    py::list calls;
    for (const chain::StepPtr& step : chain.steps()) {
        py::list arguments;
        py::dict keywords;
        for (const chain::Argument& argument : step->arguments()) {
            if (argument.name.empty()) {
                arguments.append(to_python(argument.value));
            } else {
                keywords[py::str(argument.name)] = to_python(argument.value);
            }
        }
        calls.append(py::make_tuple(step->name(), py::tuple(arguments), keywords));
    }
    return py::tuple(calls);
}

// A source as a pickle holds it. Not as MemoryDesc's own pickle does, which knows no dtype that oneDNN packs.
py::tuple source_state(const MemoryDesc& desc) {
    return py::make_tuple(to_tuple(desc.layout.dims), to_tuple(desc.layout.strides), desc.dtype, desc.tag);
}

MemoryDesc source_from(const py::tuple& state) {
    const auto dtype = py::dtype::from_args(state[2]);
    return MemoryDesc{Layout::strided(parse_integers(py::object(state[0]).ptr(), "dims"),
                                      parse_integers(py::object(state[1]).ptr(), "strides"), dtype.itemsize()),
                      dtype, state[3].cast<std::string>()};
}

py::tuple reduce(const Chain& chain) {
    return py::make_tuple(py::module_::import("dnnmove._core").attr("_restore_chain"),
                          py::make_tuple(source_state(chain.src), calls_of(chain.steps)));
}

// What a pickle holds: the source and the calls.
py::object restore(const py::tuple& source, const py::tuple& calls) {
    const MemoryDesc desc = source_from(source);
    const Layout& layout = desc.layout;
    py::object chain = py::cast(Chain{desc, chain::Chain(layout.dims, layout.strides, layout.itemsize)});
    for (const py::handle call : calls) {
        const auto [name, arguments, keywords] = call.cast<std::tuple<std::string, py::tuple, py::dict>>();
        chain = chain.attr(name.c_str())(*arguments, **keywords);
    }
    return chain;
}

bool same(const Chain& a, const Chain& b) { return a.src == b.src && a.steps.text() == b.steps.text(); }

}  // namespace

MemoryDesc output_desc(const MemoryDesc& src, const chain::Chain& steps, std::size_t output) {
    const Dims& shape = steps.outputs()[output];
    if (const chain::Conversion* const conversion = steps.conversion()) {
        return MemoryDesc::dense(shape, py::reinterpret_borrow<py::dtype>(type_of(conversion->to).dtype.get()));
    }
    return MemoryDesc::dense(shape, steps.swapped(output) ? swapped(src.dtype) : src.dtype);
}

void register_chain(py::module_& module) {
    register_built_chain(module.ptr());
    py::class_<Chain> type(module, "Chain", kChainDoc);
    type.def(py::init(&start), py::arg("data_desc"), "__init__(self, data_desc)\n--\n\n")
        .def_static("of", &start_from, py::arg("array"), kChainOfDoc);
    type.def(
            "build",
            [](const Chain& self, py::handle max_nests, py::handle tune) {
                const std::int64_t limit = parse_integer(max_nests.ptr(), "max_nests");
                if (limit < 1 || limit > static_cast<std::int64_t>(chain::kMaxPieces)) {
                    throw ValueError("max_nests (" + std::to_string(limit) + ") must lie in [1, " +
                                     std::to_string(chain::kMaxPieces) + "]");
                }
                auto built = std::make_shared<const BuiltChain>(self.steps, self.src, static_cast<std::size_t>(limit), parse_flag(tune.ptr(), "tune"));
                return py::reinterpret_steal<py::object>(wrap(std::move(built)).release());
            },
            py::kw_only(), py::arg("max_nests") = chain::kMaxNests, py::arg("tune") = false, kChainBuildDoc)
        .def_property_readonly("src_desc", [](const Chain& self) { return self.src; }, "MemoryDesc of the input.")
        .def_property_readonly("dst_desc", &dst_desc, "MemoryDesc of what the steps so far give, where they do not split.")
        .def_property_readonly("dst_descs", &dst_descs, "MemoryDescs of what the steps so far give, branch by branch.")
        .def("__eq__", [](const Chain& self, const py::object& other) -> py::object {
            if (!py::isinstance<Chain>(other)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
            return py::bool_(same(self, other.cast<const Chain&>()));
        })
        .def("__hash__", [](const Chain& self) { return py::hash(py::make_tuple(py::cast(self.src), self.steps.text())); })
        .def(
            "draw",
            [](const py::object& self, const py::object& path) {
                return py::module_::import("dnnmove._seen").attr("draw")(self.attr("build")(), path);
            },
            py::arg("path") = py::none(), kChainDrawDoc)
        .def("_repr_html_",
             [](const py::object& self) {
                 return py::module_::import("dnnmove._seen").attr("chain_html")(self.attr("build")(), self);
             })
        .def("__call__", &refuse_call, "__call__(self, *args, **kwargs)\n--\n\nTypeError: a chain is called when it is built.")
        .def("__reduce__", &reduce)
        .def("__copy__", [](const py::object& self) { return self; })
        .def("__deepcopy__", [](const py::object& self, const py::object&) { return self; }, py::arg("memo"))
        .def("__repr__", &repr);
    present(type);
    module.def("_restore_chain", &restore);
    register_step_methods(type.ptr());
    register_element_steps(type.ptr(), module.ptr());
    py::list names;
    for (const StepMethod& method : step_methods) names.append(method.name);
    for (const PatternMethod& method : pattern_methods) names.append(method.name);
    for (const char* const name : element_step_names) names.append(name);
    module.attr("_steps") = py::tuple(names);
    register_eager_steps(module.ptr());
}

PyRef chain_of(const BuiltChain& built) {
    return PyRef::steal(py::cast(Chain{built.sources.front().desc, built.chain()}).release().ptr());
}

}  // namespace dnnmove::python
