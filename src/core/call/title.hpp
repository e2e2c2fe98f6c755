// What a call is named in traces (trace.hpp), in oneDNN's words where it has them.
#pragma once

#include <string>

namespace dnnmove {

struct Title {
    std::string name = "copy";       // "transpose"
    std::string prop_kind = "undef";
    std::string auxiliary;           // its parameters: "input_order:0x2x3x1"
};

}  // namespace dnnmove
