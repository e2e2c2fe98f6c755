// Chain: the operations of several calls composed before anything runs.
#include "python/numpy_api.hpp"

#include "chains/chain.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <tuple>

#include "arguments/descr.hpp"
#include "arguments/dtype.hpp"
#include "arguments/function.hpp"
#include "arguments/parse.hpp"
#include "calls/element_type.hpp"
#include "chains/built_chain.hpp"
#include "chains/element_steps.hpp"
#include "chains/pad_step.hpp"
#include "chains/step_methods.hpp"
#include "python/errors.hpp"
#include "python/initialized.hpp"
#include "python/integers.hpp"
#include "reference/chain.hpp"
#include "tensors/memory.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

[[noreturn]] void refuse_blocked(const std::string& name, const MemoryDesc& desc) {
    throw ValueError(name + " (" + desc.repr() + ") must have a plain layout: reorder to one first");
}

Chain start_one(const py::object& data_desc, const std::string& name) {
    if (!py::isinstance<MemoryDesc>(data_desc)) {
        throw TypeError(name + " (" + type_name(data_desc.ptr()) +
                        ") must be a MemoryDesc; MemoryDesc.of(array) gives an array's");
    }
    const auto& desc = data_desc.cast<const MemoryDesc&>();
    if (desc.layout.blocked()) refuse_blocked(name, desc);
    return Chain{desc, chain::Chain(desc.layout.dims, desc.layout.strides, desc.layout.itemsize)};
}

bool is_sequence(py::handle object) { return PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()); }

Chain start_several(std::vector<MemoryDesc> descs) {
    std::vector<view::Source> sources;
    for (const MemoryDesc& desc : descs) sources.push_back({desc.layout.dims, desc.layout.strides});
    const MemoryDesc first = descs.front();
    return Chain{first, chain::Chain(std::move(sources), first.layout.itemsize),
                 std::make_shared<const std::vector<MemoryDesc>>(std::move(descs))};
}

// `start` makes a chain of one item.
template <class Start>
Chain start_several(const py::object& items, const std::string& name, const Start& start) {
    const PyRef tuple = checked(PySequence_Tuple(items.ptr()));
    const Py_ssize_t count = PyTuple_GET_SIZE(tuple.get());
    if (count == 0) throw ValueError(name + " must hold at least one source, but is empty");
    std::vector<MemoryDesc> descs;
    for (Py_ssize_t i = 0; i < count; ++i) {
        const std::string item = name + "[" + std::to_string(i) + "]";
        descs.push_back(start(py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(tuple.get(), i)), item).src);
        const auto descr = [](const MemoryDesc& desc) { return reinterpret_cast<PyArray_Descr*>(desc.dtype.ptr()); };
        if (same_descr(descr(descs.back()), descr(descs.front()))) continue;
        throw TypeError(item + " has dtype " + name_of(descs.back().dtype) + ", which must equal that of " + name + "[0], " +
                        name_of(descs.front().dtype));
    }
    return start_several(std::move(descs));
}

Chain start(const py::object& data_desc) {
    return is_sequence(data_desc) ? start_several(data_desc, "data_desc", start_one) : start_one(data_desc, "data_desc");
}

// Byte strides of an array as a chain keeps them: whole elements, also along axes that take no step.
Dims whole_strides(const Operand& array, const std::string& name) {
    const Dims shape(array.shape().begin(), array.shape().end());
    Dims strides = dense_strides(shape, array.itemsize());
    if (array.itemsize() == 0 || std::find(shape.begin(), shape.end(), 0) != shape.end()) return strides;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::int64_t stride = array.strides()[axis];
        if (stride % array.itemsize() == 0) {
            strides[axis] = stride;
        } else if (shape[axis] > 1) {
            throw ValueError(not_whole(name, axis, stride, array.itemsize()) + ": build the chain for np.ascontiguousarray(" +
                             name + ")");
        }
    }
    return strides;
}

Chain start_from_one(const py::object& array, const std::string& name) {
    Operand data;
    data.read(array.ptr(), name, Access::describe);
    if (data.blocked()) refuse_blocked(name, data.memory()->desc);
    const Dims shape(data.shape().begin(), data.shape().end());
    const Dims strides = whole_strides(data, name);
    const auto dtype = py::reinterpret_steal<py::dtype>(data.descr().release());
    return Chain{MemoryDesc{Layout::strided(shape, strides, data.itemsize()), dtype, {}},
                 chain::Chain(shape, strides, data.itemsize())};
}

