// Where GNU's OpenMP has bound this process's first thread.
#pragma once

#if defined(__linux__)
#include <sched.h>

namespace dnnmove {

// With OMP_PROC_BIND, OMP_PLACES or GOMP_CPU_AFFINITY libgomp binds the thread that loads it to the first of the places among
// which it is to spread its own. LLVM's and Intel's leave that thread alone until they are used, and asking would start them.
struct OpenMPPlaces {
    bool bound = false;
    cpu_set_t first = {};  // the place that the thread is bound to
    cpu_set_t all = {};
};

// Of the libraries that are loaded, where one of them has bound a thread that may run on `cpus`. To be asked while this library
// is loaded and not later: it takes the linker's locks, which a child that is forked meanwhile would find taken.
OpenMPPlaces find_openmp_places(const cpu_set_t& cpus);

}  // namespace dnnmove
#endif
