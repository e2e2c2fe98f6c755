// ShuffleForward and ShuffleBackward as Python sees them: Desc, PrimitiveDesc and the primitive.
#include "arguments/function.hpp"
#include "arguments/parse.hpp"
#include "primitives/primitive.hpp"
#include "primitives/prop_kind.hpp"
#include "primitives/shuffle.hpp"
#include "python/compared.hpp"
#include "python/html.hpp"
#include "python/initialized.hpp"
#include "python/made_again.hpp"
#include "python/objects.hpp"
#include "reference/shuffle.hpp"
#include "runtime/error.hpp"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace dnnmove::python {
namespace {

// Two sets of Python types over the same C++ ones: tagged by direction.
template <bool kBackward>
struct Desc {
    using InitializedOnly = void;
    ShuffleDesc value;
};

template <bool kBackward>
struct PrimitiveDesc {
    using InitializedOnly = void;
    ShufflePd value;
};

template <bool kBackward>
Desc<kBackward> make_desc(onednn::PropKind prop, const py::object& data, const py::object& axis, const py::object& group,
                          const py::object& tune, const char* name) {
    ShuffleDesc desc = ShuffleDesc::make(prop, to_memory_desc(data, name), parse_integer(axis.ptr(), "axis"),
                                         parse_integer(group.ptr(), "group_size"), name);
    desc.tune = parse_flag(tune.ptr(), "tune");
    return {std::move(desc)};
}

onednn::PropKind to_forward_kind(const py::object& value) {
    const onednn::PropKind kind = to_prop_kind(value);
    if (kind == onednn::PropKind::backward_data) {
        throw ValueError("prop_kind (backward_data) must be forward_training or forward_inference");
    }
    return kind;
}

// oneDNN 3.x names source and destination; a shuffle's are one.
void check_same(const py::object& source, const char* source_name, const py::object& destination, const char* name) {
    const MemoryDesc& from = to_memory_desc(source, source_name);
    const MemoryDesc& to = to_memory_desc(destination, name);
    if (!(from == to)) {
        throw ValueError(std::string(name) + " (" + to.repr() + ") must equal " + source_name + " (" + from.repr() +
                         "): a shuffle changes neither layout nor data type");
    }
}

void check_hint(const ShuffleDesc& desc, const py::object& hint) {
    if (hint.is_none()) return;
    if (!py::isinstance<PrimitiveDesc<false>>(hint)) {
        throw TypeError("hint_fwd_pd (" + short_repr(hint.ptr()) + ") must be a ShuffleForward.PrimitiveDesc or None");
    }
    const ShuffleDesc& forward = hint.cast<const PrimitiveDesc<false>&>().value.desc();
    const auto check = [](const char* what, const std::string& theirs, const std::string& ours) {
        if (theirs != ours)
            throw ValueError("hint_fwd_pd." + std::string(what) + " (" + theirs + ") must be the backward desc's (" + ours +
                             ")");
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
    type.def_property_readonly(
            "prop_kind", [desc_of](const Object& object) { return to_python(desc_of(object).prop); }, "The PropKind.")
        .def_property_readonly(
            "axis", [desc_of](const Object& object) { return desc_of(object).axis; }, "The shuffled axis, non-negative.")
        .def_property_readonly(
            "group_size", [desc_of](const Object& object) { return desc_of(object).group_size; },
            "The size of one group (not the number of groups).")
        .def_property_readonly(
            kBackward ? "diff_dst_desc" : "src_desc", [desc_of](const Object& object) { return desc_of(object).data; },
            "MemoryDesc of the input.")
        .def_property_readonly(
            kBackward ? "diff_src_desc" : "dst_desc", [desc_of](const Object& object) { return desc_of(object).data; },
            "MemoryDesc of the output: the input's.");
}

std::string name_of(bool backward) { return backward ? "ShuffleBackward" : "ShuffleForward"; }

// "MemoryDesc((2, 4), 'float32'), axis=1, group_size=2"
std::string problem_of(const ShuffleDesc& desc) {
    return desc.data.repr() + ", axis=" + std::to_string(desc.axis) + ", group_size=" + std::to_string(desc.group_size) +
           (desc.tune ? ", tune=True" : "");
}

template <bool kBackward>
BuiltPrimitive build(py::handle problem) {
    const auto made = [](PrimitiveDesc<kBackward> pd) {
        auto executable = pd.value.build();
        std::string text = problem_of(pd.value.desc());
        return BuiltPrimitive{std::move(executable), py::cast(std::move(pd)), std::move(text)};
    };
    if (py::isinstance<PrimitiveDesc<kBackward>>(problem)) return made(problem.cast<const PrimitiveDesc<kBackward>&>());
    if (py::isinstance<Desc<kBackward>>(problem)) {
        return made({ShufflePd(problem.cast<const Desc<kBackward>&>().value, nullptr, "auto")});
    }
    const std::string name = name_of(kBackward);
    throw TypeError("pd (" + short_repr(problem.ptr()) + ") must be a " + name + ".PrimitiveDesc or a " + name + ".Desc");
}

// An engine comes first in oneDNN 3.x' spelling only.
void refuse_engine(const py::object& desc, const char* others) {
    if (!py::isinstance<onednn::Engine>(desc)) return;
    throw TypeError("desc (" + short_repr(desc.ptr()) + ") is an Engine: after it come " + others + ", or give a Desc first");
}

template <bool kBackward>
PrimitiveDesc<kBackward> make_pd(ShuffleDesc problem, const py::object& engine, const py::object& implementation) {
    return {ShufflePd(std::move(problem), to_engine(engine), std::string(parse_text(implementation.ptr(), "implementation")))};
}

// A copy goes on from the implementation at which the original was, where it has that too.
template <bool kBackward>
bool move_to(py::handle pd, const std::string& current) {
    if (!py::isinstance<PrimitiveDesc<kBackward>>(pd)) return false;
    ShufflePd& value = pd.cast<PrimitiveDesc<kBackward>&>().value;
    ShufflePd moved = value;
    while (moved.info() != current) {
        if (!moved.next()) return true;
    }
    value = std::move(moved);
    return true;
}

py::object make_at(const py::object& type, const py::object& arguments, const std::string& current) {
    py::object pd = type(*arguments);
    if (!move_to<false>(pd, current)) move_to<true>(pd, current);
    return pd;
}

// What __reduce__ returns.
py::tuple made_at(py::handle type, const py::tuple& arguments, const std::string& current) {
    return py::make_tuple(py::module_::import("dnnmove._core").attr("_make_at"), py::make_tuple(type, arguments, current));
}

// Desc and the two spellings of PrimitiveDesc: oneDNN 1.x' from a Desc, and oneDNN 3.x' from the arguments.
void define_forward(py::class_<Desc<false>>& desc, py::class_<PrimitiveDesc<false>>& pd) {
    using Object = const py::object&;
    desc.def(py::init([](Object prop, Object data, Object axis, Object group, Object tune) {
                 return make_desc<false>(to_forward_kind(prop), data, axis, group, tune, "data_desc");
             }),
             py::arg("prop_kind"), py::arg("data_desc"), py::arg("axis"), py::arg("group_size"), py::kw_only(),
             py::arg("tune") = false, "__init__(self, prop_kind, data_desc, axis, group_size, *, tune=False)\n--\n\n");
    desc.def("_repr_html_", &html_of);
    desc.def("__repr__", [](const py::object& self) {
        const ShuffleDesc& problem = self.cast<const Desc<false>&>().value;
        return abbreviated("ShuffleForward.Desc(PropKind." + to_python(problem.prop).attr("name").cast<std::string>() + ", " +
                           problem_of(problem) + ")");
    });
    desc.def("__reduce__", [](const py::object& self) {
        const ShuffleDesc& problem = self.cast<const Desc<false>&>().value;
        return made_again(py::type::of(self),
                          py::make_tuple(to_python(problem.prop), problem.data, problem.axis, problem.group_size),
                          problem.tune);
    });
    pd.def(py::init([](Object problem, Object engine, Object implementation) {
               refuse_engine(problem, "prop_kind, src_desc, dst_desc, axis and group_size");
               return make_pd<false>(to_object<Desc<false>>(problem, "desc", "ShuffleForward.Desc").value, engine,
                                     implementation);
           }),
           py::arg("desc"), py::arg("engine") = py::none(), py::arg("implementation") = "auto",
           "__init__(self, desc, engine=None, implementation='auto')\n--\n\n");
    pd.def(py::init([](Object engine, Object prop, Object src, Object dst, Object axis, Object group, Object implementation,
                       Object tune) {
               to_object<onednn::Engine>(engine, "engine", "Engine");
               const onednn::PropKind kind = to_forward_kind(prop);
               check_same(src, "src_desc", dst, "dst_desc");
               return make_pd<false>(make_desc<false>(kind, src, axis, group, tune, "src_desc").value, engine, implementation);
           }),
           py::arg("engine"), py::arg("prop_kind"), py::arg("src_desc"), py::arg("dst_desc"), py::arg("axis"),
           py::arg("group_size"), py::kw_only(), py::arg("implementation") = "auto", py::arg("tune") = false,
           "__init__(self, engine, prop_kind, src_desc, dst_desc, axis, group_size, *, implementation='auto', tune=False)\n"
           "--\n\n");
    pd.def("__reduce__", [](const py::object& self) {
        const ShufflePd& value = self.cast<const PrimitiveDesc<false>&>().value;
        return made_at(py::type::of(self), py::make_tuple(Desc<false>{value.desc()}, value.engine(), value.choice()),
                       value.info());
    });
}

void define_backward(py::class_<Desc<true>>& desc, py::class_<PrimitiveDesc<true>>& pd) {
    using Object = const py::object&;
    desc.def(py::init([](Object data, Object axis, Object group, Object tune) {
                 return make_desc<true>(onednn::PropKind::backward_data, data, axis, group, tune, "diff_data_desc");
             }),
             py::arg("diff_data_desc"), py::arg("axis"), py::arg("group_size"), py::kw_only(), py::arg("tune") = false,
             "__init__(self, diff_data_desc, axis, group_size, *, tune=False)\n--\n\n");
    desc.def("_repr_html_", &html_of);
    desc.def("__repr__",
             [](const Desc<true>& self) { return abbreviated("ShuffleBackward.Desc(" + problem_of(self.value) + ")"); });
    desc.def("__reduce__", [](const py::object& self) {
        const ShuffleDesc& problem = self.cast<const Desc<true>&>().value;
        return made_again(py::type::of(self), py::make_tuple(problem.data, problem.axis, problem.group_size), problem.tune);
    });
    pd.def(py::init([](Object problem, Object engine, Object hint, Object implementation) {
               refuse_engine(problem, "diff_src_desc, diff_dst_desc, axis and group_size");
               const auto& value = to_object<Desc<true>>(problem, "desc", "ShuffleBackward.Desc").value;
               check_hint(value, hint);
               return make_pd<true>(value, engine, implementation);
           }),
           py::arg("desc"), py::arg("engine") = py::none(), py::arg("hint_fwd_pd") = py::none(),
           py::arg("implementation") = "auto",
           "__init__(self, desc, engine=None, hint_fwd_pd=None, implementation='auto')\n--\n\n");
    pd.def(py::init([](Object engine, Object diff_src, Object diff_dst, Object axis, Object group, Object hint,
                       Object implementation, Object tune) {
               to_object<onednn::Engine>(engine, "engine", "Engine");
               check_same(diff_src, "diff_src_desc", diff_dst, "diff_dst_desc");
               const auto problem =
                   make_desc<true>(onednn::PropKind::backward_data, diff_src, axis, group, tune, "diff_src_desc").value;
               check_hint(problem, hint);
               return make_pd<true>(problem, engine, implementation);
           }),
           py::arg("engine"), py::arg("diff_src_desc"), py::arg("diff_dst_desc"), py::arg("axis"), py::arg("group_size"),
           py::arg("hint_fwd_pd") = py::none(), py::kw_only(), py::arg("implementation") = "auto", py::arg("tune") = false,
           "__init__(self, engine, diff_src_desc, diff_dst_desc, axis, group_size, hint_fwd_pd=None, *, "
           "implementation='auto', tune=False)\n--\n\n");
    pd.def("__reduce__", [](const py::object& self) {
        const ShufflePd& value = self.cast<const PrimitiveDesc<true>&>().value;
        return made_at(py::type::of(self), py::make_tuple(Desc<true>{value.desc()}, value.engine(), py::none(), value.choice()),
                       value.info());
    });
}

template <bool kBackward>
void define(py::module_& module) {
    using DescT = Desc<kBackward>;
    using PdT = PrimitiveDesc<kBackward>;
    const py::object primitive = make_primitive_type(
        module, {kBackward ? "ShuffleBackward" : "ShuffleForward", "shuffle", "pd",
                 kBackward ? reference::shuffle::kShuffleBackward : reference::shuffle::kShuffleForward, build<kBackward>});
    py::class_<DescT> desc(primitive, "Desc",
                           kBackward ? reference::shuffle::kShuffleBackwardDesc : reference::shuffle::kShuffleForwardDesc);
    py::class_<PdT> pd(
        primitive, "PrimitiveDesc",
        kBackward ? reference::shuffle::kShuffleBackwardPrimitiveDesc : reference::shuffle::kShuffleForwardPrimitiveDesc);
    if constexpr (kBackward) {
        define_backward(desc, pd);
    } else {
        define_forward(desc, pd);
    }
    define_common<kBackward>(desc);
    define_common<kBackward>(pd);
    compare_by(desc, [](const DescT& self) {
        const ShuffleDesc& problem = self.value;
        return py::make_tuple(static_cast<int>(problem.prop), problem.data, problem.axis, problem.group_size, problem.tune);
    });
    pd.def_property_readonly(
          "scratchpad_desc",
          [](const PdT& self) { return MemoryDesc::dense({self.value.scratchpad_bytes()}, py::dtype::of<std::uint8_t>()); },
          "MemoryDesc of oneDNN's scratch memory; every execution brings its own.")
        .def_property_readonly(
            "engine", [](const PdT& self) { return self.value.engine(); }, "The Engine.")
        .def_property_readonly(
            "implementations", [](const PdT& self) { return self.value.implementations(); },
            "What can run the problem, best first: \"native:<isa>\", \"onednn:<impl_info_str>\".")
        .def_property_readonly(
            "impl_info_str", [](const PdT& self) { return self.value.info(); }, "The current implementation.")
        .def(
            "next_impl", [](PdT& self) { return self.value.next(); }, reference::shuffle::kNextImpl)
        .def("_repr_html_", &html_of)
        .def("__repr__", [](const PdT& self) {
            return abbreviated("<" + name_of(kBackward) + ".PrimitiveDesc of " + problem_of(self.value.desc()) + ": " +
                               self.value.info() + ">");
        });
    present(desc);
    present(pd);
}

}  // namespace

void register_shuffle(py::module_& module) {
    module.def("_make_at", &make_at, R"(_make_at(type, arguments, current)
--

Make a PrimitiveDesc from its arguments and move to an implementation, for pickle and copy.
)");
    define<false>(module);
    define<true>(module);
}

}  // namespace dnnmove::python
