// Which arrays a built chain takes: those that lie as its source does, of any leading extent that no step fixes.
#include "chains/built_chain.hpp"

#include <algorithm>
#include <cstdlib>

#include "arguments/dtype.hpp"
#include "python/errors.hpp"
#include "tensors/memory.hpp"

namespace dnnmove::python {
namespace {

bool has_elements(std::span<const std::int64_t> shape) { return std::find(shape.begin(), shape.end(), 0) == shape.end(); }

// The first axis along which a step of `shape` goes elsewhere in `strides` than in `expected`; nothing where
// all elements lie alike.
std::optional<std::size_t> differing(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                                     const Dims& expected) {
    if (!has_elements(shape)) return std::nullopt;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] > 1 && strides[axis] != expected[axis]) return axis;
    }
    return std::nullopt;
}

// The strides of `layout` with another leading extent: slower axes of a dense layout move with it.
Dims resized_strides(const Layout& layout, std::int64_t extent) {
    if (layout.dims[0] <= 1 || layout.empty() || !layout.is_dense()) return layout.strides;
    Dims strides = layout.strides;
    for (std::size_t axis = 1; axis < strides.size(); ++axis) {
        if (std::abs(strides[axis]) > std::abs(strides[0])) strides[axis] = strides[axis] / layout.dims[0] * extent;
    }
    return strides;
}

std::string in_elements(std::int64_t stride, std::int64_t itemsize) {
    if (stride % itemsize != 0) return "no whole number of elements";
    const std::int64_t count = stride / itemsize;
    return std::to_string(count) + (count == 1 ? " element" : " elements");
}

}  // namespace

bool BuiltChain::takes(const Operand& x, std::size_t source) const {
    const MemoryDesc& desc = sources[source].desc;
    const Layout& layout = desc.layout;
    return !x.blocked() && x.has_dtype(reinterpret_cast<PyArray_Descr*>(desc.dtype.ptr())) &&
           std::equal(x.shape().begin(), x.shape().end(), layout.dims.begin(), layout.dims.end()) &&
           (layout.itemsize == 0 || !differing(layout.dims, x.strides(), layout.strides));
}

bool BuiltChain::resizable(const Operand& x, std::size_t source) const {
    const MemoryDesc& desc = sources[source].desc;
    const Layout& layout = desc.layout;
    const Dims& dims = layout.dims;
    if (x.blocked() || !x.has_dtype(reinterpret_cast<PyArray_Descr*>(desc.dtype.ptr())) || dims.empty() ||
        x.ndim() != dims.size() || x.shape()[0] == dims[0] ||
        !std::equal(x.shape().begin() + 1, x.shape().end(), dims.begin() + 1)) {
        return false;
    }
    // Where the source has one step along the axis, its stride says nothing.
    Dims shape = to_dims(x.shape());
    Dims expected = layout.strides;
    if (layout.dims[0] <= 1) expected[0] = x.strides()[0];
    return layout.itemsize == 0 || !differing(shape, x.strides(), expected) ||
           !differing(shape, x.strides(), resized_strides(layout, shape[0]));
}

std::shared_ptr<const BuiltChain> BuiltChain::for_sources(const Operand* xs, const Names& name) const {
    const std::size_t count = sources.size();
    std::size_t other = 0;  // the first that does not lie as the chain was built for
    while (takes(xs[other], other)) ++other;
    const std::int64_t extent = xs[other].ndim() == 0 ? 0 : xs[other].shape()[0];
    Dims key{extent};
    std::vector<view::Source> layouts;
    for (std::size_t i = 0; i < count; ++i) {
        const bool as_built = takes(xs[i], i);
        if (!as_built && !resizable(xs[i], i)) refuse(xs[i], name(i), i);
        key.insert(key.end(), xs[i].strides().begin(), xs[i].strides().end());
        layouts.push_back({to_dims(xs[i].shape()), to_dims(xs[i].strides())});
    }
    const std::string named = name(other) + ".shape[0]";
    for (std::size_t i = 0; i < count && !chain_.fixes_leading(); ++i) {
        if (layouts[i].shape[0] == extent) continue;
        throw ValueError(named + " is " + std::to_string(extent) + ", but " + name(i) + ".shape[0] is " +
                         std::to_string(layouts[i].shape[0]) +
                         ": axis 0 may have another length than the chain was built for in all sources alike");
    }
    return resized({std::move(key)}, std::move(layouts), other, named);
}

