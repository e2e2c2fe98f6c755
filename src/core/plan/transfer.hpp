// A transfer: one nest from one buffer to another, and what becomes of its elements on their way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plan/nest.hpp"
#include "plan/sink.hpp"

namespace dnnmove {

// `src` and `dst` are positions in the pointer lists given to Program::execute; kZeroSource stands for a source of zero bytes
// (padding), kConstantSource for the transfer's own.
inline constexpr int kZeroSource = -1;
inline constexpr int kConstantSource = -2;
using Constant = std::shared_ptr<const std::vector<std::byte>>;
struct Transfer {
    int src = 0;
    int dst = 0;
    Nest nest;
    // The same for more sources: copy k of `count` reads source src + k * src_step, and lies k pitches (bytes) farther.
    struct Repeat {
        std::int64_t count = 1;
        std::int64_t src_step = 0;
        std::int64_t src_pitch = 0;
        std::int64_t dst_pitch = 0;
    };
    Repeat repeat = {};
    Constant constant = nullptr;  // of kConstantSource
    // What becomes of the elements on their way out; null where they stay as they are. The nest's itemsize is then that
    // of the source, and its strides are those of either side.
    std::shared_ptr<const Sink> sink = nullptr;
    // The same loops; where their destination lies is the position of an element's scale and shift. Null without.
    std::shared_ptr<const Nest> parameters = nullptr;

    std::int64_t dst_bytes() const { return sink ? sink->dst_bytes : nest.itemsize; }  // of an element
    bool repeats() const { return repeat.count > 1; }
    bool empty() const { return nest.itemsize == 0; }  // as make_canonical leaves those that copy nothing
};

// Makes nests canonical, but for those with a sink.
void make_canonical(std::vector<Transfer>& transfers);

// What a transfer reads that is none of the caller's sources; else null.
const std::byte* constant_of(const Transfer& transfer);

// "source 0", "each of 1000 sources from 0 on", and where it is not the next one "by 2".
std::string name_of_sources(int src, const Transfer::Repeat& repeat);

// After so many copies their destinations are aligned as before. What is aligned better than all destinations are, to
// `alignment`, makes no difference.
std::int64_t period_of(const Transfer::Repeat& repeat, std::int64_t alignment);

}  // namespace dnnmove
