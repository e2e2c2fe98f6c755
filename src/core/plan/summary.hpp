// What a plan is made of, for the text of explain() and for drawings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dnnmove {

// One nest plan: a kernel, the two dimensions that it covers by itself, and the loops around it, outermost first.
struct KernelSummary {
    struct Dimension {
        std::string counts;  // "destination rows"
        std::int64_t extent;
        std::int64_t tile;
        std::int64_t src_stride;  // bytes per step
        std::int64_t dst_stride;
    };
    struct Around {
        std::int64_t extent;
        std::int64_t src_step;  // bytes
        std::int64_t dst_step;
        bool table;            // no step says where its turns lie
        std::string tiles_of;  // the dimension whose tiles it walks; empty for others
    };
    std::string kernel;    // "transpose"
    std::int64_t element;  // bytes
    std::string stores;    // "cached"
    std::vector<Dimension> dimensions;
    std::vector<Around> loops;
    std::string remark;  // what else explain() says of the kernel; may be empty
    std::int64_t units;
    std::int64_t bytes;
};

// A strided copy of a program. Where many parts move as the records of one walk there is no kernel, only text.
struct CopySummary {
    int src = 0;
    int dst = 0;
    std::optional<KernelSummary> kernel;
    std::string text;
    std::int64_t sources = 1;  // that it reads, one after another
};

struct ProgramSummary {
    std::string implementation;  // "native:avx512"
    std::int64_t bytes = 0;      // written
    std::size_t nests = 0;
    std::vector<CopySummary> copies;  // the first of them
};

}  // namespace dnnmove
