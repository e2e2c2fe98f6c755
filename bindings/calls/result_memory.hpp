// The pool of result buffers as NumPy's memory handler, so that large results own pooled memory.
#pragma once

#include <cstddef>

#include "python/pyref.hpp"
#include "runtime/buffer_pool.hpp"

namespace dnnmove {

// While it lives, arrays that this thread makes take their memory from the pool; nothing happens for
// less than kPooledBytes, where the switch would cost more than it gains, nor where the pool is off or
// the caller has a memory handler of their own. Needs the GIL; keeps a Python exception that is set.
//
// A handler (NEP 49) rather than a base object: the arrays own their data and can be resized. NumPy
// keeps the handler with each array, so they are freed here whenever and wherever that is.
class PooledArrays {
public:
    explicit PooledArrays(std::size_t bytes) {
        if (bytes >= kPooledBytes) enter();
    }
    ~PooledArrays() {
        if (before_) leave();
    }
    PooledArrays(const PooledArrays&) = delete;
    PooledArrays& operator=(const PooledArrays&) = delete;

private:
    void enter();
    void leave() noexcept;

    PyRef before_;  // the handler to restore
};

}  // namespace dnnmove
