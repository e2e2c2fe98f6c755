// ShuffleForward and ShuffleBackward as Python sees them: Desc, PrimitiveDesc and the primitive.
#include "objects.hpp"
#include "parse.hpp"
#include "primitive.hpp"
#include "runtime/error.hpp"
#include "shuffle.hpp"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace dnnmove::python {
namespace {

// Two sets of Python types over the same C++ ones: tagged by direction.
template <bool kBackward>
struct Desc {
    ShuffleDesc value;
};

template <bool kBackward>
struct PrimitiveDesc {
    ShufflePd value;
};

template <bool kBackward>
Desc<kBackward> make_desc(onednn::PropKind prop, const MemoryDesc& data, const py::object& axis, const py::object& group,
                          const py::object& tune) {
    ShuffleDesc desc = ShuffleDesc::make(prop, data, parse_integer(axis.ptr(), "axis"), parse_integer(group.ptr(), "group_size"));
    desc.tune = parse_flag(tune.ptr(), "tune");
    return {std::move(desc)};
}

onednn::PropKind to_forward_kind(const py::object& value) {
    if (!py::isinstance<onednn::PropKind>(value)) {
        throw py::type_error("prop_kind (" + py::repr(value).cast<std::string>() + ") must be a PropKind");
    }
    const auto kind = value.cast<onednn::PropKind>();
    if (kind == onednn::PropKind::backward_data) {
        throw ValueError("prop_kind (backward_data) must be forward_training or forward_inference");
    }
    return kind;
}

const MemoryDesc& to_desc(const py::object& value, const char* name) {
    if (!py::isinstance<MemoryDesc>(value)) {
        throw py::type_error(std::string(name) + " (" + py::repr(value).cast<std::string>() + ") must be a MemoryDesc");
    }
    return value.cast<const MemoryDesc&>();
}

void check_hint(const ShuffleDesc& desc, const py::object& hint) {
    if (hint.is_none()) return;
    if (!py::isinstance<PrimitiveDesc<false>>(hint)) {
        throw py::type_error("hint_fwd_pd (" + py::repr(hint).cast<std::string>() + ") must be a ShuffleForward.PrimitiveDesc");
    }
    const ShuffleDesc& forward = hint.cast<const PrimitiveDesc<false>&>().value.desc();
    const auto check = [](const char* what, const std::string& theirs, const std::string& ours) {
        if (theirs != ours) throw ValueError("hint_fwd_pd." + std::string(what) + " (" + theirs + ") must be the backward desc's (" + ours + ")");
    };
    check("axis", std::to_string(forward.axis), std::to_string(desc.axis));
    check("group_size", std::to_string(forward.group_size), std::to_string(desc.group_size));
    check("src_desc.dims", to_string(forward.data.layout.dims), to_string(desc.data.layout.dims));
}

template <bool kBackward, typename Class>
void define_common(Class& type) {
    using Object = typename Class::type;
    const auto desc_of = [](const Object& object) -> const ShuffleDesc& {
        if constexpr (std::is_same_v<Object, PrimitiveDesc<kBackward>>) {
            return object.value.desc();
        } else {
            return object.value;
        }
    };
    type.def_property_readonly("prop_kind", [desc_of](const Object& object) { return desc_of(object).prop; }, "The PropKind.")
        .def_property_readonly("axis", [desc_of](const Object& object) { return desc_of(object).axis; },
                               "The shuffled axis, non-negative.")
        .def_property_readonly("group_size", [desc_of](const Object& object) { return desc_of(object).group_size; },
                               "The size of one group (not the number of groups).")
        .def_property_readonly(kBackward ? "diff_dst_desc" : "src_desc",
                               [desc_of](const Object& object) { return desc_of(object).data; }, "MemoryDesc of the input.")
        .def_property_readonly(kBackward ? "diff_src_desc" : "dst_desc",
                               [desc_of](const Object& object) { return desc_of(object).data; },
                               "MemoryDesc of the output: the input's.");
}

template <bool kBackward>
std::string repr_of(const char* kind, const ShuffleDesc& desc, const std::string& more) {
    return std::string("<Shuffle") + (kBackward ? "Backward" : "Forward") + kind + " of " + desc.data.repr() +
           ", axis=" + std::to_string(desc.axis) + ", group_size=" + std::to_string(desc.group_size) + (desc.tune ? ", tune=True" : "") + more + ">";
}

constexpr const char* kForwardDoc = R"(ShuffleForward(pd)
--

Channel shuffle, forward (oneDNN: ``shuffle_forward``).

With C the length of the axis and G = `group_size`: ``dst[u + v*C/G] = src[u*G + v]``, u in [0, C/G), v in
[0, G). `group_size` is the size of one group; ``shuffle_channels`` counts groups instead.

Parameters
----------
pd : ShuffleForward.PrimitiveDesc or ShuffleForward.Desc
    The problem; from a Desc the PrimitiveDesc is made with its defaults.

Notes
-----
One primitive may be executed from many threads at once; the GIL is released while it runs.
Source: MKL-DNN 1.0.4 / oneDNN developer guide, "Shuffle".

Examples
--------
>>> import numpy as np, dnnmove as dm
>>> x = np.arange(6, dtype="f4").reshape(1, 6)
>>> desc = dm.ShuffleForward.Desc(dm.PropKind.forward_inference, dm.MemoryDesc.of(x), axis=1, group_size=3)
>>> fwd = dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(desc))
>>> fwd(x).astype(int).tolist()
[[0, 3, 1, 4, 2, 5]]
)";

