// What the system says of its caches, read from folders made here.
#include "runtime/cpu.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "test.hpp"

using dnnmove::last_level_cache;
using dnnmove::read_last_level_cache;

namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

// A system's files; gone with this object.
class System {
public:
    System() {
        std::string name = (std::filesystem::temp_directory_path() / "dnnmove-caches-XXXXXX").string();
        root_ = ::mkdtemp(name.data());
    }
    ~System() { std::filesystem::remove_all(root_); }
    System(const System&) = delete;
    System& operator=(const System&) = delete;

    void add_cache(const std::string& size, const std::string& shared_cpu_list) {
        const std::filesystem::path folder = root_ / "sys/devices/system/cpu/cpu0/cache" /
                                             ("index" + std::to_string(caches_++));
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "size") << size << '\n';
        if (!shared_cpu_list.empty()) std::ofstream(folder / "shared_cpu_list") << shared_cpu_list << '\n';
    }
    std::string root() const { return root_.string(); }
    std::int64_t last_level() const { return read_last_level_cache(root_.string()).usable(32 * kMiB); }

private:
    std::filesystem::path root_;
    int caches_ = 0;
};

}  // namespace

TEST_CASE("the largest cache is the last level") {
    System system;
    system.add_cache("48K", "0");
    system.add_cache("64K", "0");
    system.add_cache("2048K", "0");
    system.add_cache("16M", "0-7");
    CHECK(system.last_level() == 16 * kMiB);
}

TEST_CASE("a system that says nothing has the usual cache") {
    CHECK(System().last_level() == 32 * kMiB);
    System garbage;
    garbage.add_cache("many", "0");
    CHECK(garbage.last_level() == 32 * kMiB);
}

TEST_CASE("a guest has no share of a cache that its processor could not have") {
    const auto last_level_of = [](const char* size, const char* cpus) {
        System system;
        system.add_cache(size, cpus);
        return system.last_level() / kMiB;
    };
    CHECK(last_level_of("491520K", "0-1") == 48);
    CHECK(last_level_of("491520K", "0") == 48);
    CHECK(last_level_of("245760K", "0-1") == 32);
    CHECK(last_level_of("491520K", "0-15") == 96);
    CHECK(last_level_of("491520K", "0-7,128-135") == 96);
    CHECK(last_level_of("491520K", "0-239") == 480);
    System guest;
    guest.add_cache("49152K", "0-1");
    CHECK(read_last_level_cache(guest.root()).usable(14 * kMiB) == 14 * kMiB);
    CHECK(read_last_level_cache(guest.root()).usable(kMiB) == 12 * kMiB);
    // Processors that have it for themselves.
    CHECK(last_level_of("32768K", "0-15") == 32);
    CHECK(last_level_of("98304K", "0-15") == 96);
    CHECK(last_level_of("107520K", "0-111") == 105);
    // Lists that say nothing.
    CHECK(last_level_of("491520K", "") == 480);
    CHECK(last_level_of("491520K", "all") == 480);
}

TEST_CASE("this machine has a cache") {
    CHECK(last_level_cache().usable(kMiB) >= kMiB);
    CHECK(last_level_cache().bytes == read_last_level_cache("").bytes);
    CHECK(last_level_cache().cpus == read_last_level_cache("").cpus);
    CHECK(dnnmove::LastLevelCache{}.usable(3 * kMiB) == 3 * kMiB);
}
