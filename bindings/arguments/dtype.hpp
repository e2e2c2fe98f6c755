// Data types: any fixed-size NumPy dtype, by the names that users of NumPy, ml_dtypes, oneDNN and torch know.
#pragma once

#include "arguments/operand.hpp"

#include <pybind11/numpy.h>

#include "onednn/onednn.hpp"

namespace dnnmove::python {

// What np.dtype() takes (DataType's members among it), plus "bfloat16", "float8_e4m3fn", "float8_e5m2", torch's types
// and those of oneDNN's words that NumPy does not know. Throws ValueError for "f16" and "u8", which mean other types to
// NumPy; TypeError for what is no type, for object dtypes and for those without a fixed size.
pybind11::dtype to_dtype(pybind11::handle value);
// Throws TypeError as above for a dtype whose bytes cannot be moved.
void check_movable(const pybind11::dtype& dtype, const char* argument);
// ml_dtypes' types of less than a byte, which NumPy keeps one to a byte and oneDNN packs.
bool is_sub_byte(const pybind11::dtype& dtype);
// oneDNN's type of the same bits; undef where it has none (byte-swapped types included).
onednn::DataType to_onednn(const pybind11::dtype& dtype);
// The NumPy dtype of any array argument.
pybind11::dtype dtype_of(const Operand& array);
// dtype.name, or the type string of structured types.
std::string name_of(const pybind11::dtype& dtype);

}  // namespace dnnmove::python
