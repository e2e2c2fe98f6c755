// How many processors this process may use.
#pragma once

namespace dnnmove {

// CPUs of the affinity mask of the process (of its first thread); at least 1.
int affinity_cpus();

// The CPU time that the cgroups of this process grant it, in whole CPUs, rounded up; 0 where they set no limit.
// Looks below `root` as the kernel lays the files out ("" for the machine's own; tests give a folder).
int cgroup_cpus(const char* root = "");

// The smaller of both.
int available_cpus();

}  // namespace dnnmove
