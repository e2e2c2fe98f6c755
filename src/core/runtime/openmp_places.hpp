// Where OpenMP libraries have bound this process's first thread.
#pragma once

#if defined(__linux__)
#include <sched.h>

namespace dnnmove {

// With OMP_PROC_BIND (or GOMP_CPU_AFFINITY) an OpenMP library binds the thread that loads it to one of the places among which
// it is to spread its own. Where `cpus` are those of one place of a library that is loaded, adds those of all its places.
void add_places(cpu_set_t& cpus);

}  // namespace dnnmove
#endif
