// The Python face of the process: threads, caches, how the extension was built.
#pragma once

namespace pybind11 {
class module_;
}

namespace dnnmove {

void register_runtime(pybind11::module_& module);

}  // namespace dnnmove
