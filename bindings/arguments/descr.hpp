// Whether two NumPy dtypes are the same, found without running Python code.
#pragma once

#include "python/numpy_api.hpp"

namespace dnnmove {

// As NumPy's equality (byte order included). NumPy itself asks the field names and titles of structured
// dtypes, which may be objects of a caller's classes, for their __eq__; here only their text counts, and titles
// that are no text equal themselves only. Needs the GIL and keeps it throughout.
bool same_descr(PyArray_Descr* a, PyArray_Descr* b);

}  // namespace dnnmove
