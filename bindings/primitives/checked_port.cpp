// The checks of what is passed for a primitive's ports, with what they compare made ready.
#include "primitives/checked_port.hpp"

#include <string>

#include "python/errors.hpp"
#include "tensors/memory.hpp"
#include "view/disjoint.hpp"

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

bool meet(const CheckedPort& a, const Operand& x, const CheckedPort& b, const Operand& y) {
    const auto address = [](const Operand& operand) { return reinterpret_cast<std::intptr_t>(operand.data()); };
    if (a.extent.low == a.extent.high || b.extent.low == b.extent.high) return false;
    if (address(x) + a.extent.high <= address(y) + b.extent.low) return false;
    if (address(y) + b.extent.high <= address(x) + a.extent.low) return false;
    return a.blocked || b.blocked || overlap(x.footprint(), y.footprint());
}

void check_apart(const std::vector<CheckedPort>& sources, const Operands& srcs, const std::vector<CheckedPort>& destinations,
                 const Operands& dsts) {
    const auto refuse = [&](std::size_t k, const CheckedPort& other, const char* why) {
        throw ValueError(destinations[k].port->name + " shares memory with " + other.port->name + why);
    };
    constexpr const char* kInPlace = ": in-place is not possible";
    if ((srcs.size() + dsts.size()) * dsts.size() <= kFewPairs) {
        for (std::size_t k = 0; k < dsts.size(); ++k) {
            for (std::size_t i = 0; i < srcs.size(); ++i) {
                if (meet(sources[i], srcs[i], destinations[k], dsts[k])) refuse(k, sources[i], kInPlace);
            }
        }
        for (std::size_t k = 1; k < dsts.size(); ++k) {
            for (std::size_t i = 0; i < k; ++i) {
                if (meet(destinations[i], dsts[i], destinations[k], dsts[k])) refuse(k, destinations[i], "");
            }
        }
        return;
    }
    const auto regions_of = [](const std::vector<CheckedPort>& ports, const Operands& operands) {
        std::vector<Region> regions;
        regions.reserve(ports.size());
        for (std::size_t i = 0; i < ports.size(); ++i) {
            const Operand& operand = operands[i];
            regions.push_back(ports[i].blocked ? Region::solid(operand.data(), ports[i].extent)
                                               : Region::of(operand.footprint(), ports[i].extent));
        }
        return regions;
    };
    const std::vector<Region> written = regions_of(destinations, dsts);
    if (const auto found = find_shared(regions_of(sources, srcs), written)) {
        refuse(found->second, sources[found->first], kInPlace);
    }
    if (const auto found = find_shared(written)) refuse(found->second, destinations[found->first], "");
}

}  // namespace dnnmove
