// The checks of what is passed for a primitive's ports, with what they compare made ready.
#include "primitives/checked_port.hpp"

#include <string>

#include "python/errors.hpp"
#include "tensors/memory.hpp"

namespace dnnmove {

CheckedPort::CheckedPort(const python::Port& source)
    : port(&source),
      label(source.name + " (argument " + std::to_string(source.arg) + ")"),
      descr(reinterpret_cast<PyArray_Descr*>(source.desc.dtype.ptr())) {
    const Layout& layout = source.desc.layout;
    blocked = layout.blocked();
    extent = {layout.lowest(), layout.lowest() + layout.span()};
    c_contiguous = !blocked && layout.strides == dense_strides(layout.dims, layout.itemsize);
    self_overlaps = !blocked && !c_contiguous && layout.self_overlaps();
}

bool CheckedPort::matches(const Operand& operand) const {
    const Layout& layout = port->desc.layout;
    const std::size_t ndim = layout.ndim();
    if (blocked || operand.blocked()) return operand.memory() != nullptr && operand.memory()->desc == port->desc;
    if (operand.ndim() != ndim || !operand.has_dtype(descr)) return false;
    const auto shape = operand.shape();
    const auto strides = operand.strides();
    bool same = true;
    bool empty = false;
    for (std::size_t axis = 0; axis < ndim; ++axis) {
        if (shape[axis] != layout.dims[axis]) return false;
        empty = empty || shape[axis] == 0;
        same = same && (shape[axis] <= 1 || strides[axis] == layout.strides[axis]);
    }
    return same || empty;
}

void CheckedPort::refuse(const Operand& operand, const ArgumentName& argument) const {
    const std::string name = argument.text();
    const Layout& layout = port->desc.layout;
    const std::string expected = ", but the primitive was made for " + port->desc.repr();
    if (operand.memory() != nullptr) throw ValueError(name + " is " + operand.memory()->desc.repr() + expected);
    if (blocked) throw ValueError(name + " is an array" + expected + ": a blocked layout needs a Memory");
    if (!operand.has_dtype(descr)) throw ValueError(name + " has dtype " + operand.dtype_name() + expected);
    const Dims shape(operand.shape().begin(), operand.shape().end());
    if (shape != layout.dims) throw ValueError(name + " has shape " + to_string(shape) + expected);
    const Dims strides(operand.strides().begin(), operand.strides().end());
    bool taken_for_elements = layout.itemsize > 1;
    for (std::size_t axis = 0; axis < strides.size(); ++axis) {
        taken_for_elements = taken_for_elements && layout.strides[axis] == strides[axis] * layout.itemsize;
    }
    throw ValueError(name + " has strides " + to_string(strides) + " bytes" + expected + ", whose strides are " +
                     to_string(layout.strides) + " bytes" +
                     (taken_for_elements ? ": a MemoryDesc's layout counts elements, not bytes" : ""));
}

void CheckedPort::check_destination(const Operand& out, const ArgumentName& name) const {
    check(out, name);
    if (!out.writeable()) throw ValueError(name.text() + " is read-only: it must be writeable");
    if (self_overlaps) throw ValueError(name.text() + " has elements that share memory: it cannot be written");
}

}  // namespace dnnmove