constexpr const char* kBackwardDoc = R"(ShuffleBackward(pd)
--

Channel shuffle, backward (oneDNN: ``shuffle_backward``): the inverse permutation.

Parameters
----------
pd : ShuffleBackward.PrimitiveDesc or ShuffleBackward.Desc
    The problem; from a Desc the PrimitiveDesc is made with its defaults.

Notes
-----
One primitive may be executed from many threads at once; the GIL is released while it runs.
Source: MKL-DNN 1.0.4 / oneDNN developer guide, "Shuffle".

Examples
--------
>>> import numpy as np, dnnmove as dm
>>> dy = np.arange(6, dtype="f4").reshape(1, 6)
>>> bwd = dm.ShuffleBackward(dm.ShuffleBackward.Desc(dm.MemoryDesc.of(dy), axis=1, group_size=3))
>>> bwd(dy).astype(int).tolist()
[[0, 2, 4, 1, 3, 5]]
)";

constexpr const char* kDescDoc = R"(The problem, validated; no data is touched.

Parameters
----------
prop_kind : PropKind
    forward_training or forward_inference (ShuffleForward only).
data_desc (ShuffleBackward: diff_data_desc) : MemoryDesc
    Dims, data type and layout of input and output; at most 12 dimensions.
axis : int
    In [-ndim, ndim).
group_size : int
    The size of one group, in [1, C], dividing C = dims[axis].
tune : bool, default False
    Whether the first call measures variants of the native plan and keeps the fastest (see `dnnmove.tuning`).

Raises
------
numpy.exceptions.AxisError
    The axis lies outside.
ValueError
    `group_size` does not divide C, C is 0, or strides let elements share bytes.
)";

constexpr const char* kPdDoc = R"(A problem and the implementations that can run it.

Parameters
----------
desc : Desc
    The problem.
engine : Engine, optional
    The CPU engine by default.
hint_fwd_pd : ShuffleForward.PrimitiveDesc, optional
    ShuffleBackward only: must agree in dims, axis and group_size.
implementation : str
    "auto" takes the first of `implementations`; "native", "onednn" or one of that list forces it. The
    environment variable DNNMOVE_IMPLEMENTATION replaces "auto".

Raises
------
UnimplementedError
    "onednn" is forced and oneDNN has no implementation, or one that is known to be wrong.
ValueError
    The implementation is unknown, or the hint disagrees.
)";

template <bool kBackward>
std::shared_ptr<const Executable> build(py::handle problem) {
    if (py::isinstance<PrimitiveDesc<kBackward>>(problem)) {
        return problem.cast<const PrimitiveDesc<kBackward>&>().value.build();
    }
    if (py::isinstance<Desc<kBackward>>(problem)) {
        return ShufflePd(problem.cast<const Desc<kBackward>&>().value, nullptr, "auto").build();
    }
    throw py::type_error("pd (" + py::repr(problem).cast<std::string>() + ") must be a PrimitiveDesc or a Desc");
}

