// What a primitive object runs: ports (one per argument) and a function over raw pointers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "call/title.hpp"
#include "onednn/onednn.hpp"
#include "tensors/memory_desc.hpp"

namespace dnnmove::trace {
class Call;
}

namespace dnnmove::python {

// One argument of `execute`: oneDNN's number, the name that errors use, and what it must look like.
struct Port {
    int arg;
    std::string name;  // "src", "diff_dst", "dst[1]"
    MemoryDesc desc;
};

// Immutable once built; held by shared_ptr. Constructed and destroyed with the GIL held.
class Executable {
public:
    virtual ~Executable() = default;
    Title title;
    // In the order of the pointers that `run` takes.
    std::vector<Port> sources;
    std::vector<Port> destinations;
    // What `execute` also takes as ARG_SCRATCHPAD, for code that follows oneDNN's flow; it is not used.
    std::optional<MemoryDesc> scratchpad;

    // Pointers to element (0, 0, ...) of each port, whose memory matches the port's descriptor; no
    // destination shares a byte with a source or another destination. Called without the GIL, from
    // many threads at once; throws nothing but OneDnnError and std::bad_alloc. `stream` may be null; `call` is null
    // unless somebody watches: then all work is done by it.
    virtual void run(const std::byte* const* srcs, std::byte* const* dsts, const onednn::Stream* stream,
                     trace::Call* call) const = 0;
    // Trips through memory.
    virtual std::size_t passes() const { return 1; }
    // Will `run` measure variants of its plan first? It takes long then, however little it copies.
    virtual bool tunes(std::byte* const* /*dsts*/) const noexcept { return false; }
    // "native:avx512", "onednn:jit:avx512_core"
    virtual std::string impl_info() const = 0;
    virtual std::string explain() const = 0;
};

}  // namespace dnnmove::python
