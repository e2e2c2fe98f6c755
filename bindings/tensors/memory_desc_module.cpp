// MemoryDesc as Python sees it: its constructor, what it derives and tells, and the hooks of its tests.
#include "tensors/memory_desc.hpp"

#include <pybind11/stl.h>

#include "arguments/dtype.hpp"
#include "arguments/function.hpp"
#include "arguments/parse.hpp"
#include "layout/derive.hpp"
#include "python/html.hpp"
#include "python/integers.hpp"
#include "reference/memory_desc.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

// `derived` is of the same memory as `desc`; `call` is how it was asked for, as in "reshape((2, 3))".
MemoryDesc derive(const MemoryDesc& desc, Layout derived, const std::string& call) {
    MemoryDesc result{std::move(derived), desc.dtype, {}};
    const Layout& layout = result.layout;
    std::string tag = canonical_tag(layout);
    if (layout.blocked() && !tag.empty() && onednn::has_tag(tag)) {
        result.layout.tag = tag;
        result.tag = std::move(tag);
    }
    const bool part = layout.buffer_size != 0;
    if (part || (layout.blocked() && result.tag.empty())) result.made = abbreviated(desc.repr() + "." + call);
    return result;
}

MemoryDesc permuted(const MemoryDesc& desc, const py::object& permutation) {
    const Dims to = parse_integers(permutation.ptr(), "permutation");
    return derive(desc, permute_axes(desc.layout, to), "permute_axes(" + to_string(to) + ")");
}

MemoryDesc reshaped(const MemoryDesc& desc, const py::object& dims) {
    const Dims lengths = parse_integers(dims.ptr(), "dims");
    MemoryDesc::check_rank(lengths);
    return derive(desc, reshape(desc.layout, lengths), "reshape(" + to_string(lengths) + ")");
}

MemoryDesc part_of(const MemoryDesc& desc, const py::object& dims, const py::object& offsets) {
    const Dims lengths = parse_integers(dims.ptr(), "dims");
    const Dims begins = parse_integers(offsets.ptr(), "offsets");
    return derive(desc, submemory(desc.layout, lengths, begins),
                  "submemory_desc(" + to_string(lengths) + ", " + to_string(begins) + ")");
}

py::object tag_of(const MemoryDesc& desc) {
    if (!desc.tag.empty()) return py::str(desc.tag);
    const std::string tag = canonical_tag(desc.layout);
    if (tag.empty() || (desc.layout.blocked() && !onednn::has_tag(tag))) return py::none();
    return py::str(tag);
}

// What pickle needs of a descriptor that MemoryDesc(...) does not make.
py::object state_of(const MemoryDesc& desc) {
    const Layout& layout = desc.layout;
    return py::make_tuple(to_tuple(layout.dims), to_tuple(layout.padded_dims), to_tuple(layout.strides),
                          to_tuple(layout.inner_blocks), to_tuple(layout.inner_indices), layout.tag, layout.offset,
                          layout.buffer_size, desc.dtype, desc.tag, desc.made);
}

MemoryDesc from_state(const py::tuple& state) {
    const auto dims = [&](std::size_t k) { return parse_integers(py::object(state[k]).ptr(), "state"); };
    const auto dtype = py::dtype::from_args(state[8]);
    Layout layout{dims(0), dims(1), dims(2), dims(3), dims(4), dtype.itemsize(), state[5].cast<std::string>()};
    layout.offset = state[6].cast<std::int64_t>();
    layout.buffer_size = state[7].cast<std::int64_t>();
    return MemoryDesc{std::move(layout), dtype, state[9].cast<std::string>(), state[10].cast<std::string>()};
}

py::object tuple_of(const std::optional<Layout>& layout) {
    if (!layout) return py::none();
    return py::make_tuple(to_tuple(layout->dims), to_tuple(layout->padded_dims), to_tuple(layout->strides),
                          to_tuple(layout->inner_blocks), to_tuple(layout->inner_indices), layout->offset);
}

}  // namespace

