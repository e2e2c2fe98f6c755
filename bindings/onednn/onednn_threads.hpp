// The OpenMP threads that oneDNN brings: how many of them a call of oneDNN gets.
#pragma once

#include <string>

namespace dnnmove::onednn {

// While it lives, parallel regions that this thread enters in oneDNN's OpenMP library use `threads` threads, one in
// a forked child; the setting before is restored. Does nothing where oneDNN is built without OpenMP.
class ScopedOpenMPThreads {
public:
    explicit ScopedOpenMPThreads(int threads) noexcept;
    ~ScopedOpenMPThreads();
    ScopedOpenMPThreads(const ScopedOpenMPThreads&) = delete;
    ScopedOpenMPThreads& operator=(const ScopedOpenMPThreads&) = delete;

private:
    int before_;
};

// File name of the OpenMP library that oneDNN has loaded, "libgomp.so.1" for example; empty where it uses none.
std::string openmp_library();

}  // namespace dnnmove::onednn
