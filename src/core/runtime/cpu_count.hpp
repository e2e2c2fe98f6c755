// How many processors this process may use.
#pragma once

#if defined(__linux__)
#include <sched.h>
#endif

namespace dnnmove {

#if defined(__linux__)
// Those that threads of this process may run on: by the affinity mask of its first thread, and where an OpenMP library had
// bound that one to a place when this library was loaded, by all of its places. False where the system does not say.
bool process_cpus(cpu_set_t& cpus) noexcept;
#endif

// How many they are; at least 1.
int affinity_cpus();

// The CPU time that the cgroups of this process grant it, in whole CPUs, rounded up; 0 where they set no limit.
// Looks below `root` as the kernel lays the files out ("" for the machine's own; tests give a folder).
int cgroup_cpus(const char* root = "");

// The smaller of both.
int available_cpus();

}  // namespace dnnmove