void register_memory_desc(py::module_& module) {
    // What oneDNN itself says, for the tests that hold our layouts against it.
    module.def("_onednn_tags", [] {
        py::dict tags;
        for (const auto& [name, number] : onednn::all_tags()) tags[py::str(name)] = number;
        return tags;
    });
    module.def("_onednn_layout", [](int tag, const Dims& dims, const py::object& dtype) {
        const Layout layout = onednn::layout_of_tag(tag, dims, to_onednn(to_dtype(dtype)));
        return py::make_tuple(to_tuple(layout.padded_dims), to_tuple(layout.strides), to_tuple(layout.inner_blocks),
                              to_tuple(layout.inner_indices));
    });
    module.def("_onednn_permute_axes", [](const MemoryDesc& desc, const Dims& permutation) {
        return tuple_of(onednn::permute_axes(desc.layout, to_onednn(desc.dtype), permutation));
    });
    module.def("_onednn_reshape", [](const MemoryDesc& desc, const Dims& dims) {
        return tuple_of(onednn::reshape(desc.layout, to_onednn(desc.dtype), dims));
    });
    module.def("_onednn_submemory", [](const MemoryDesc& desc, const Dims& dims, const Dims& offsets) {
        return tuple_of(onednn::submemory(desc.layout, to_onednn(desc.dtype), dims, offsets));
    });
    module.def("_onednn_size", [](const MemoryDesc& desc) { return onednn::size_of(desc.layout, to_onednn(desc.dtype)); });
    module.def("_layout", [](const MemoryDesc& desc) { return tuple_of(desc.layout); });
    module.def("_restore_memory_desc", &from_state, R"(_restore_memory_desc(state)
--

Make a MemoryDesc that no expression of dims, dtype and layout makes, for pickle and copy.
)",
               py::arg("state"));
    py::class_<MemoryDesc> type(module, "MemoryDesc", reference::memory_desc::kMemoryDesc);
    type.def(py::init(&MemoryDesc::parse), py::arg("dims"), py::arg("dtype"), py::arg("layout") = py::none(),
             "__init__(self, dims, dtype, layout=None)\n--\n\n")
        .def_static(
            "of",
            [](const py::object& array) {
                Operand operand;
                operand.read(array.ptr(), "array", Access::describe);
                return MemoryDesc::of(operand);
            },
            py::arg("array"), reference::memory_desc::kMemoryDescOf)
        .def("permute_axes", &permuted, py::arg("permutation"), reference::memory_desc::kMemoryDescPermuteAxes)
        .def("reshape", &reshaped, py::arg("dims"), reference::memory_desc::kMemoryDescReshape)
        .def("submemory_desc", &part_of, py::arg("dims"), py::arg("offsets"), reference::memory_desc::kMemoryDescSubmemoryDesc)
        .def_property_readonly(
            "format_kind", [](const MemoryDesc&) { return "blocked"; },
            "oneDNN's format kind: \"blocked\" for all layouts here, plain ones too.")
        .def_property_readonly(
            "tag", &tag_of,
            "The format tag: the one it was made with, or oneDNN's canonical one; None where the layout has none.")
        .def_property_readonly(
            "submemory_offset", [](const MemoryDesc& desc) { return desc.layout.offset / desc.layout.itemsize; },
            "Elements of the buffer before the first one of a part that `submemory_desc` made; else 0.")
        .def_property_readonly(
            "dims", [](const MemoryDesc& desc) { return to_tuple(desc.layout.dims); }, "Logical dimensions, in elements.")
        .def_property_readonly(
            "ndim", [](const MemoryDesc& desc) { return desc.layout.ndim(); }, "Number of dimensions.")
        .def_property_readonly(
            "dtype", [](const MemoryDesc& desc) { return desc.dtype; }, "The NumPy data type.")
        .def_property_readonly("strides", &MemoryDesc::strides, "Strides in elements; None for a blocked layout.")
        .def_property_readonly(
            "padded_dims", [](const MemoryDesc& desc) { return to_tuple(desc.layout.padded_dims); },
            "Dimensions rounded up to whole blocks, in elements.")
        .def_property_readonly(
            "inner_blocks", [](const MemoryDesc& desc) { return to_tuple(desc.layout.inner_blocks); },
            "Lengths of the inner blocks, outermost first; empty for plain layouts.")
        .def_property_readonly(
            "inner_indices", [](const MemoryDesc& desc) { return to_tuple(desc.layout.inner_indices); },
            "The dimension that each inner block belongs to.")
        .def_property_readonly(
            "size", [](const MemoryDesc& desc) { return desc.layout.size(); },
            "Bytes of a buffer for the tensor, padding included.")
        .def_property_readonly(
            "is_dense", [](const MemoryDesc& desc) { return desc.layout.is_dense(); },
            "Whether the elements (and block padding) fill their memory without gaps.")
        .def("__eq__",
             [](const MemoryDesc& desc, const py::object& other) -> py::object {
                 if (!py::isinstance<MemoryDesc>(other)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
                 return py::bool_(desc == other.cast<const MemoryDesc&>());
             })
        .def("__hash__",
             [](const MemoryDesc& desc) {
                 return static_cast<py::ssize_t>(desc.layout.hash() ^ static_cast<std::size_t>(py::hash(desc.dtype)));
             })
        .def("__repr__", [](const MemoryDesc& desc) { return abbreviated(desc.repr()); })
        .def("_repr_html_", &html_of)
        .def("__reduce__", [](const py::object& self) -> py::tuple {
            const auto& desc = self.cast<const MemoryDesc&>();
            if (!desc.made.empty()) {
                return py::make_tuple(py::module_::import("dnnmove._core").attr("_restore_memory_desc"),
                                      py::make_tuple(state_of(desc)));
            }
            const py::object layout = desc.tag.empty() ? desc.strides() : py::object(py::str(desc.tag));
            return py::make_tuple(py::type::of(self), py::make_tuple(to_tuple(desc.layout.dims), desc.dtype, layout));
        });
    present(type);
}

}  // namespace dnnmove::python
