// Data types: any fixed-size NumPy dtype, by the names that users of NumPy, ml_dtypes, oneDNN and torch know.
#include "arguments/dtype.hpp"

#include <string>

#include "arguments/parse.hpp"
#include "layout/format_tag.hpp"
#include "python/errors.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

py::dtype np_dtype(const py::handle& value) {
    return py::reinterpret_borrow<py::dtype>(py::module_::import("numpy").attr("dtype")(value));
}

py::object ml_dtype(const char* name) { return py::module_::import("ml_dtypes").attr(name); }

// What a name stands for where NumPy has none of its own for it: a name of ml_dtypes, or oneDNN's word.
py::object named(const std::string& name) {
    if (name == "bfloat16" || name == "float8_e4m3fn" || name == "float8_e5m2") return ml_dtype(name.c_str());
    if (name == "bf16") return ml_dtype("bfloat16");
    if (name == "f32") return py::str("float32");
    if (name == "f64") return py::str("float64");
    if (name == "s32") return py::str("int32");
    if (name == "s8") return py::str("int8");
    const auto refuse = [&name](const char* theirs, const char* ours) {
        throw ValueError("dtype ('" + name + "') has two readings: NumPy's " + theirs + " and oneDNN's " + ours +
                         "; say np.dtype('" + name + "') or DataType." + name);
    };
    if (name == "f16") refuse("longdouble (16 bytes)", "float16 (2 bytes)");
    if (name == "u8") refuse("uint64 (8 bytes)", "uint8 (1 byte)");
    return py::str(name);
}

// torch's types are called "torch.float32"; NumPy and ml_dtypes have the same names behind the dot.
bool is_torch(py::handle value) { return type_name(value.ptr()) == "torch.dtype"; }

py::object of_torch(py::handle value) {
    const py::str text(value);
    const std::string name(parse_text(text.ptr(), "dtype"));
    const std::size_t dot = name.find('.');
    return named(dot == name.npos ? name : name.substr(dot + 1));
}

bool is_layout(py::handle value) {
    if (!py::isinstance<py::str>(value)) return false;
    try {
        parse_format_tag(value.cast<std::string>());
        return true;
    } catch (const ValueError&) {
        return false;
    }
}

}  // namespace

void check_movable(const py::dtype& dtype, const char* argument) {
    const std::string name = std::string(argument) + " (" + abbreviated(name_of(dtype), kMostText / 4) + ")";
    if (dtype.attr("hasobject").cast<bool>() || dtype.kind() == 'T') {
        throw TypeError(name + " must not hold Python objects");
    }
    if (dtype.itemsize() == 0 || !dtype.attr("subdtype").is_none()) {
        throw TypeError(name + " must have a fixed size above 0 and no shape of its own");
    }
}

py::dtype to_dtype(py::handle value) {
    py::dtype dtype;
    if (py::isinstance<py::dtype>(value)) {
        dtype = py::reinterpret_borrow<py::dtype>(value);
    } else {
        py::object what = py::reinterpret_borrow<py::object>(value);
        if (py::isinstance<py::str>(value)) what = named(std::string(parse_text(value.ptr(), "dtype")));
        if (is_torch(value)) what = of_torch(value);
        try {
            dtype = np_dtype(what);
        } catch (py::error_already_set& error) {
            if (!error.matches(PyExc_TypeError)) throw;
            throw TypeError("dtype (" + short_repr(value.ptr()) +
                            ") must be a data type: anything numpy.dtype takes, 'bfloat16', a DataType, or torch's" +
                            (is_layout(value) ? "; it is a layout, which comes after the dtype" : ""));
        }
    }
    check_movable(dtype, "dtype");
    return dtype;
}

bool is_sub_byte(const py::dtype& dtype) {
    const auto name = dtype.attr("name").cast<std::string>();
    for (const char* prefix : {"int1", "uint1", "int2", "uint2", "int4", "uint4", "float4_", "float6_"}) {
        if (name.rfind(prefix, 0) == 0 && dtype.itemsize() == 1) return true;
    }
    return false;
}

onednn::DataType to_onednn(const py::dtype& dtype) {
    using onednn::DataType;
    // NumPy's own types say their byte order; ml_dtypes' are native ('=') or of one byte ('|').
    const char order = dtype.byteorder();
    if (order == '>' || dtype.has_fields()) return DataType::undef;
    const auto name = dtype.attr("name").cast<std::string>();
    if (name == "float32") return DataType::f32;
    if (name == "float64") return DataType::f64;
    if (name == "float16") return DataType::f16;
    if (name == "bfloat16") return DataType::bf16;
    if (name == "int32") return DataType::s32;
    if (name == "int8") return DataType::s8;
    if (name == "uint8") return DataType::u8;
    if (name == "float8_e4m3fn") return DataType::f8_e4m3;
    if (name == "float8_e5m2") return DataType::f8_e5m2;
    return DataType::undef;
}

py::dtype dtype_of(const Operand& array) { return py::reinterpret_steal<py::dtype>(array.descr().release()); }

std::string name_of(const py::dtype& dtype) {
    // The names of strings and raw bytes count bits and are not read back by numpy.dtype.
    const char kind = dtype.kind();
    const bool sized = (kind == 'S' || kind == 'U' || kind == 'V') && dtype.num() < 24;
    if (dtype.byteorder() == '>' || dtype.has_fields() || sized) return py::str(dtype).cast<std::string>();
    return dtype.attr("name").cast<std::string>();
}

}  // namespace dnnmove::python
