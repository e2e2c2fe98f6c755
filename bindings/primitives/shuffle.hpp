// The shuffle primitives: descriptors, primitive descriptors with their implementations, executables.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "onednn/onednn.hpp"
#include "primitives/executable.hpp"
#include "primitives/implementations.hpp"
#include "tensors/memory_desc.hpp"

namespace dnnmove::python {

// The problem, validated. `axis` is non-negative.
struct ShuffleDesc {
    onednn::PropKind prop;
    MemoryDesc data;  // of source and destination
    std::size_t axis;
    std::int64_t group_size;
    bool tune = false;  // native only

    bool backward() const { return prop == onednn::PropKind::backward_data; }
    // Throws AxisError and ValueError; `name` is what they call the descriptor.
    static ShuffleDesc make(onednn::PropKind prop, const MemoryDesc& data, std::int64_t axis, std::int64_t group_size,
                            const std::string& name);
};

// A problem and the implementations that can run it, best first, one of them current.
class ShufflePd {
public:
    // `implementation`: "auto", "native", "onednn" or an entry of `implementations`. Throws
    // UnimplementedError where the forced one is not to be had.
    ShufflePd(ShuffleDesc desc, const std::shared_ptr<onednn::Engine>& engine, const std::string& implementation);

    const ShuffleDesc& desc() const { return desc_; }
    const std::shared_ptr<onednn::Engine>& engine() const { return engine_; }
    std::vector<std::string> implementations() const { return implementations_.names(); }
    std::string info() const { return implementations_.current().name; }
    const std::string& choice() const { return implementations_.choice(); }
    bool next() { return implementations_.next(); }
    std::int64_t scratchpad_bytes() const;
    // Plans (native) or takes oneDNN's primitive.
    std::shared_ptr<const Executable> build() const;

private:
    ShuffleDesc desc_;
    std::shared_ptr<onednn::Engine> engine_;
    Implementations<onednn::Shuffle> implementations_;
};

void register_shuffle(pybind11::module_& module);

}  // namespace dnnmove::python
