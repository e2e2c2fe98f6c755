// The dtypes of results that have another one than their input: of conversions, and of swapped bytes.
#include "calls/element_type.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "arguments/dlpack_types.hpp"
#include "arguments/dtype.hpp"
#include "calls/call_arrays.hpp"
#include "python/errors.hpp"

namespace py = pybind11;

namespace dnnmove {

ResultType ResultType::of(PyRef dtype) {
    ResultType type{std::move(dtype), 0, std::nullopt};
    type.itemsize = static_cast<std::int64_t>(PyDataType_ELSIZE(type.descr()));
    type.dlpack = dlpack_type_of(type.descr());
    return type;
}

void check_result_type(const ResultType& type, const Operand& data) {
    const bool numpy = data.kind() == Operand::Kind::ndarray || data.kind() == Operand::Kind::memory;
    if (numpy || type.dlpack) return;
    throw TypeError("the result has dtype " + python::name_of(py::reinterpret_borrow<py::dtype>(type.dtype.get())) +
                    ", which " + type_name(data.object()) + " does not have: pass a NumPy array");
}

void check_out(const Operand& out, const ResultType& type, const ArgumentName& out_name) {
    if (!out.writeable()) refuse_read_only(out_name);
    if (out.has_dtype(type.descr())) return;
    const std::string own = out.dtype_name();
    throw TypeError(out_name.text() + ".dtype (" + own + ") must be the result's, " +
                    python::name_of(py::reinterpret_borrow<py::dtype>(type.dtype.get())));
}

namespace python {
namespace {

constexpr const char* kConvertible = "uint8, int8, int32, float32, bfloat16 and float16";
constexpr std::array<const char*, dnnmove::kNumbers> kNames{"uint8", "int8", "int32", "float32", "bfloat16", "float16"};

std::optional<Number> find_number(const py::dtype& dtype) {
    for (std::size_t k = 0; k < kNames.size(); ++k) {
        if (dtype.equal(py::reinterpret_borrow<py::dtype>(type_of(static_cast<Number>(k)).dtype.get()))) {
            return static_cast<Number>(k);
        }
    }
    return std::nullopt;
}

[[noreturn]] void refuse(const char* name, const std::string& dtype, bool swapped) {
    throw TypeError(std::string(name) + " (" + dtype + ") must be one of " + kConvertible + ", which convert to each other" +
                    (swapped ? ", in native byte order: byteswap first" : ""));
}

// Those that callers name dtypes by again and again: dtypes, types and texts, which do not change. The latest few.
struct Named {
    PyRef object;
    Number number;
};

void add_words(py::dtype dtype, std::int64_t offset, std::vector<Words>& words) {
    std::int64_t count = 1;
    const py::object shaped = dtype.attr("subdtype");
    if (!shaped.is_none()) {
        const auto [base, shape] = shaped.cast<std::pair<py::dtype, py::tuple>>();
        for (const py::handle length : shape) count *= length.cast<std::int64_t>();
        dtype = base;
    }
    const std::int64_t bytes = dtype.itemsize();
    if (dtype.has_fields()) {
        const py::dict fields = dtype.attr("fields");
        for (std::int64_t k = 0; k < count; ++k) {
            for (const py::handle name : dtype.attr("names")) {
                const py::tuple field = fields[name];
                add_words(field[0].cast<py::dtype>(), offset + k * bytes + field[1].cast<std::int64_t>(), words);
            }
        }
        return;
    }
    const char kind = dtype.kind();
    const bool extended = dtype.num() >= NPY_USERDEF || dtype.num() < 0;  // ml_dtypes', of any kind
    std::int64_t word = bytes;
    if (!extended && (kind == 'S' || kind == 'V' || kind == 'b')) return;
    if (!extended && kind == 'c') word = bytes / 2;
    if (!extended && kind == 'U') word = 4;
    if (word <= 1 || bytes == 0) return;
    if (word != 2 && word != 4 && word != 8 && word != 16) {
        throw TypeError("dtype (" + name_of(dtype) + ") has words of " + std::to_string(word) +
                        " bytes, whose order cannot be swapped");
    }
    words.push_back({offset, word, count * bytes / word});
}

}  // namespace

const char* numpy_name(Number number) { return kNames[static_cast<std::size_t>(number)]; }

const ResultType& type_of(Number number) {
    static std::array<ResultType*, dnnmove::kNumbers> types{};
    const auto k = static_cast<std::size_t>(number);
    if (types[k] == nullptr)
        types[k] = new ResultType(ResultType::of(PyRef::steal(to_dtype(py::str(kNames[k])).release().ptr())));
    return *types[k];
}

Number parse_number(PyObject* object) {
    static std::vector<Named>& latest = *new std::vector<Named>();
    for (const Named& known : latest) {
        if (known.object.get() == object) return known.number;
    }
    const py::dtype dtype = to_dtype(object);
    const auto number = find_number(dtype);
    if (!number) refuse("dtype", name_of(dtype), dtype.byteorder() == '>');
    // (Of a class of the caller's NumPy reads the attribute `dtype`.)
    const auto is_scalar_type = [object] {
        auto* const type = reinterpret_cast<PyTypeObject*>(object);
        return PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) == 0 || PyType_IsSubtype(type, &PyGenericArrType_Type) != 0;
    };
    const bool constant = PyArray_DescrCheck(object) || PyUnicode_CheckExact(object) ||
                          (PyType_Check(object) && is_scalar_type());
    if (constant) {
        constexpr std::size_t kLatest = 16;
        if (latest.size() == kLatest) latest.erase(latest.begin());
        latest.push_back({PyRef::share(object), *number});
    }
    return *number;
}

Number number_of(const Operand& array, const char* name) {
    for (std::size_t k = 0; k < kNames.size(); ++k) {
        if (array.has_dtype(type_of(static_cast<Number>(k)).descr())) return static_cast<Number>(k);
    }
    refuse(
        name, array.dtype_name(),
        array.kind() == Operand::Kind::ndarray && py::reinterpret_steal<py::dtype>(array.descr().release()).byteorder() == '>');
}

Number number_of(const py::dtype& dtype, const char* name) {
    const auto number = find_number(dtype);
    if (!number) refuse(name, name_of(dtype), dtype.byteorder() == '>');
    return *number;
}

std::vector<Words> words_of(PyArray_Descr* descr) {
    std::vector<Words> words;
    const auto dtype = py::reinterpret_borrow<py::dtype>(reinterpret_cast<PyObject*>(descr));
    add_words(dtype, 0, words);
    std::sort(words.begin(), words.end(), [](const Words& a, const Words& b) { return a.offset < b.offset; });
    for (std::size_t k = 1; k < words.size(); ++k) {
        const Words& before = words[k - 1];
        if (words[k].offset >= before.offset + before.bytes * before.count) continue;
        throw TypeError("dtype (" + name_of(dtype) + ") has fields that share bytes, whose order cannot be swapped");
    }
    return words;
}

py::dtype swapped(const py::dtype& dtype) {
    if (words_of(reinterpret_cast<PyArray_Descr*>(dtype.ptr())).empty()) return dtype;
    return dtype.attr("newbyteorder")().cast<py::dtype>();
}

}  // namespace python
}  // namespace dnnmove
