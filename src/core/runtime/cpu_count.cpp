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

// Every group on the way up limits those below it.
template <class Read>
int smallest(const std::string& mount, std::string group, const Read& read) {
    int least = 0;
    while (true) {
        const int cpus = read(mount + group);
        if (cpus > 0) least = least == 0 ? cpus : std::min(least, cpus);
        const std::size_t slash = group.rfind('/');
        if (slash == std::string::npos) return least;
        group.resize(slash);
    }
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
    const std::string base = root;
    // Lines as "0::/user.slice" (v2) or "4:cpu,cpuacct:/docker/1f" (v1).
    std::ifstream groups(base + "/proc/self/cgroup");
    int least = 0;
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        std::string group = line.substr(second + 1);
        if (group == "/") group.clear();
        if (controllers == ",,") {
            least = merge(least, smallest(base + "/sys/fs/cgroup", group, read_v2));
        } else if (controllers.find(",cpu,") != std::string::npos) {
            least = merge(least, smallest(base + "/sys/fs/cgroup/cpu", group, read_v1));
        }
    }
    return least;
}

int available_cpus() { return merge(affinity_cpus(), cgroup_cpus()); }

}  // namespace dnnmove
