// Memory handed over through DLPack: new memory for other libraries, capsules, and the object that gives one away.
#pragma once

#include <Python.h>

#include <cstdint>
#include <span>

#include "dlpack/dlpack.h"
#include "python/pyref.hpp"

namespace dnnmove {

// New memory as a DLPack tensor: 64-byte aligned, uninitialised (gaps zeroed), with its own copy of
// shape and strides (bytes, not overlapping; empty for C-contiguous). The owner calls deleter once.
DLManagedTensorVersioned* allocate_tensor(DLDataType dtype, std::int64_t itemsize, std::span<const std::int64_t> shape,
                                          std::span<const std::int64_t> strides);

// An object whose __dlpack__ gives `tensor` away; takes ownership.
PyRef make_exporter(DLManagedTensorVersioned* tensor);

// Memory that `owner` keeps as a DLPack tensor: `strides` in bytes, whole elements. Holds the owner until its deleter is
// called, in whatever thread. Needs the GIL.
DLManagedTensorVersioned* lend_tensor(PyObject* owner, void* data, DLDataType dtype, std::int64_t itemsize,
                                      std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

// A capsule of a tensor of allocate_tensor or lend_tensor, in the versioned form or the one before DLPack 1.0. Takes
// ownership.
PyRef make_capsule(DLManagedTensorVersioned* tensor, bool versioned);

}  // namespace dnnmove
