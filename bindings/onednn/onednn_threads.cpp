// The OpenMP threads that oneDNN brings: how many of them a call of oneDNN gets.
//
// Which OpenMP library that is, is oneDNN's business: libgomp in pip's wheel, LLVM's or libgomp in conda's. A call of
// omp_set_num_threads that the compiler of *this* extension bound might reach another one, so both functions are
// looked up where oneDNN's own calls go.
#include "onednn/onednn_threads.hpp"

#include <dlfcn.h>

#include <string_view>

#include "onednn/onednn.hpp"
#include "runtime/threads.hpp"

namespace dnnmove::onednn {
namespace {

struct OpenMP {
    int (*get_max_threads)() = nullptr;
    void (*set_num_threads)(int) = nullptr;
};

OpenMP find_openmp() {
    OpenMP found;
    if (cpu_runtime() != "OpenMP") return found;
    Dl_info info;
    void* library = nullptr;
    if (dladdr(address_in_library(), &info) != 0 && info.dli_fname != nullptr) {
        library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    }
    // oneDNN and what it depends on; everything, where oneDNN is part of this extension.
    void* const scope = library == nullptr ? RTLD_DEFAULT : library;
    found.get_max_threads = reinterpret_cast<int (*)()>(dlsym(scope, "omp_get_max_threads"));
    found.set_num_threads = reinterpret_cast<void (*)(int)>(dlsym(scope, "omp_set_num_threads"));
    if (library != nullptr) dlclose(library);  // it stays loaded: this extension needs it
    if (found.get_max_threads == nullptr || found.set_num_threads == nullptr) return {};
    return found;
}

const OpenMP& openmp() {
    static const OpenMP found = find_openmp();
    return found;
}

// Found when the library is loaded, rather than by a first call, in which a fork would find it half done.
[[maybe_unused]] const OpenMP& loaded = openmp();

}  // namespace

ScopedOpenMPThreads::ScopedOpenMPThreads(int threads) noexcept : before_(0) {
    if (openmp().get_max_threads == nullptr) return;
    // libgomp's threads do not survive a fork, and starting new ones in the child hangs.
    const int wanted = forked() ? 1 : threads;
    before_ = openmp().get_max_threads();
    if (wanted != before_) openmp().set_num_threads(wanted);
}

ScopedOpenMPThreads::~ScopedOpenMPThreads() {
    if (before_ != 0 && openmp().get_max_threads() != before_) openmp().set_num_threads(before_);
}

std::string openmp_library() {
    Dl_info info;
    void* const function = reinterpret_cast<void*>(openmp().get_max_threads);
    if (function == nullptr || dladdr(function, &info) == 0 || info.dli_fname == nullptr) return {};
    const std::string_view path = info.dli_fname;
    return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace dnnmove::onednn
