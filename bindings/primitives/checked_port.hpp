// The checks of what is passed for a primitive's ports, with what they compare made ready.
#pragma once

#include "python/numpy_api.hpp"

#include <string>

#include "arguments/operand.hpp"
#include "array/disjoint.hpp"
#include "calls/call_arrays.hpp"
#include "primitives/executable.hpp"

namespace dnnmove {

// Borrows the port, which must outlive it. `name` is what errors call the argument.
struct CheckedPort {
    const python::Port* port;
    std::string label;  // "dst[1] (argument 2049)", as errors of execute call it
    PyArray_Descr* descr;
    Extent extent;  // bytes from element (0, 0, ...)
    bool blocked;
    bool c_contiguous;
    bool self_overlaps;  // elements share bytes: it cannot be written

    explicit CheckedPort(const python::Port& source);

    bool matches(const Operand& operand) const;
    // ValueError where it does not match.
    void check(const Operand& operand, const ArgumentName& name) const {
        if (!matches(operand)) refuse(operand, name);
    }
    // The same where it cannot be written, too.
    void check_destination(const Operand& out, const ArgumentName& name) const;
    // Where the bytes of an operand that matches lie.
    Region region(const Operand& operand) const noexcept {
        if (blocked) [[unlikely]]
            return Region::solid(operand.data(), extent);
        return Region::of(operand.footprint(), extent);
    }

private:
    [[noreturn]] void refuse(const Operand& operand, const ArgumentName& name) const;
};

}  // namespace dnnmove
