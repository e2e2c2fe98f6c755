// A program: all the copies of one call, planned once, then executed any number of times.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "plan/nest.hpp"
#include "plan/processor.hpp"
#include "plan/sink.hpp"
#include "plan/summary.hpp"
#include "plan/variant.hpp"
#include "runtime/cpu.hpp"
#include "runtime/isa.hpp"

namespace dnnmove {

// One nest from one buffer to another. `src` and `dst` are positions in the pointer lists given to
// Program::execute; kZeroSource stands for a source of zero bytes (padding), kConstantSource for the transfer's own.
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
};

// What decides a plan besides the nests themselves.
struct PlanOptions {
    Isa isa = best_isa();
    std::int64_t dst_alignment = 1;  // a power of two (bytes, at most 64) that divides every destination base
    Variant variant = {};            // where a measurement has overruled the planner
    const Processor* processor = &this_processor();
    const LastLevelCache* cache = &last_level_cache();
};

// Immutable; execute may be called from many threads at once.
class Program {
public:
    // Throws nothing but std::bad_alloc: the nests are valid by construction.
    explicit Program(std::vector<Transfer> transfers, const PlanOptions& options = {});
    ~Program();
    Program(Program&&) noexcept;
    Program& operator=(Program&&) noexcept;

    // Reads sources, writes destinations; no destination byte may be a source byte. Uses at most
    // `threads` threads and fewer where the work is small. Allocates nothing.
    void execute(const std::byte* const* srcs, std::byte* const* dsts, int threads) const noexcept;

    std::int64_t bytes_written() const;
    // Bytes that the program holds.
    std::size_t memory() const;
    // Several lines: what `execute` with these threads does, and kernel, tiles, stores and loops of every nest.
    std::string explain(int threads) const;
    // The same as values, of at most `most` copies.
    ProgramSummary summary(std::size_t most) const;

private:
    struct Impl;
    std::unique_ptr<const Impl> impl_;
};

}  // namespace dnnmove