template <bool kBackward>
void define(py::module_& module) {
    using DescT = Desc<kBackward>;
    using PdT = PrimitiveDesc<kBackward>;
    const py::object primitive = make_primitive_type(module, kBackward ? "ShuffleBackward" : "ShuffleForward",
                                                     kBackward ? kBackwardDoc : kForwardDoc, build<kBackward>);

    py::class_<DescT> desc(primitive, "Desc", kDescDoc);
    if constexpr (kBackward) {
        desc.def(py::init([](const py::object& data, const py::object& axis, const py::object& group, const py::object& tune) {
                     return make_desc<true>(onednn::PropKind::backward_data, to_desc(data, "diff_data_desc"), axis, group, tune);
                 }),
                 py::arg("diff_data_desc"), py::arg("axis"), py::arg("group_size"), py::kw_only(), py::arg("tune") = false,
                 "__init__(self, diff_data_desc, axis, group_size, *, tune=False)\n--\n\n");
    } else {
        desc.def(py::init([](const py::object& prop, const py::object& data, const py::object& axis, const py::object& group,
                             const py::object& tune) {
                     return make_desc<false>(to_forward_kind(prop), to_desc(data, "data_desc"), axis, group, tune);
                 }),
                 py::arg("prop_kind"), py::arg("data_desc"), py::arg("axis"), py::arg("group_size"), py::kw_only(),
                 py::arg("tune") = false, "__init__(self, prop_kind, data_desc, axis, group_size, *, tune=False)\n--\n\n");
    }
    define_common<kBackward>(desc);
    desc.def("__repr__", [](const DescT& self) { return repr_of<kBackward>(".Desc", self.value, ""); });

    py::class_<PdT> pd(primitive, "PrimitiveDesc", kPdDoc);
    if constexpr (kBackward) {
        pd.def(py::init([](const py::object& desc_object, const py::object& engine, const py::object& hint,
                           const py::object& implementation) {
                   const auto& problem = to_object<DescT>(desc_object, "desc", "ShuffleBackward.Desc");
                   check_hint(problem.value, hint);
                   return PdT{ShufflePd(problem.value, to_engine(engine), std::string(parse_text(implementation.ptr(), "implementation")))};
               }),
               py::arg("desc"), py::arg("engine") = py::none(), py::arg("hint_fwd_pd") = py::none(),
               py::arg("implementation") = "auto",
               "__init__(self, desc, engine=None, hint_fwd_pd=None, implementation='auto')\n--\n\n");
    } else {
        pd.def(py::init([](const py::object& desc_object, const py::object& engine, const py::object& implementation) {
                   const auto& problem = to_object<DescT>(desc_object, "desc", "ShuffleForward.Desc");
                   return PdT{ShufflePd(problem.value, to_engine(engine), std::string(parse_text(implementation.ptr(), "implementation")))};
               }),
               py::arg("desc"), py::arg("engine") = py::none(), py::arg("implementation") = "auto",
               "__init__(self, desc, engine=None, implementation='auto')\n--\n\n");
    }
    define_common<kBackward>(pd);
    pd.def_property_readonly("scratchpad_desc",
                             [](const PdT& self) {
                                 return MemoryDesc::dense({self.value.scratchpad_bytes()}, py::dtype::of<std::uint8_t>());
                             },
                             "MemoryDesc of oneDNN's scratch memory; every execution brings its own.")
        .def_property_readonly("engine", [](const PdT& self) { return self.value.engine(); }, "The Engine.")
        .def_property_readonly("implementations", [](const PdT& self) { return self.value.implementations(); },
                               "What can run the problem, best first: \"native:<isa>\", \"onednn:<impl_info_str>\".")
        .def_property_readonly("impl_info_str", [](const PdT& self) { return self.value.info(); },
                               "The current implementation.")
        .def("next_impl", [](PdT& self) { return self.value.next(); }, R"(next_impl(self)
--

Move to the next implementation.

Returns
-------
bool
    False past the last, where nothing changes.
)")
        .def("__repr__", [](const PdT& self) {
            return repr_of<kBackward>(".PrimitiveDesc", self.value.desc(), ", " + self.value.info());
        });
}

}  // namespace

void register_shuffle(py::module_& module) {
    define<false>(module);
    define<true>(module);
}

}  // namespace dnnmove::python
