// How the results of a chain leave it: the sink of each, and the copies that go through it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "view/mosaic.hpp"
#include "chain/step.hpp"
#include "plan/transfer.hpp"

namespace dnnmove::chain {

struct Finish {
    std::shared_ptr<const Sink> sink;         // null where elements stay as they are
    std::optional<std::size_t> axis;          // of the result, whose positions choose scale and shift
    std::int64_t itemsize(std::int64_t moved) const { return sink ? sink->dst_bytes : moved; }  // bytes
};

// Of an array of `ndim` dimensions and elements of `itemsize` bytes whose words `swapped` are turned (null: none), and
// which is converted then (null: not).
Finish finish_of(const std::vector<Words>* swapped, const Conversion* conversion, std::size_t ndim, std::int64_t itemsize);

// The copies of `mosaic` from source `src` to destination `dst`, of byte strides `strides`; empty where it is row-major.
std::vector<Transfer> transfers_of(const Mosaic& mosaic, const Dims& strides, const Finish& finish, int src, int dst);

}  // namespace dnnmove::chain
