// ShuffleChannels, Transpose, VariadicSplit and Broadcast as primitives: Desc -> primitive.
#include "python/numpy_api.hpp"

#include "primitives/openvino_ops.hpp"

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "arguments/function.hpp"
#include "arguments/parse.hpp"
#include "call/operation.hpp"
#include "ops/ops.hpp"
#include "primitives/plan_executable.hpp"
#include "primitives/primitive.hpp"
#include "python/compared.hpp"
#include "python/errors.hpp"
#include "python/html.hpp"
#include "python/initialized.hpp"
#include "python/integers.hpp"
#include "python/made_again.hpp"
#include "reference/openvino.hpp"
#include "tensors/memory_desc.hpp"

namespace py = pybind11;

namespace dnnmove {
namespace {

using python::MemoryDesc;
using python::Port;

// The problem, validated; one C++ type per operation, so that each has its own Python class.
template <Op kOp>
struct Desc {
    using InitializedOnly = void;
    MemoryDesc src;
    std::vector<MemoryDesc> dsts;
    Dims parameters;        // as plan_operation takes them
    std::string arguments;  // for repr: ", axis=1, group=2"
    py::tuple given;        // what it is made from again: the descriptor and the positional arguments
    bool tune = false;
    std::shared_ptr<const CallPlan> plan;
};

constexpr const char* kind_of(Op op) {
    switch (op) {
        case Op::shuffle_channels: return "shuffle_channels";
        case Op::transpose: return "transpose";
        case Op::variadic_split: return "variadic_split";
        default: return "broadcast";
    }
}

constexpr const char* name_of(Op op) {
    switch (op) {
        case Op::shuffle_channels: return "ShuffleChannels";
        case Op::transpose: return "Transpose";
        case Op::variadic_split: return "VariadicSplit";
        default: return "Broadcast";
    }
}

template <Op kOp>
Desc<kOp> make_desc(const py::object& data, Dims parameters, std::string arguments, py::tuple given, const py::object& tune) {
    const bool tunes = parse_flag(tune.ptr(), "tune");
    if (tunes) arguments += ", tune=True";
    Desc<kOp> desc{python::to_memory_desc(data, "data_desc"),
                   {},
                   std::move(parameters),
                   std::move(arguments),
                   std::move(given),
                   tunes,
                   nullptr};
    const Layout& layout = desc.src.layout;
    if (layout.blocked()) {
        throw ValueError("data_desc (" + desc.src.repr() + ") has a blocked layout: reorder to a plain one first");
    }
    desc.plan = plan_operation(kOp, desc.parameters, {layout.dims, layout.strides}, layout.itemsize, nullptr, "data_desc.dims",
                               tunes);
    for (const Placement& out : desc.plan->outputs()) {
        desc.dsts.push_back({Layout::strided(out.shape, out.strides, layout.itemsize), desc.src.dtype, {}});
    }
    return desc;
}

// The parameters as one problem has them, however they were given: axes are non-negative, an order or a length that was left out
// is there. Mode and mapping of a broadcast are part of its problem.

template <Op kOp>
std::int64_t axis_of(const Desc<kOp>& desc) {
    const std::int64_t axis = desc.parameters[0];
    return axis < 0 ? axis + static_cast<std::int64_t>(desc.src.layout.ndim()) : axis;
}

Dims order_of(const Desc<Op::transpose>& desc) {
    const auto rank = static_cast<std::int64_t>(desc.src.layout.ndim());
    Dims order = desc.parameters;
    for (std::int64_t& axis : order) axis = axis < 0 ? axis + rank : axis;
    for (std::int64_t axis = rank; desc.parameters.empty() && axis-- > 0;) order.push_back(axis);
    return order;
}

Dims lengths_of(const Desc<Op::variadic_split>& desc) {
    Dims lengths;
    for (const MemoryDesc& part : desc.dsts) lengths.push_back(part.layout.dims[static_cast<std::size_t>(axis_of(desc))]);
    return lengths;
}

// What two descriptors of one problem have in common, and no others.
template <Op kOp>
py::tuple key_of(const Desc<kOp>& desc) {
    Dims parameters;
    if constexpr (kOp == Op::shuffle_channels) {
        parameters = {axis_of(desc), desc.parameters[1]};
    } else if constexpr (kOp == Op::transpose) {
        parameters = order_of(desc);
    } else if constexpr (kOp == Op::variadic_split) {
        parameters = lengths_of(desc);
        parameters.push_back(axis_of(desc));
    } else {
        parameters = desc.parameters;
    }
    return py::make_tuple(desc.src, python::to_tuple(parameters), desc.tune);
}

template <Op kOp>
BuiltPrimitive build(py::handle object) {
    if (!py::isinstance<Desc<kOp>>(object)) {
        throw TypeError("desc (" + short_repr(object.ptr()) + ") must be a " + name_of(kOp) + ".Desc");
    }
    const auto& desc = object.cast<const Desc<kOp>&>();
    auto executable = std::make_shared<PlanExecutable>(desc.plan);
    executable->sources.push_back(Port{onednn::kArgSrc, "src", desc.src});
    for (std::size_t i = 0; i < desc.dsts.size(); ++i) {
        const int number = static_cast<int>(i);
        executable->destinations.push_back(
            kOp == Op::variadic_split ? Port{onednn::kArgMultipleDst + number, "dst[" + std::to_string(i) + "]", desc.dsts[i]}
                                      : Port{onednn::kArgDst, "dst", desc.dsts[i]});
    }
    return {std::move(executable), py::reinterpret_borrow<py::object>(object), desc.src.repr() + desc.arguments};
}

// The type, its Desc as an attribute, and what every Desc has.
template <Op kOp>
py::class_<Desc<kOp>> define(py::module_& module, const char* doc, const char* desc_doc) {
    const py::object primitive = make_primitive_type(module, {name_of(kOp), kind_of(kOp), "desc", doc, build<kOp>});
    py::class_<Desc<kOp>> desc(primitive, "Desc", desc_doc);
    desc.def_property_readonly("src_desc", [](const Desc<kOp>& self) { return self.src; }, "MemoryDesc of the input.");
    if constexpr (kOp == Op::variadic_split) {
        desc.def_property_readonly(
            "dst_descs",
            [](const Desc<kOp>& self) {
                py::tuple descs = python::new_tuple(self.dsts.size());
                for (std::size_t i = 0; i < self.dsts.size(); ++i) descs[i] = self.dsts[i];
                return descs;
            },
            "Tuple of the outputs' MemoryDescs.");
    } else {
        desc.def_property_readonly("dst_desc", [](const Desc<kOp>& self) { return self.dsts[0]; }, "MemoryDesc of the output.");
    }
    python::compare_by(desc, key_of<kOp>);
    desc.def("_repr_html_", &python::html_of);
    desc.def("__repr__", [](const Desc<kOp>& self) {
        return abbreviated(std::string(name_of(kOp)) + ".Desc(" + self.src.repr() + self.arguments + ")");
    });
    desc.def("__reduce__", [](const py::object& self) {
        const auto& value = self.cast<const Desc<kOp>&>();
        return python::made_again(py::type::of(self), value.given, value.tune);
    });
    return desc;
}

}  // namespace

void register_openvino_ops(py::module_& module) {
    auto channels = define<Op::shuffle_channels>(module, reference::openvino::kShuffleChannels,
                                                 reference::openvino::kShuffleChannelsDesc);
    channels
        .def(py::init([](const py::object& data, const py::object& axis, const py::object& group, const py::object& tune) {
                 const std::int64_t at = parse_integer(axis.ptr(), "axis");
                 const std::int64_t groups = parse_integer(group.ptr(), "group");
                 return make_desc<Op::shuffle_channels>(data, {at, groups},
                                                        ", axis=" + std::to_string(at) + ", group=" + std::to_string(groups),
                                                        py::make_tuple(data, at, groups), tune);
             }),
             py::arg("data_desc"), py::arg("axis") = 1, py::arg("group") = 1, py::kw_only(), py::arg("tune") = false,
             "__init__(self, data_desc, axis=1, group=1, *, tune=False)\n--\n\n")
        .def_property_readonly("axis", &axis_of<Op::shuffle_channels>, "The channel axis, non-negative.")
        .def_property_readonly(
            "group", [](const Desc<Op::shuffle_channels>& self) { return self.parameters[1]; },
            "The number of groups (not the size of one).");

    auto transpose = define<Op::transpose>(module, reference::openvino::kTranspose, reference::openvino::kTransposeDesc);
    transpose
        .def(py::init([](const py::object& data, const py::object& order, const py::object& tune) {
                 Dims axes = parse_integers(order.ptr(), "input_order");
                 std::string arguments = ", input_order=" + to_string(axes);
                 const py::tuple given = python::pack(data, python::to_tuple(axes));
                 return make_desc<Op::transpose>(data, std::move(axes), std::move(arguments), given, tune);
             }),
             py::arg("data_desc"), py::arg("input_order") = py::tuple(), py::kw_only(), py::arg("tune") = false,
             "__init__(self, data_desc, input_order=(), *, tune=False)\n--\n\n")
        .def_property_readonly(
            "input_order", [](const Desc<Op::transpose>& self) { return python::to_tuple(order_of(self)); },
            "Tuple of all axes, non-negative: output axis k is input axis input_order[k].");

    auto split = define<Op::variadic_split>(module, reference::openvino::kVariadicSplit,
                                            reference::openvino::kVariadicSplitDesc);
    split
        .def(py::init([](const py::object& data, const py::object& axis, const py::object& split_lengths,
                         const py::object& tune) {
                 Dims parameters{parse_axis(axis.ptr(), "axis")};
                 const Dims lengths = parse_integers(split_lengths.ptr(), "split_lengths");
                 parameters.insert(parameters.end(), lengths.begin(), lengths.end());
                 std::string arguments = ", axis=" + std::to_string(parameters[0]) + ", split_lengths=" + to_string(lengths);
                 const py::tuple given = py::make_tuple(data, parameters[0], python::to_tuple(lengths));
                 return make_desc<Op::variadic_split>(data, std::move(parameters), std::move(arguments), given, tune);
             }),
             py::arg("data_desc"), py::arg("axis"), py::arg("split_lengths"), py::kw_only(), py::arg("tune") = false,
             "__init__(self, data_desc, axis, split_lengths, *, tune=False)\n--\n\n")
        .def_property_readonly("axis", &axis_of<Op::variadic_split>, "The axis that is split, non-negative.")
        .def_property_readonly(
            "split_lengths", [](const Desc<Op::variadic_split>& self) { return python::to_tuple(lengths_of(self)); },
            "Tuple of the parts' lengths, in elements.");

    auto broadcast = define<Op::broadcast>(module, reference::openvino::kBroadcast, reference::openvino::kBroadcastDesc);
    broadcast
        .def(py::init([](const py::object& data, const py::object& target, const py::object& mapping, const py::object& mode,
                         const py::object& tune) {
                 const ops::BroadcastMode kind = ops::parse_broadcast_mode(parse_text(mode.ptr(), "mode"));
                 const Dims shape = parse_integers(target.ptr(), "target_shape");
                 Dims parameters{static_cast<std::int64_t>(kind), mapping.is_none() ? 0 : 1,
                                 static_cast<std::int64_t>(shape.size())};
                 parameters.insert(parameters.end(), shape.begin(), shape.end());
                 std::string arguments = ", target_shape=" + to_string(shape);
                 py::object axes_mapping = py::none();
                 if (!mapping.is_none()) {
                     const Dims axes = parse_integers(mapping.ptr(), "axes_mapping");
                     parameters.insert(parameters.end(), axes.begin(), axes.end());
                     arguments += ", axes_mapping=" + to_string(axes);
                     axes_mapping = python::to_tuple(axes);
                 }
                 arguments += ", mode=" + short_repr(mode.ptr());
                 const py::tuple given = python::pack(data, python::to_tuple(shape), axes_mapping, mode);
                 return make_desc<Op::broadcast>(data, std::move(parameters), std::move(arguments), given, tune);
             }),
             py::arg("data_desc"), py::arg("target_shape"), py::arg("axes_mapping") = py::none(), py::arg("mode") = "numpy",
             py::kw_only(), py::arg("tune") = false,
             "__init__(self, data_desc, target_shape, axes_mapping=None, mode='numpy', *, tune=False)\n--\n\n")
        .def_property_readonly(
            "target_shape", [](const Desc<Op::broadcast>& self) { return self.given[1]; },
            "Tuple of the lengths that were asked for; the result's are those of `dst_desc`.")
        .def_property_readonly(
            "axes_mapping", [](const Desc<Op::broadcast>& self) { return self.given[2]; },
            "None, or a tuple of the result's axis for each axis of the input.")
        .def_property_readonly(
            "mode", [](const Desc<Op::broadcast>& self) { return ops::name_of(ops::BroadcastMode(self.parameters[0])); },
            "How the lengths are matched: \"numpy\", \"explicit\" or \"bidirectional\".");

    for (const py::handle type : {py::handle(channels), py::handle(transpose), py::handle(split), py::handle(broadcast)}) {
        present(type);
    }
}

}  // namespace dnnmove
