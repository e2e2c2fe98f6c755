// What the operations share: axis checks and the pieces of their error messages.
#pragma once

#include <string>
#include <string_view>

#include "ops/ops.hpp"
#include "runtime/error.hpp"

namespace dnnmove::ops {

// "group (3)"
inline std::string named(std::string_view argument, std::int64_t value) {
    return std::string(argument) + " (" + std::to_string(value) + ")";
}

// "data.shape[1] (8)"
inline std::string named(std::string_view shape, std::size_t axis, std::int64_t length) {
    return std::string(shape) + "[" + std::to_string(axis) + "] (" + std::to_string(length) + ")";
}

}  // namespace dnnmove::ops
