// Work of other libraries that a fork waits for, since it would leave their locks held in the child.
#pragma once

namespace dnnmove {

// While it lives this process does not fork: whoever forks waits for it, and those that begin meanwhile wait for the
// fork. Many threads may have one each; a thread has one at a time. Hold it for moments, take no lock of ours, and
// run no Python code, meanwhile: the forking thread has the interpreter's lock.
class HeldFork {
public:
    HeldFork() noexcept;
    ~HeldFork();
    HeldFork(const HeldFork&) = delete;
    HeldFork& operator=(const HeldFork&) = delete;
};

}  // namespace dnnmove
