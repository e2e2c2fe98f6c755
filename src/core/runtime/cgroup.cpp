// The control groups that limit this process.
#include "runtime/cgroup.hpp"

#include <fstream>

namespace dnnmove {

std::vector<CgroupFolder> cgroup_folders(std::string_view controller, const std::string& root) {
    std::vector<CgroupFolder> folders;
    // Lines as "0::/user.slice" (version 2) or "4:cpu,cpuacct:/docker/1f" (version 1).
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const bool version_2 = controllers == ",,";
        const std::string name(controller);
        if (!version_2 && controllers.find("," + name + ",") == std::string::npos) continue;
        const std::string mount = root + "/sys/fs/cgroup" + (version_2 ? "" : "/" + name);
        std::string group = line.substr(second + 1);
        if (group == "/") group.clear();
        while (true) {
            folders.push_back({mount + group, version_2});
            const std::size_t slash = group.rfind('/');
            if (slash == std::string::npos) break;
            group.resize(slash);
        }
    }
    return folders;
}

}  // namespace dnnmove
