// A nest as a failure prints it: the C++ that makes it, so that it can become a test case of its own.
#pragma once

#include <string>

#include "plan/nest.hpp"

namespace testing {

inline std::string braces(const dnnmove::Dims& numbers) {
    std::string text = dnnmove::whole_text(numbers);
    text.front() = '{';
    text.back() = '}';
    return text;
}

inline std::string literal(const dnnmove::Nest& nest) {
    std::string text = "Nest{{";
    for (const dnnmove::Loop& loop : nest.loops) {
        if (text.back() == '}') text += ", ";
        text += "{" + std::to_string(loop.extent) + ", " + std::to_string(loop.src_stride) + ", " +
                std::to_string(loop.dst_stride);
        if (loop.table) {
            text += ", std::make_shared<OffsetTable>(OffsetTable{" + braces(loop.table->src) + ", " + braces(loop.table->dst) +
                    ", " + std::to_string(loop.table->whole) + "})";
        }
        text += "}";
    }
    return text + "}, " + std::to_string(nest.src_offset) + ", " + std::to_string(nest.dst_offset) + ", " +
           std::to_string(nest.itemsize) + "}";
}

}  // namespace testing
