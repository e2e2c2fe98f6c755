// MemoryDesc: dims, dtype and layout of a tensor, as oneDNN's memory descriptor.
#include "memory_desc.hpp"

#include <pybind11/stl.h>

#include <algorithm>

#include "dtype.hpp"
#include "errors.hpp"
#include "function.hpp"
#include "integers.hpp"
#include "parse.hpp"
#include "runtime/error.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

// NumPy 2's limit; NumPy 1 stops at 32.
constexpr std::size_t kMaxDims = 64;

Dims to_bytes(const Dims& strides, std::int64_t itemsize) {
    Dims bytes = strides;
    for (std::int64_t& stride : bytes) {
        if (__builtin_mul_overflow(stride, itemsize, &stride)) {
            throw ValueError("layout (strides " + to_string(strides) + ") must fit into 64 bits as bytes");
        }
    }
    return bytes;
}

py::object strides_of(const MemoryDesc& desc) {
    if (desc.layout.blocked()) return py::none();
    Dims strides = desc.layout.strides;
    for (std::int64_t& stride : strides) stride /= desc.layout.itemsize;
    return to_tuple(strides);
}

}  // namespace

MemoryDesc MemoryDesc::dense(const Dims& dims, const py::dtype& dtype) {
    return MemoryDesc{Layout::dense(dims, dtype.itemsize()), dtype, {}};
}

MemoryDesc MemoryDesc::parse(py::handle dims, py::handle dtype, py::handle layout) {
    const Dims lengths = parse_integers(dims.ptr(), "dims");
    if (lengths.size() > kMaxDims) {
        throw ValueError("dims " + to_string(lengths) + " must have at most " + std::to_string(kMaxDims) + " entries");
    }
    const py::dtype type = to_dtype(dtype);
    if (is_sub_byte(type)) {
        throw ValueError("dtype (" + name_of(type) +
                         ") must have whole bytes: oneDNN packs such elements, NumPy keeps one to a byte");
    }
    if (layout.is_none()) return dense(lengths, type);
    if (!py::isinstance<py::str>(layout)) {
        const Dims strides = parse_integers(layout.ptr(), "layout");
        if (strides.size() != lengths.size()) {
            throw ValueError("layout (strides " + to_string(strides) + ") must have one stride for each of dims " +
                             to_string(lengths));
        }
        return MemoryDesc{Layout::strided(lengths, to_bytes(strides, type.itemsize()), type.itemsize()), type, {}};
    }
    const auto name = layout.cast<std::string>();
    const FormatTag tag = parse_format_tag(name);
    if (!tag.inner_blocks.empty() && !onednn::has_tag(tag.canonical)) {
        throw ValueError("layout ('" + name + "') is not a format tag of oneDNN " + onednn::version());
    }
    if (tag.ndim() != lengths.size()) {
        throw ValueError("layout ('" + name + "') has " + std::to_string(tag.ndim()) + " dimensions, dims " +
                         to_string(lengths) + " has " + std::to_string(lengths.size()));
    }
    return MemoryDesc{Layout::tagged(lengths, tag, type.itemsize()), type, name};
}

MemoryDesc MemoryDesc::of(const Operand& array) {
    const auto type = dtype_of(array);
    check_movable(type, "array.dtype");
    if (is_sub_byte(type)) throw ValueError("array.dtype (" + name_of(type) + ") must have whole bytes");
    const Dims dims(array.shape().begin(), array.shape().end());
    Dims strides(array.strides().begin(), array.strides().end());
    const std::int64_t itemsize = array.itemsize();
    const bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        if (strides[axis] % itemsize == 0) continue;
        if (!empty && dims[axis] > 1) {
            throw ValueError("array.strides " + to_string(strides) + " must be whole elements of " +
                             std::to_string(itemsize) + " bytes");
        }
        strides[axis] = itemsize;
    }
    return MemoryDesc{Layout::strided(dims, strides, itemsize), type, {}};
}

bool MemoryDesc::operator==(const MemoryDesc& other) const { return layout == other.layout && dtype.equal(other.dtype); }

bool MemoryDesc::matches(const Operand& array) const {
    if (layout.blocked() || array.ndim() != layout.ndim()) return false;
    const bool empty = layout.empty();
    for (std::size_t axis = 0; axis < layout.ndim(); ++axis) {
        if (array.shape()[axis] != layout.dims[axis]) return false;
        if (!empty && layout.dims[axis] > 1 && array.strides()[axis] != layout.strides[axis]) return false;
    }
    return array.has_dtype(reinterpret_cast<PyArray_Descr*>(dtype.ptr()));
}

std::string MemoryDesc::repr() const {
    const std::string quote = dtype.has_fields() ? "" : "'";  // a struct's text is a list or a dict
    std::string text = "MemoryDesc(" + to_string(layout.dims) + ", " + quote + name_of(dtype) + quote;
    if (!tag.empty()) {
        text += ", '" + tag + "'";
    } else if (!(layout == Layout::dense(layout.dims, layout.itemsize))) {
        text += ", " + py::repr(strides_of(*this)).cast<std::string>();
    }
    return text + ")";
}

