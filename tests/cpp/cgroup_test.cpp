// What control groups leave to a process, read from folders with files as the kernel lays them out.
#include "runtime/cgroup.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "test.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/cpu_count.hpp"

using namespace dnnmove;

namespace {

// A folder with files as the kernel lays them out.
class FakeRoot {
public:
    FakeRoot() {
        std::string pattern = (std::filesystem::temp_directory_path() / "dnnmove-cgroup-XXXXXX").string();
        path_ = mkdtemp(pattern.data());
    }
    ~FakeRoot() { std::filesystem::remove_all(path_); }
    void put(const std::string& file, const std::string& text) const {
        const std::filesystem::path path = path_ + file;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    int cpus() const { return cgroup_cpus(path_.c_str()); }
    std::size_t memory() const { return cgroup_memory_bytes(path_.c_str()); }

private:
    std::string path_;
};

}  // namespace

TEST_CASE("quotas of cgroups bound the threads") {
    {
        const FakeRoot root;
        CHECK(root.cpus() == 0);
        root.put("/proc/self/cgroup", "0::/a.slice/b\n");
        CHECK(root.cpus() == 0);
        root.put("/sys/fs/cgroup/a.slice/b/cpu.max", "max 100000\n");
        CHECK(root.cpus() == 0);
        root.put("/sys/fs/cgroup/a.slice/b/cpu.max", "350000 100000\n");
        CHECK(root.cpus() == 4);
        root.put("/sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n");
        CHECK(root.cpus() == 2);
        root.put("/sys/fs/cgroup/cpu.max", "1000 100000\n");  // as a container sees its own group
        CHECK(root.cpus() == 1);
    }
    {
        const FakeRoot root;
        root.put("/proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/docker/1f\n1:name=systemd:/\n");
        root.put("/sys/fs/cgroup/cpu/docker/1f/cpu.cfs_quota_us", "-1\n");
        root.put("/sys/fs/cgroup/cpu/docker/1f/cpu.cfs_period_us", "100000\n");
        CHECK(root.cpus() == 0);
        root.put("/sys/fs/cgroup/cpu/docker/1f/cpu.cfs_quota_us", "250000\n");
        CHECK(root.cpus() == 3);
    }
    {
        const FakeRoot root;
        root.put("/proc/self/cgroup", "0::/\n");
        root.put("/sys/fs/cgroup/cpu.max", "nonsense\n");
        CHECK(root.cpus() == 0);
        root.put("/sys/fs/cgroup/cpu.max", "0 0\n");
        CHECK(root.cpus() == 0);
    }
    CHECK(affinity_cpus() >= 1);
    CHECK(available_cpus() >= 1);
    CHECK(available_cpus() <= affinity_cpus());
}

TEST_CASE("limits of cgroups bound the buffers that are kept") {
    {
        const FakeRoot root;
        CHECK(root.memory() == 0);
        root.put("/proc/self/cgroup", "0::/job.slice/step\n");
        root.put("/sys/fs/cgroup/job.slice/step/memory.max", "max\n");
        CHECK(root.memory() == 0);
        root.put("/sys/fs/cgroup/job.slice/memory.max", "2147483648\n");
        CHECK(root.memory() == 2147483648);
        root.put("/sys/fs/cgroup/job.slice/step/memory.max", "1073741824\n");
        CHECK(root.memory() == 1073741824);
    }
    {
        const FakeRoot root;
        root.put("/proc/self/cgroup", "5:memory:/slurm/job_1\n4:cpu,cpuacct:/x\n");
        root.put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        root.put("/sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "4096000\n");
        root.put("/sys/fs/cgroup/cpu/x/memory.limit_in_bytes", "1\n");
        CHECK(root.memory() == 4096000);
    }
}
