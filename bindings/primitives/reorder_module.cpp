// Reorder as Python sees it: Desc, PrimitiveDesc and the primitive.
#include "python/numpy_api.hpp"

#include "arguments/factor.hpp"
#include "arguments/function.hpp"
#include "arguments/parse.hpp"
#include "primitives/primitive.hpp"
#include "primitives/reorder_primitive.hpp"
#include "python/compared.hpp"
#include "python/html.hpp"
#include "python/initialized.hpp"
#include "python/made_again.hpp"
#include "python/objects.hpp"
#include "reference/reorder.hpp"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace dnnmove::python {
namespace {

struct BoundDesc {
    using InitializedOnly = void;
    ReorderDesc value;
};

struct BoundPd {
    using InitializedOnly = void;
    ReorderPd value;
};

py::object scales_of(const ReorderDesc& desc) {
    if (const auto* one = std::get_if<float>(&desc.scales)) return py::float_(*one);
    const auto* several = std::get_if<chain::Floats>(&desc.scales);
    if (several == nullptr) return py::none();
    py::tuple all(several->size());
    for (std::size_t i = 0; i < several->size(); ++i) all[i] = py::float_((*several)[i]);
    return all;
}

// ", scales=2.0", ", scales=(1.0, 2.0), axis=1" or nothing
std::string scaling_of(const ReorderDesc& desc) {
    const chain::Value scales = std::visit([](const auto& each) { return chain::Value(each); }, desc.scales);
    return (desc.scaled() ? ", scales=" + to_string(scales) : "") +
           (desc.scaled_along_axis() ? ", axis=" + std::to_string(desc.axis) : "");
}

std::string problem_of(const ReorderDesc& desc) { return desc.src.repr() + ", " + desc.dst.repr() + scaling_of(desc); }

py::tuple arguments_of(const ReorderDesc& desc) { return py::make_tuple(desc.src, desc.dst, scales_of(desc), desc.axis); }

BuiltPrimitive build(py::handle problem) {
    const auto made = [](BoundPd pd) {
        auto executable = pd.value.build();
        std::string text = problem_of(pd.value.desc());
        return BuiltPrimitive{std::move(executable), py::cast(std::move(pd)), std::move(text)};
    };
    if (py::isinstance<BoundPd>(problem)) return made(problem.cast<const BoundPd&>());
    if (py::isinstance<BoundDesc>(problem)) return made({ReorderPd(problem.cast<const BoundDesc&>().value, nullptr, "auto")});
    throw TypeError("pd (" + short_repr(problem.ptr()) + ") must be a Reorder.PrimitiveDesc or a Reorder.Desc");
}

// A copy goes on from the implementation at which the original was, where it has that too.
BoundPd restored(const py::object& desc, const py::object& engine, const std::string& choice, const std::string& current) {
    ReorderPd pd(desc.cast<const BoundDesc&>().value, engine.cast<std::shared_ptr<onednn::Engine>>(), choice);
    ReorderPd moved = pd;
    while (moved.implementations().current().name != current) {
        if (!moved.implementations().next()) return {pd};
    }
    return {moved};
}

template <class Class>
void define_common(Class& type) {
    using Object = typename Class::type;
    const auto desc_of = [](const Object& object) -> const ReorderDesc& {
        if constexpr (std::is_same_v<Object, BoundPd>) {
            return object.value.desc();
        } else {
            return object.value;
        }
    };
    type.def_property_readonly(
            "src_desc", [desc_of](const Object& object) { return desc_of(object).src; }, "MemoryDesc of the input.")
        .def_property_readonly(
            "dst_desc", [desc_of](const Object& object) { return desc_of(object).dst; }, "MemoryDesc of the output.")
        .def_property_readonly(
            "scales", [desc_of](const Object& object) { return scales_of(desc_of(object)); },
            "None, the factor of all numbers, or a tuple of one for each position of `axis`.")
        .def_property_readonly(
            "axis",
            [desc_of](const Object& object) -> py::object {
                const ReorderDesc& desc = desc_of(object);
                return desc.scaled_along_axis() ? py::object(py::int_(desc.axis)) : py::object(py::none());
            },
            "The axis along which several scales lie, non-negative; None where they are not several.")
        .def("_repr_html_", &html_of);
    present(type);
}

}  // namespace

