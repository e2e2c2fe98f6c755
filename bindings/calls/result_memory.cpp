// The pool of result buffers as NumPy's memory handler, so that large results own pooled memory.
#include "calls/result_memory.hpp"

#include <cstdint>

#include "python/errors.hpp"
#include "python/numpy_api.hpp"

namespace dnnmove {
namespace {

// NumPy's own count of the bytes of `free` is of no use: the pool knows what it gave.
PyDataMem_Handler handler = {"dnnmove_pool",
                             1,
                             {nullptr, [](void*, std::size_t bytes) { return allocate_buffer(bytes); },
                              [](void*, std::size_t count, std::size_t size) -> void* {
                                  std::size_t bytes = 0;
                                  return __builtin_mul_overflow(count, size, &bytes) ? nullptr : allocate_zeroed_buffer(bytes);
                              },
                              [](void*, void* data, std::size_t bytes) { return resize_buffer(data, bytes); },
                              [](void*, void* data, std::size_t) { free_buffer(data); }}};

// Never destroyed: arrays may outlive the module.
PyObject* capsule() {
    static PyObject* const made = checked(PyCapsule_New(&handler, "mem_handler", nullptr)).release();
    return made;
}

}  // namespace

void PooledArrays::enter() {
    if (process_pool() == nullptr) return;
    before_ = checked(PyDataMem_SetHandler(capsule()));
    if (before_.get() != PyDataMem_DefaultHandler) leave();
}

void PooledArrays::leave() noexcept {
    const KeptException kept;
    const PyRef ours = PyRef::steal(PyDataMem_SetHandler(before_.get()));
    // Out of memory; arrays of this thread then stay with the pool, which serves every size.
    if (!ours) PyErr_Clear();
    before_ = {};
}

}  // namespace dnnmove
