// Data types: any fixed-size NumPy dtype, and the ml_dtypes names oneDNN users know.
#include "dtype.hpp"

#include <string>

namespace py = pybind11;

namespace dnnmove::python {
namespace {

py::dtype np_dtype(const py::handle& value) {
    return py::reinterpret_borrow<py::dtype>(py::module_::import("numpy").attr("dtype")(value));
}

}  // namespace

void check_movable(const py::dtype& dtype, const char* argument) {
    const std::string name = std::string(argument) + " (" + name_of(dtype) + ")";
    if (dtype.attr("hasobject").cast<bool>() || dtype.kind() == 'T') {
        throw py::type_error(name + " must not hold Python objects");
    }
    if (dtype.itemsize() == 0 || !dtype.attr("subdtype").is_none()) {
        throw py::type_error(name + " must have a fixed size above 0 and no shape of its own");
    }
}

py::dtype to_dtype(py::handle value) {
    py::dtype dtype;
    if (py::isinstance<py::dtype>(value)) {
        dtype = py::reinterpret_borrow<py::dtype>(value);
    } else {
        py::object what = py::reinterpret_borrow<py::object>(value);
        if (py::isinstance<py::str>(value)) {
            const auto name = value.cast<std::string>();
            if (name == "bfloat16" || name == "float8_e4m3fn" || name == "float8_e5m2") {
                what = py::module_::import("ml_dtypes").attr(name.c_str());
            }
        }
        dtype = np_dtype(what);
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
