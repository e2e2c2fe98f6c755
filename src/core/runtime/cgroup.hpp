// The control groups that limit this process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dnnmove {

// Where the kernel tells the limits of a group, in the files of version 2 or of version 1.
struct CgroupFolder {
    std::string path;
    bool version_2;
};

// Those of the groups that limit what `controller` ("cpu", "memory") gives this process, and of all groups on the way up, each
// of which limits those below it. Looks below `root` as the kernel lays the files out ("" for the machine's own; tests give a
// folder).
std::vector<CgroupFolder> cgroup_folders(std::string_view controller, const std::string& root = "");

}  // namespace dnnmove
