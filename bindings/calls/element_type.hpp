// The dtypes of results that have another one than their input: of conversions, and of swapped bytes.
#pragma once

#include "python/numpy_api.hpp"

#include <pybind11/numpy.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "arguments/operand.hpp"
#include "dlpack/dlpack.h"
#include "plan/sink.hpp"
#include "python/pyref.hpp"

namespace dnnmove {

// The dtype of a result.
struct ResultType {
    PyRef dtype;  // NumPy's
    std::int64_t itemsize;
    std::optional<DLDataType> dlpack;  // absent where other libraries have no such type

    static ResultType of(PyRef dtype);
    PyArray_Descr* descr() const noexcept { return reinterpret_cast<PyArray_Descr*>(dtype.get()); }
};

// TypeError where an array of the kind of `data` cannot be of such a type.
void check_result_type(const ResultType& type, const Operand& data);
// What `out` must be, where its dtype is not the input's.
void check_out(const Operand& out, const ResultType& type, const ArgumentName& out_name);

namespace python {

// The dtype of a number, kept for the life of the process.
const ResultType& type_of(Number number);
// "float32"
const char* numpy_name(Number number);
// The number that a dtype argument names; TypeError or ValueError.
Number parse_number(PyObject* dtype);
// The number of an array's or a chain's elements; TypeError, which calls their dtype `name`, where it is none.
Number number_of(const Operand& array, const char* name);
Number number_of(const pybind11::dtype& dtype, const char* name);

// The words of elements of a dtype that have a byte order. TypeError where they share bytes.
std::vector<Words> words_of(PyArray_Descr* descr);
// The dtype with those words turned: itself where there are none.
pybind11::dtype swapped(const pybind11::dtype& dtype);

}  // namespace python
}  // namespace dnnmove
