// Lets go of the GIL while a copy runs, and survives an interpreter that ends meanwhile.
#pragma once

#include <Python.h>

#include <cxxabi.h>
#include <unistd.h>

#include <cstdint>

namespace dnnmove {

// A copy of fewer bytes keeps the GIL: letting go of it costs about as much as moving these.
inline constexpr std::int64_t kKeepGil = 32 * 1024;

// The GIL is released while it lives. Before Python 3.14 a daemon thread that comes back for the
// GIL of an ending interpreter is ended by pthread_exit, which unwinds the stack: C++ code that must
// not be unwound would end the process. Such a thread waits here for the process's end, as in 3.14.
class ReleasedGil {
public:
    ReleasedGil() noexcept : state_(PyEval_SaveThread()) {}
    ~ReleasedGil() {
        try {
            PyEval_RestoreThread(state_);
        } catch (abi::__forced_unwind&) {
            for (;;) pause();
        }
    }
    ReleasedGil(const ReleasedGil&) = delete;
    ReleasedGil& operator=(const ReleasedGil&) = delete;

private:
    PyThreadState* state_;
};

}  // namespace dnnmove