Chain start_from(const py::object& array) {
    return is_sequence(array) ? start_several(array, "array", start_from_one) : start_from_one(array, "array");
}

std::string repr(const Chain& chain) {
    constexpr std::size_t kShown = 3;
    std::string source = chain.src.repr();
    if (chain.sources != nullptr) {
        const std::size_t count = chain.sources->size();
        source = "[" + source;
        for (std::size_t i = 1; i < std::min(count, kShown); ++i) source += ", " + (*chain.sources)[i].repr();
        source += count > kShown ? ", ... " + std::to_string(count) + " in all]" : "]";
    }
    return abbreviated("Chain(" + source + ")" + chain.steps.text());
}

[[noreturn]] py::object refuse_call(const Chain&, const py::args&, const py::kwargs&) {
    throw TypeError("this Chain is not built: call .build() first, then what it returns, as in f = chain.build(); y = f(x)");
}

MemoryDesc dst_desc(const Chain& chain) {
    if (chain.steps.splits()) throw py::attribute_error("dst_desc: this chain splits, see dst_descs");
    if (chain.steps.open()) throw py::attribute_error("dst_desc: no step joins the sources of this chain, see dst_descs");
    return output_desc(chain.src, chain.steps, 0);
}

MemoryDesc src_desc(const Chain& chain) {
    if (chain.sources != nullptr) throw py::attribute_error("src_desc: this chain has several sources, see src_descs");
    return chain.src;
}

