/* What a compiled extension calls of the engine: the table in the capsule dnnmove._core._engine_interface. */
#pragma once

#include <stdint.h>

#define DNNMOVE_ENGINE_INTERFACE "dnnmove._core._engine_interface"
#define DNNMOVE_ENGINE_INTERFACE_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/* An array: lengths in elements, strides in bytes. */
typedef struct {
    const void* data; /* its first element */
    int64_t itemsize;
    int64_t ndim;
    const int64_t* shape;
    const int64_t* strides;
} DnnmoveArray;

/* Allocates the result, of the shape of the input: its first element, or null, which ends the call. `strides` in
   bytes, or null where it is C-contiguous. */
typedef void* (*DnnmoveAllocate)(void* context, const int64_t* strides);

typedef struct {
    int32_t version;
    /* A call that writes so many bytes or fewer keeps Python's lock. */
    int64_t few_bytes;
    /* Shuffles the channels, axis 1, of `x` in so many groups, or back. Needs no lock of Python's, and throws nothing.
       1 where it is done; 0 where nothing was done: the result is so large that the engine keeps memory for it, somebody
       watches the calls, the process is new, the arguments are wrong or memory ran out. The functions of Python do the
       former and say the latter. */
    int32_t (*channel_shuffle)(const DnnmoveArray* x, int64_t groups, int32_t back, DnnmoveAllocate allocate, void* context);
} DnnmoveEngineInterface;

#ifdef __cplusplus
}
#endif
