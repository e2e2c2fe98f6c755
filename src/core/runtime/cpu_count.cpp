// How many processors this process may use.
#include "runtime/cpu_count.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "runtime/cgroup.hpp"
#include "runtime/openmp_places.hpp"

namespace dnnmove {
namespace {

// `quota` and `period` in the same unit; a quota that is no positive number means none.
int cpus_of(double quota, double period) {
    if (!(quota > 0) || !(period > 0)) return 0;
    return std::max(1, static_cast<int>(std::min(std::ceil(quota / period), 1e6)));
}

// cgroup v2: "max 100000" or "150000 100000".
int read_v2(const std::string& folder) {
    std::ifstream file(folder + "/cpu.max");
    std::string quota;
    double period = 0;
    if (!(file >> quota >> period) || quota == "max") return 0;
    std::istringstream number(quota);
    double value = 0;
    return number >> value ? cpus_of(value, period) : 0;
}

// cgroup v1: -1 in cpu.cfs_quota_us for no limit.
int read_v1(const std::string& folder) {
    std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
    std::ifstream period_file(folder + "/cpu.cfs_period_us");
    double quota = 0;
    double period = 0;
    return quota_file >> quota && period_file >> period ? cpus_of(quota, period) : 0;
}

int merge(int a, int b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

}  // namespace

#if defined(__linux__)
namespace {

bool cpus_of_first_thread(cpu_set_t& cpus) { return sched_getaffinity(getpid(), sizeof cpus, &cpus) == 0; }

OpenMPPlaces places_at_load() {
    cpu_set_t cpus;
    return cpus_of_first_thread(cpus) ? find_openmp_places(cpus) : OpenMPPlaces();
}

// Asked at load: later a fork could find the linker's lock taken.
const OpenMPPlaces& openmp_places() {
    static const OpenMPPlaces found = places_at_load();
    return found;
}
[[maybe_unused]] const OpenMPPlaces& asked_at_load = openmp_places();

}  // namespace

bool process_cpus(cpu_set_t& cpus) noexcept {
    if (!cpus_of_first_thread(cpus)) return false;
    // Whoever has bound the thread elsewhere since has meant it.
    const OpenMPPlaces& places = openmp_places();
    if (places.bound && CPU_EQUAL(&places.first, &cpus)) cpus = places.all;
    return true;
}
#endif

int affinity_cpus() {
#if defined(__linux__)
    cpu_set_t cpus;
    if (process_cpus(cpus)) return std::max(1, CPU_COUNT(&cpus));
#endif
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int cgroup_cpus(const char* root) {
    int least = 0;
    for (const CgroupFolder& folder : cgroup_folders("cpu", root)) {
        least = merge(least, folder.version_2 ? read_v2(folder.path) : read_v1(folder.path));
    }
    return least;
}

int available_cpus() { return merge(affinity_cpus(), cgroup_cpus()); }

}  // namespace dnnmove