py::tuple src_descs(const Chain& chain) {
    if (chain.sources == nullptr) return py::make_tuple(chain.src);
    py::tuple descs = new_tuple(chain.sources->size());
    for (std::size_t i = 0; i < chain.sources->size(); ++i) descs[i] = py::cast((*chain.sources)[i]);
    return descs;
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

py::object to_python(const chain::Value& value, const py::dtype& dtype) {
    if (const auto* element = std::get_if<chain::Element>(&value)) return element_object(*element, dtype);
    if (const auto* rows = std::get_if<std::vector<Dims>>(&value)) {
        py::tuple all = new_tuple(rows->size());
        for (std::size_t i = 0; i < rows->size(); ++i) all[i] = to_tuple((*rows)[i]);
        return all;
    }
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

py::tuple calls_of(const chain::Chain& chain, const py::dtype& dtype) {
    py::list calls;
    for (const chain::StepPtr& step : chain.steps()) {
        py::list arguments;
        py::dict keywords;
        for (const chain::Argument& argument : step->arguments()) {
            if (argument.name.empty()) {
                arguments.append(to_python(argument.value, dtype));
            } else {
                keywords[py::str(argument.name)] = to_python(argument.value, dtype);
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

py::object sources_state(const Chain& chain) {
    if (chain.sources == nullptr) return source_state(chain.src);
    py::list states;
    for (const MemoryDesc& desc : *chain.sources) states.append(source_state(desc));
    return states;
}

py::tuple reduce(const Chain& chain) {
    return py::make_tuple(py::module_::import("dnnmove._core").attr("_restore_chain"),
                          py::make_tuple(sources_state(chain), calls_of(chain.steps, chain.src.dtype)));
}

Chain start_again(const py::object& source) {
    if (py::isinstance<py::list>(source)) {
        std::vector<MemoryDesc> descs;
        for (const py::handle state : source) descs.push_back(source_from(state.cast<py::tuple>()));
        return start_several(std::move(descs));
    }
    const MemoryDesc desc = source_from(source.cast<py::tuple>());
    const Layout& layout = desc.layout;
    return Chain{desc, chain::Chain(layout.dims, layout.strides, layout.itemsize)};
}

// What a pickle holds: the source, or a list of sources, and the calls.
py::object restore(const py::object& source, const py::tuple& calls) {
    py::object chain = py::cast(start_again(source));
    for (const py::handle call : calls) {
        const auto [name, arguments, keywords] = call.cast<std::tuple<std::string, py::tuple, py::dict>>();
        chain = chain.attr(name.c_str())(*arguments, **keywords);
    }
    return chain;
}

bool same(const Chain& a, const Chain& b) {
    if ((a.sources == nullptr) != (b.sources == nullptr)) return false;
    const bool sources = a.sources == b.sources || (a.sources != nullptr && *a.sources == *b.sources);
    return a.src == b.src && sources && a.steps.text() == b.steps.text();
}

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
    py::class_<Chain> type(module, "Chain", reference::chain::kChain);
    type.def(py::init(&start), py::arg("data_desc"), "__init__(self, data_desc)\n--\n\n")
        .def_static("of", &start_from, py::arg("array"), reference::chain::kChainOf);
    type.def(
            "build",
            [](const Chain& self, py::handle max_nests, py::handle tune) {
                const std::int64_t limit = parse_integer(max_nests.ptr(), "max_nests");
                if (limit < 1 || limit > static_cast<std::int64_t>(view::kMaxPieces)) {
                    throw ValueError("max_nests (" + std::to_string(limit) + ") must lie in [1, " +
                                     std::to_string(view::kMaxPieces) + "]");
                }
                auto sources = self.sources != nullptr ? *self.sources : std::vector<MemoryDesc>{self.src};
                auto built = std::make_shared<const BuiltChain>(self.steps, std::move(sources), static_cast<std::size_t>(limit),
                                                                parse_flag(tune.ptr(), "tune"));
                return py::reinterpret_steal<py::object>(wrap(std::move(built)).release());
            },
            py::kw_only(), py::arg("max_nests") = chain::kMaxNests, py::arg("tune") = false, reference::chain::kChainBuild)
        .def_property_readonly("src_desc", &src_desc, "MemoryDesc of the input of a chain of one.")
        .def_property_readonly("src_descs", &src_descs, "MemoryDescs of all inputs.")
        .def_property_readonly("dst_desc", &dst_desc, "MemoryDesc of what the steps so far give, where they do not split.")
        .def_property_readonly("dst_descs", &dst_descs, "MemoryDescs of what the steps so far give, branch by branch.")
        .def("__eq__",
             [](const Chain& self, const py::object& other) -> py::object {
                 if (!py::isinstance<Chain>(other)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
                 return py::bool_(same(self, other.cast<const Chain&>()));
             })
        .def("__hash__", [](const Chain& self) { return py::hash(py::make_tuple(src_descs(self), self.steps.text())); })
        .def(
            "draw",
            [](const py::object& self, const py::object& path) {
                return py::module_::import("dnnmove._seen").attr("draw")(self.attr("build")(), path);
            },
            py::arg("path") = py::none(), reference::chain::kChainDraw)
        .def("_repr_html_",
             [](const py::object& self) {
                 return py::module_::import("dnnmove._seen").attr("chain_html")(self.attr("build")(), self);
             })
        .def("__call__", &refuse_call, "__call__(self, *args, **kwargs)\n--\n\nTypeError: a chain is called when it is built.")
        .def("__reduce__", &reduce)
        .def("__copy__", [](const py::object& self) { return self; })
        .def(
            "__deepcopy__", [](const py::object& self, const py::object&) { return self; }, py::arg("memo"))
        .def("__repr__", &repr);
    present(type);
    module.def("_restore_chain", &restore);
    register_step_methods(type.ptr());
    register_element_steps(type.ptr(), module.ptr());
    register_pad(type.ptr(), module.ptr());
    py::list names;
    for (const StepMethod& method : step_methods) names.append(method.name);
    for (const PatternMethod& method : pattern_methods) names.append(method.name);
    for (const char* const name : element_step_names) names.append(name);
    names.append("pad");
    module.attr("_steps") = py::tuple(names);
    register_eager_steps(module.ptr());
}

PyRef chain_of(const BuiltChain& built) {
    Chain chain{built.sources.front().desc, built.chain()};
    if (built.chain().joins()) {
        std::vector<MemoryDesc> descs;
        for (const Port& port : built.sources) descs.push_back(port.desc);
        chain.sources = std::make_shared<const std::vector<MemoryDesc>>(std::move(descs));
    }
    return PyRef::steal(py::cast(std::move(chain)).release().ptr());
}

}  // namespace dnnmove::python
