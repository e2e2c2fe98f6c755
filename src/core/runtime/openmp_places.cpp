#include "runtime/openmp_places.hpp"

#if defined(__linux__)
#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace dnnmove {
namespace {

// Of one library; a process may have several, each that of a package of Python's.
struct OpenMP {
    int (*get_proc_bind)();
    int (*get_num_places)();
    int (*get_place_num_procs)(int place);
    void (*get_place_proc_ids)(int place, int* ids);
};

bool look_up_functions(const char* path, OpenMP& openmp) {
    void* const library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return false;
    const auto look_up = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
        return function != nullptr;
    };
    // (A link of that name may lead to LLVM's library, which this call would start.)
    const bool found = dlsym(library, "__kmpc_global_thread_num") == nullptr &&
                       look_up(openmp.get_proc_bind, "omp_get_proc_bind") &&
                       look_up(openmp.get_num_places, "omp_get_num_places") &&
                       look_up(openmp.get_place_num_procs, "omp_get_place_num_procs") &&
                       look_up(openmp.get_place_proc_ids, "omp_get_place_proc_ids");
    dlclose(library);  // whoever has loaded it keeps it
    return found;
}

cpu_set_t cpus_of_place(const OpenMP& openmp, int place) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    std::array<int, CPU_SETSIZE> ids;
    const int count = openmp.get_place_num_procs(place);
    if (count < 0 || count > CPU_SETSIZE) return cpus;
    openmp.get_place_proc_ids(place, ids.data());
    for (int k = 0; k < count; ++k) {
        const int id = ids[static_cast<std::size_t>(k)];
        if (id >= 0 && id < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(id), &cpus);
    }
    return cpus;
}

// (To be opened only when the walk over all libraries is over, which holds a lock of the linker's.)
std::vector<std::string> loaded_libgomps() {
    std::vector<std::string> paths;
    const auto note = [](dl_phdr_info* info, std::size_t, void* opaque) {
        const std::string_view path = info->dlpi_name;
        if (path.substr(path.rfind('/') + 1).starts_with("libgomp")) {
            static_cast<std::vector<std::string>*>(opaque)->emplace_back(path);
        }
        return 0;
    };
    dl_iterate_phdr(note, &paths);
    return paths;
}

bool is_set(const char* variable) {
    const char* text = std::getenv(variable);
    return text != nullptr && *text != '\0';
}

// Those of `cpus` that the system lets a thread of this process run on: GOMP_CPU_AFFINITY may name others.
bool keep_granted(cpu_set_t& cpus) {
    cpu_set_t own;
    if (sched_getaffinity(0, sizeof own, &own) != 0 || sched_setaffinity(0, sizeof cpus, &cpus) != 0) return false;
    const bool known = sched_getaffinity(0, sizeof cpus, &cpus) == 0;
    return sched_setaffinity(0, sizeof own, &own) == 0 && known;
}

constexpr int kBindsToMaster = 2;  // omp_proc_bind_master: all threads to one place, which is meant

}  // namespace

OpenMPPlaces find_openmp_places(const cpu_set_t& cpus) {
    OpenMPPlaces places;
    places.first = places.all = cpus;
    if (!is_set("OMP_PROC_BIND") && !is_set("OMP_PLACES") && !is_set("GOMP_CPU_AFFINITY")) return places;
    // The library that was loaded first knows them all; later ones have found the thread bound.
    for (const std::string& path : loaded_libgomps()) {
        OpenMP openmp;
        if (!look_up_functions(path.c_str(), openmp)) continue;
        const int bind = openmp.get_proc_bind();
        if (bind == 0 || bind == kBindsToMaster || openmp.get_num_places() <= 0) continue;
        const cpu_set_t first = cpus_of_place(openmp, 0);
        if (!CPU_EQUAL(&first, &cpus)) continue;
        places.bound = true;
        for (int place = 1; place < openmp.get_num_places(); ++place) {
            const cpu_set_t own = cpus_of_place(openmp, place);
            CPU_OR(&places.all, &places.all, &own);
        }
    }
    places.bound = places.bound && keep_granted(places.all);
    return places;
}

}  // namespace dnnmove
#endif
