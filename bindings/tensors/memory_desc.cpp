// MemoryDesc: dims, dtype and layout of a tensor, as oneDNN's memory descriptor.
#include "tensors/memory_desc.hpp"

#include "arguments/dtype.hpp"
#include "arguments/parse.hpp"
#include "python/errors.hpp"
#include "python/integers.hpp"
#include "runtime/error.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

Dims to_bytes(const Dims& strides, std::int64_t itemsize) {
    Dims bytes = strides;
    for (std::int64_t& stride : bytes) {
        if (__builtin_mul_overflow(stride, itemsize, &stride)) {
            throw ValueError("layout (strides " + to_string(strides) + ") must fit into 64 bits as bytes");
        }
    }
    return bytes;
}

}  // namespace

void MemoryDesc::check_rank(const Dims& dims) {
    if (dims.size() > kMaxRank) {
        throw ValueError("dims " + to_string(dims) + " must have at most " + std::to_string(kMaxRank) + " entries");
    }
}

MemoryDesc MemoryDesc::dense(const Dims& dims, const py::dtype& dtype) {
    return MemoryDesc{Layout::dense(dims, dtype.itemsize()), dtype, {}};
}

MemoryDesc MemoryDesc::parse(py::handle dims, py::handle dtype, py::handle layout) {
    const Dims lengths = parse_integers(dims.ptr(), "dims");
    check_rank(lengths);
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
    const std::string name(parse_text(layout.ptr(), "layout"));
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
            throw ValueError(not_whole("array", axis, strides[axis], itemsize) + ": describe np.ascontiguousarray(array)");
        }
        strides[axis] = itemsize;
    }
    return MemoryDesc{Layout::strided(dims, strides, itemsize), type, {}};
}

std::string not_whole(const std::string& array, std::size_t axis, std::int64_t stride, std::int64_t itemsize) {
    return array + ".strides[" + std::to_string(axis) + "] (" + std::to_string(stride) +
           " bytes) must be a whole number of elements of " + std::to_string(itemsize) + " bytes";
}

bool MemoryDesc::operator==(const MemoryDesc& other) const { return layout == other.layout && dtype.equal(other.dtype); }

bool MemoryDesc::matches(const Operand& array) const {
    if (layout.blocked() || array.blocked() || array.ndim() != layout.ndim()) return false;
    const bool empty = layout.empty();
    for (std::size_t axis = 0; axis < layout.ndim(); ++axis) {
        if (array.shape()[axis] != layout.dims[axis]) return false;
        if (!empty && layout.dims[axis] > 1 && array.strides()[axis] != layout.strides[axis]) return false;
    }
    return array.has_dtype(reinterpret_cast<PyArray_Descr*>(dtype.ptr()));
}

py::object MemoryDesc::strides() const {
    if (layout.blocked()) return py::none();
    Dims elements = layout.strides;
    for (std::int64_t& stride : elements) stride /= layout.itemsize;
    return to_tuple(elements);
}

std::string MemoryDesc::repr() const {
    if (!made.empty()) return made;
    const std::string quote = dtype.has_fields() ? "" : "'";  // a struct's text is a list or a dict
    std::string text = "MemoryDesc(" + to_string(layout.dims) + ", " + quote + abbreviated(name_of(dtype), kMostText / 4) +
                       quote;
    if (!tag.empty()) {
        text += ", '" + tag + "'";
    } else if (!(layout == Layout::dense(layout.dims, layout.itemsize))) {
        text += ", " + py::repr(strides()).cast<std::string>();
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

}  // namespace dnnmove::python
