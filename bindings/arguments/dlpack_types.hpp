// What DLPack calls a data type, and a Python type that speaks it.
#pragma once

#include "python/numpy_api.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "dlpack/dlpack.h"
#include "python/pyref.hpp"

namespace dnnmove {

// The NumPy dtype of `type`; null (no exception set) where there is none.
PyRef descr_of(DLDataType type);
// The DLPack type of a NumPy dtype; none where DLPack has none: byte-swapped, structured, text, times.
std::optional<DLDataType> dlpack_type_of(PyArray_Descr* descr);
// "bfloat16", "dlpack type code 17 of 4 bits x 2".
std::string name_of(DLDataType type);

// How objects of one Python type are read. Kept for the life of the process.
struct ArrayType {
    PyTypeObject* type = nullptr;
    bool array = false;                     // has __dlpack__
    bool memory = false;                    // dnnmove.Memory
    bool torch = false;                     // torch.Tensor or a subclass
    bool exact = false;                     // torch.Tensor or Parameter itself: may be read through `api`
    bool has_namespace = false;             // has __array_namespace__, whose from_dlpack makes results
    const DLPackExchangeAPI* api = nullptr;  // null where the type offers none
};
// May run Python code where the type is new.
ArrayType array_type_of(PyTypeObject* type);

}  // namespace dnnmove