std::shared_ptr<const BuiltChain> BuiltChain::resized(std::vector<Dims> key, std::vector<view::Source> layouts,
                                                      std::size_t other, const std::string& named) const {
    if (auto known = resized_.find(key)) return known;
    const MemoryDesc& desc = sources[other].desc;
    const Dims& shape = layouts[other].shape;
    const std::string extent = named + " is " + std::to_string(shape[0]) + ", but the chain was built for " +
                               std::to_string(desc.layout.dims[0]) + ", and ";
    if (const auto step = chain_.fixes_leading()) {
        throw ValueError(extent + "step " + std::to_string(*step + 1) + ", " + chain_.steps()[*step]->text() +
                         ", fixes axis 0: build a chain for " + to_string(shape));
    }
    std::optional<chain::Chain> steps;
    try {
        steps = chain_.on(layouts);
    } catch (const ValueError& error) {
        throw ValueError(extent + "its steps do not fit " + to_string(shape) + ": " + error.what());
    }
    std::vector<MemoryDesc> descs;
    for (const auto& [dims, strides] : layouts)
        descs.push_back({Layout::strided(dims, strides, desc.layout.itemsize), desc.dtype, {}});
    auto made = std::make_shared<const BuiltChain>(*steps, std::move(descs), max_nests_, tune_);
    return resized_.insert(std::move(key), std::move(made));
}

void BuiltChain::refuse(const Operand& x, const std::string& name, std::size_t source) const {
    const MemoryDesc& desc = sources[source].desc;
    const Layout& layout = desc.layout;
    const Dims shape = to_dims(x.shape());
    if (x.blocked()) {
        throw ValueError(name + " is " + x.memory()->desc.repr() + ", but the chain was built for " + desc.repr() +
                         ": reorder it to a plain layout first");
    }
    if (!x.has_dtype(reinterpret_cast<PyArray_Descr*>(desc.dtype.ptr()))) {
        throw ValueError(name + " has dtype " + x.dtype_name() + ", but the chain was built for " + name_of(desc.dtype) +
                         ": build a chain for that dtype");
    }
    const std::string built = ", but the chain was built for " + to_string(layout.dims);
    if (shape.size() != layout.ndim()) {
        throw ValueError(name + " has " + std::to_string(shape.size()) + " dimensions, " + to_string(shape) + built +
                         ": build a chain for that shape");
    }
    for (std::size_t axis = 1; axis < shape.size(); ++axis) {
        if (shape[axis] == layout.dims[axis]) continue;
        throw ValueError(name + ".shape[" + std::to_string(axis) + "] is " + std::to_string(shape[axis]) + " in " +
                         to_string(shape) + built + ": build a chain for that shape");
    }
    // Only the strides are left.
    const Dims expected = shape[0] == layout.dims[0] ? layout.strides : resized_strides(layout, shape[0]);
    const std::size_t axis = differing(shape, x.strides(), expected).value_or(0);
    const bool dense = expected == dense_strides(shape, layout.itemsize);
    const bool whole = std::ranges::all_of(x.strides(), [&](auto stride) { return stride % layout.itemsize == 0; });
    // Chains start from whole elements only.
    const std::string anew = whole ? "build a chain for that layout (Chain.of)"
                                   : "build a chain for np.ascontiguousarray(" + name + ")";
    throw ValueError(name + ".strides[" + std::to_string(axis) + "] is " + in_elements(x.strides()[axis], layout.itemsize) +
                     ", but the chain was built for " + in_elements(expected[axis], layout.itemsize) + ": " +
                     (dense && !whole ? "" : anew) + (dense && whole ? " or " : "") +
                     (dense ? "pass a copy (np.ascontiguousarray)" : ""));
}

}  // namespace dnnmove::python
