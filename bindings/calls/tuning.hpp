// What dnnmove.tuning needs of the core.
#pragma once

namespace pybind11 {
class module_;
}

namespace dnnmove {

void register_tuning(pybind11::module_& module);

}  // namespace dnnmove
