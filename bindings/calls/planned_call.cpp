// The eager functions' work: a plan, on arrays that lie as it says.
#include "calls/planned_call.hpp"

#include <algorithm>
#include <stdexcept>

#include "python/errors.hpp"

namespace dnnmove {

void refuse_changed(const ArgumentName& name) {
    throw std::runtime_error(name.text() +
                             " was given another shape, strides or dtype by Python code that ran during the call");
}

void fetch_again(Operand& array, const Placement& planned, const ArgumentName& name) {
    const std::int64_t itemsize = array.itemsize();
    array.fetch(name, true);
    const auto shape = array.shape();
    bool same = array.itemsize() == itemsize &&
                std::equal(shape.begin(), shape.end(), planned.shape.begin(), planned.shape.end());
    for (std::size_t axis = 0; same && axis < shape.size(); ++axis) {
        same = shape[axis] <= 1 || array.strides()[axis] == planned.strides[axis];
    }
    if (!same) refuse_changed(name);
}

}  // namespace dnnmove
