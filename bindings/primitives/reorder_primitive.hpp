// Reorder as a primitive: descriptor, primitive descriptor with its implementations, executable.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "chain/step.hpp"
#include "onednn/onednn.hpp"
#include "primitives/executable.hpp"
#include "primitives/implementations.hpp"
#include "tensors/memory_desc.hpp"

namespace dnnmove::python {

// The problem, validated. Descriptors of the same dims; of dtypes that convert to each other, or of one.
struct ReorderDesc {
    MemoryDesc src;
    MemoryDesc dst;
    chain::Factor scales;
    std::size_t axis = 0;  // along which several lie

    // Throws TypeError, ValueError and AxisError.
    static ReorderDesc make(const MemoryDesc& src, const MemoryDesc& dst, chain::Factor scales, std::int64_t axis);
    bool scaled() const { return !std::holds_alternative<std::monostate>(scales); }
    bool scaled_along_axis() const { return std::holds_alternative<chain::Floats>(scales); }
};

class ReorderPd {
public:
    ReorderPd(ReorderDesc desc, const std::shared_ptr<onednn::Engine>& engine, const std::string& implementation);

    const ReorderDesc& desc() const { return desc_; }
    const std::shared_ptr<onednn::Engine>& engine() const { return engine_; }
    Implementations<onednn::Reorder>& implementations() { return implementations_; }
    const Implementations<onednn::Reorder>& implementations() const { return implementations_; }
    std::int64_t scratchpad_bytes() const;
    std::shared_ptr<const Executable> build() const;

private:
    ReorderDesc desc_;
    std::shared_ptr<onednn::Engine> engine_;
    Implementations<onednn::Reorder> implementations_;
};

void register_reorder_primitive(pybind11::module_& module);

}  // namespace dnnmove::python
