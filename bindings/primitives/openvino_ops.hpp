// ShuffleChannels, Transpose, VariadicSplit and Broadcast as primitives: Desc -> primitive.
#pragma once

namespace pybind11 {
class module_;
}

namespace dnnmove {

void register_openvino_ops(pybind11::module_& module);

}  // namespace dnnmove
