// Blocks of the source that a staged walk reads: while the units of one block leave for the destination, the lines of the
// next come into the second-level cache, row after row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/contract.hpp"

namespace dnnmove {

struct Problem;

// What a block is made of.
struct SourceBlocks {
    std::size_t loop = 0;            // of the problem: its steps go along the rows
    std::int64_t steps = 1;          // of it in a block
    std::vector<std::int64_t> rows;  // where the rows of a block begin (bytes)
    std::int64_t run = 0;            // bytes of each

    std::int64_t lines_of_row() const { return run / kLine + 1; }
    std::int64_t lines() const { return static_cast<std::int64_t>(rows.size()) * lines_of_row(); }
};

// Where elements come from many rows, a little of each at a time, and loops outside go along the rows; else null.
std::shared_ptr<const SourceBlocks> find_source_blocks(const Problem& problem, const std::vector<std::size_t>& taken);

// Asks for the lines of a block, some at a time.
class LinesAhead {
public:
    explicit LinesAhead(const SourceBlocks* blocks) : blocks_(blocks) {}

    // The next lines are those of the block at `block`; null: none are.
    void start(const std::byte* block) {
        block_ = block;
        row_ = 0;
        line_ = 0;
    }
    void ask(std::int64_t lines) {
        if (block_ == nullptr) return;
        for (; lines > 0 && row_ < blocks_->rows.size(); --lines) {
            __builtin_prefetch(block_ + blocks_->rows[row_] + line_ * kLine, 0, 2);
            if (++line_ < blocks_->lines_of_row()) continue;
            line_ = 0;
            ++row_;
        }
    }

private:
    const SourceBlocks* blocks_;
    const std::byte* block_ = nullptr;
    std::size_t row_ = 0;
    std::int64_t line_ = 0;
};

// Streams bytes out of a stage and asks for so many lines meanwhile.
void stream_asking(const Kernels& kernels, const std::byte* stage, std::byte* dst, std::int64_t bytes, LinesAhead& ahead,
                   std::int64_t lines) noexcept;

}  // namespace dnnmove