const MemoryDesc& to_memory_desc(py::handle value, const char* argument) {
    if (!py::isinstance<MemoryDesc>(value)) {
        throw TypeError(std::string(argument) + " (" + short_repr(value.ptr()) + ") must be a MemoryDesc" +
                        (is_array(value.ptr()) ? "; MemoryDesc.of(array) gives an array's" : ""));
    }
    return value.cast<const MemoryDesc&>();
}

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
    module.def("_onednn_size", [](const MemoryDesc& desc) { return onednn::size_of(desc.layout, to_onednn(desc.dtype)); });
    module.def("_layout", [](const MemoryDesc& desc) {
        const Layout& layout = desc.layout;
        return py::make_tuple(to_tuple(layout.padded_dims), to_tuple(layout.strides), to_tuple(layout.inner_blocks),
                              to_tuple(layout.inner_indices));
    });
    py::class_<MemoryDesc> type(module, "MemoryDesc", R"(Shape, data type and layout of a tensor (oneDNN: ``memory::desc``).

Parameters
----------
dims : sequence of int
    Logical dimensions: (N, C, H, W) whatever the layout.
dtype : dtype-like
    Anything ``numpy.dtype`` takes, or "bfloat16", "float8_e4m3fn", "float8_e5m2".
layout : str or sequence of int, optional
    A oneDNN format tag ("nchw", "nhwc", "nChw16c", "abcd", ...) or strides in elements.
    Dense row-major by default.

Raises
------
TypeError
    An argument is of the wrong type, or the data type has no fixed size.
ValueError
    A dimension is negative, the layout is no format tag of oneDNN, or its rank is not that of `dims`.

Notes
-----
Two descriptors are equal when every element lies at the same place: strides of dimensions of length 1,
and all strides of empty tensors, do not matter. Source: oneDNN developer guide, "Memory".

Examples
--------
>>> import dnnmove as dm
>>> md = dm.MemoryDesc((2, 20, 5, 5), "float32", "nChw16c")
>>> md.padded_dims, md.inner_blocks, md.size
((2, 32, 5, 5), (16,), 6400)
>>> dm.MemoryDesc((2, 3), "int8").strides
(3, 1)
)");
    type.def(py::init(&MemoryDesc::parse), py::arg("dims"), py::arg("dtype"), py::arg("layout") = py::none(),
             "__init__(self, dims, dtype, layout=None)\n--\n\n")
        .def_static(
            "of",
            [](const py::object& array) {
                Operand operand;
                operand.read(array.ptr(), "array", Access::describe);
                return MemoryDesc::of(operand);
            },
            py::arg("array"),
            R"(of(array)
--

The descriptor of an array as it lies in memory.

Parameters
----------
array : array
    NumPy, torch, or a CPU object with ``__dlpack__``; any strides that are whole elements.

Returns
-------
MemoryDesc

Examples
--------
>>> import numpy as np, dnnmove as dm
>>> dm.MemoryDesc.of(np.zeros((2, 3), "f4").T)
MemoryDesc((3, 2), 'float32', (1, 3))
)")
        .def_property_readonly("dims", [](const MemoryDesc& desc) { return to_tuple(desc.layout.dims); },
                               "Logical dimensions, in elements.")
        .def_property_readonly("ndim", [](const MemoryDesc& desc) { return desc.layout.ndim(); },
                               "Number of dimensions.")
        .def_property_readonly("dtype", [](const MemoryDesc& desc) { return desc.dtype; }, "The NumPy data type.")
        .def_property_readonly("strides", &strides_of, "Strides in elements; None for a blocked layout.")
        .def_property_readonly("padded_dims", [](const MemoryDesc& desc) { return to_tuple(desc.layout.padded_dims); },
                               "Dimensions rounded up to whole blocks, in elements.")
        .def_property_readonly("inner_blocks", [](const MemoryDesc& desc) { return to_tuple(desc.layout.inner_blocks); },
                               "Lengths of the inner blocks, outermost first; empty for plain layouts.")
        .def_property_readonly("inner_indices",
                               [](const MemoryDesc& desc) { return to_tuple(desc.layout.inner_indices); },
                               "The dimension that each inner block belongs to.")
        .def_property_readonly("size", [](const MemoryDesc& desc) { return desc.layout.size(); },
                               "Bytes of a buffer for the tensor, padding included.")
        .def_property_readonly("is_dense", [](const MemoryDesc& desc) { return desc.layout.is_dense(); },
                               "Whether the elements (and block padding) fill their memory without gaps.")
        .def("__eq__", [](const MemoryDesc& desc, const py::object& other) -> py::object {
            if (!py::isinstance<MemoryDesc>(other)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
            return py::bool_(desc == other.cast<const MemoryDesc&>());
        })
        .def("__hash__", [](const MemoryDesc& desc) {
            return static_cast<py::ssize_t>(desc.layout.hash() ^ static_cast<std::size_t>(py::hash(desc.dtype)));
        })
        .def("__repr__", &MemoryDesc::repr)
        .def("__reduce__", [](const py::object& self) {
            const auto& desc = self.cast<const MemoryDesc&>();
            const py::object layout = desc.tag.empty() ? strides_of(desc) : py::object(py::str(desc.tag));
            return py::make_tuple(py::type::of(self), py::make_tuple(to_tuple(desc.layout.dims), desc.dtype, layout));
        });
    present(type);
}

}  // namespace dnnmove::python
