// A program: all the copies of one call, planned once, then executed any number of times.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "plan/context.hpp"
#include "plan/summary.hpp"
#include "plan/transfer.hpp"

namespace dnnmove {

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