void register_reorder_primitive(py::module_& module) {
    using Object = const py::object&;
    const py::object primitive = make_primitive_type(module, {"Reorder", "reorder", "pd", reference::reorder::kReorder, build});
    py::class_<BoundDesc> desc(primitive, "Desc", reference::reorder::kReorderDesc);
    desc.def(py::init([](Object src, Object dst, Object scales, Object axis) {
                 const MemoryDesc& from = to_memory_desc(src, "src_desc");
                 const MemoryDesc& to = to_memory_desc(dst, "dst_desc");
                 return BoundDesc{
                     ReorderDesc::make(from, to, parse_factor(scales.ptr(), "scales"), parse_integer(axis.ptr(), "axis"))};
             }),
             py::arg("src_desc"), py::arg("dst_desc"), py::arg("scales") = py::none(), py::arg("axis") = 1,
             "__init__(self, src_desc, dst_desc, scales=None, axis=1)\n--\n\n")
        .def("__repr__", [](const BoundDesc& self) { return abbreviated("Reorder.Desc(" + problem_of(self.value) + ")"); })
        .def("__reduce__", [](const py::object& self) {
            return made_again(py::type::of(self), arguments_of(self.cast<const BoundDesc&>().value));
        });
    py::class_<BoundPd> pd(primitive, "PrimitiveDesc", reference::reorder::kReorderPrimitiveDesc);
    pd.def(py::init([](Object problem, Object engine, Object implementation) {
               return BoundPd{ReorderPd(to_object<BoundDesc>(problem, "desc", "Reorder.Desc").value, to_engine(engine),
                                        std::string(parse_text(implementation.ptr(), "implementation")))};
           }),
           py::arg("desc"), py::arg("engine") = py::none(), py::arg("implementation") = "auto",
           "__init__(self, desc, engine=None, implementation='auto')\n--\n\n")
        .def_property_readonly(
            "scratchpad_desc",
            [](const BoundPd& self) {
                return MemoryDesc::dense({self.value.scratchpad_bytes()}, py::dtype::of<std::uint8_t>());
            },
            "MemoryDesc of oneDNN's scratch memory; every execution brings its own.")
        .def_property_readonly(
            "engine", [](const BoundPd& self) { return self.value.engine(); }, "The Engine.")
        .def_property_readonly(
            "implementations", [](const BoundPd& self) { return self.value.implementations().names(); },
            "What can run the problem, best first: \"native:<isa>\", \"onednn:<impl_info_str>\".")
        .def_property_readonly(
            "impl_info_str", [](const BoundPd& self) { return self.value.implementations().current().name; },
            "The current implementation.")
        .def(
            "next_impl", [](BoundPd& self) { return self.value.implementations().next(); }, reference::reorder::kNextImpl)
        .def("__reduce__",
             [](const py::object& self) {
                 const ReorderPd& value = self.cast<const BoundPd&>().value;
                 return py::make_tuple(py::module_::import("dnnmove._core").attr("_restore_reorder"),
                                       py::make_tuple(BoundDesc{value.desc()}, value.engine(), value.implementations().choice(),
                                                      value.implementations().current().name));
             })
        .def("__repr__", [](const BoundPd& self) {
            return abbreviated("<Reorder.PrimitiveDesc of " + problem_of(self.value.desc()) + ": " +
                               self.value.implementations().current().name + ">");
        });
    define_common(desc);
    define_common(pd);
    compare_by(desc, [](const BoundDesc& self) {
        return py::make_tuple(self.value.src, self.value.dst, scaling_of(self.value));  // (numbers as text: NaN is itself)
    });
    module.def("_restore_reorder", &restored,
               "_restore_reorder(desc, engine, choice, current)\n--\n\nMake a PrimitiveDesc as a pickle says.");
}

}  // namespace dnnmove::python
