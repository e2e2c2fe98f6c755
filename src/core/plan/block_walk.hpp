// A walk over blocks of a nest's destination: each is moved into a stage that a cache holds, from where a sink takes it
// to the destination, so that what is converted crosses memory once; and so that both sides are read and written by long runs
// beyond the caches, whatever the order of their loops.
//
// A block covers a tile of every loop, chosen so that the lines of the source that it reads are used while they are
// near, and that rows of the destination are written by whole lines. All whole blocks are moved by one nest plan, whose
// bases change; those at the ends by others. Where the source already lies in runs of the destination's order there
// is no stage. While a block leaves, the lines of the source that the next one reads are asked for; beyond the caches
// the stage lies in the second-level one, and what a block leaves of a line waits for the next (carried_lines.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "plan/sink.hpp"

namespace dnnmove {

class CarriedLines;

class BlockWalk {
public:
    // `parameters` has the loops of `nest`; where its destination lies says which scale and shift an element takes.
    // Null where all take the same. No loop has padding. `context`: as for nest plans.
    BlockWalk(const Nest& nest, const Nest* parameters, std::shared_ptr<const Sink> sink, const PlanContext& context);

    // Where elements stay as they are and go past the caches, and this is faster than `plan` of the same canonical nest.
    static std::optional<BlockWalk> instead_of(const NestPlan& plan, const Nest& nest, const PlanContext& context);

    // Blocks; they may be run in any order.
    std::int64_t units() const { return units_; }
    std::int64_t bytes() const { return bytes_; }  // written
    std::size_t memory() const;
    bool streams() const { return nontemporal_ || carries_; }
    void run(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) const noexcept;
    std::string describe() const;

    static constexpr std::int64_t kStageBytes = 16 * 1024;
    // Where memory, not the core, sets the pace: of elements that change, and of such that stay as they are. (Emerald Rapids, 24
    // permutations of many axes, AVX2, against their nests: 96 KB 1.28, 128 KB 1.30, 192 KB 1.38, 256 KB 1.40, 384 KB 1.44,
    // while kernels still left upper halves of registers in use.)
    static constexpr std::int64_t kFarStageBytes = 96 * 1024;
    static constexpr std::int64_t kFarMoveBytes = 256 * 1024;

private:
    static constexpr std::size_t kMaxLoops = 256;  // as LoopCounter's

    // Step k lies at k * stride, or where the table says; in the destination, at k * stride but for scattered loops.
    struct WalkLoop {
        std::int64_t extent;
        std::int64_t tile = 1;
        std::int64_t src_stride = 0;  // bytes
        std::int64_t dst_stride = 0;
        std::int64_t parameter_stride = 0;
        Dims src_table;
        Dims dst_table;  // and that of the parameters: only of scattered loops, whose tiles are single steps
        Dims parameter_table;
        std::int64_t first_plan = 0;  // weight of the tile's kind in the number of its plan

        std::int64_t tiles() const { return (extent + tile - 1) / tile; }
        std::int64_t steps(std::int64_t at) const { return std::min(tile, extent - at * tile); }
        // Tiles that need plans of their own: each of a table, else whole ones and the rest.
        std::int64_t kinds() const {
            if (!src_table.empty() && tile > 1) return tiles();
            return tiles() > 1 && extent % tile != 0 ? 2 : 1;
        }
        std::int64_t kind(std::int64_t at) const {
            if (!src_table.empty() && tile > 1) return at;
            return kinds() > 1 && at + 1 == tiles() ? 1 : 0;
        }
    };
    // How a run of the destination takes its parameters.
    enum class Parameters { one, by_span, by_array, by_pattern };
    struct Block;

    void add_loops(const Nest& nest, const Nest* parameters);
    void order_loops();
    void join_loops();
    bool is_direct() const;
    void choose_tiles();
    void even_tiles();
    void choose_parameters();
    void choose_stores(const PlanContext& context);
    bool can_carry(std::size_t outermost, std::int64_t run);
    void plan_blocks(const PlanContext& context);
    void list_lines();
    double cost() const;
    bool joins(std::size_t k, std::int64_t run) const;

    Block block_at(std::int64_t unit) const noexcept;
    // The block to come: where it lies, and how much of it has been asked for.
    struct Ahead {
        const std::byte* src;
        std::size_t line;
        std::int64_t elements;  // of the block before it that have left
    };
    template <std::int64_t stage_bytes>
    struct FarScratch;
    void move_elements(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) const noexcept;
    void run_on_stack(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) const noexcept;
    void run_blocks(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end, std::byte* stage,
                    CarriedLines* lines) const noexcept;
    void prefetch(Ahead& ahead, std::int64_t elements, const Block& block) const noexcept;
    void finish_runs(const std::byte* src, std::byte* dst, std::byte* stage, const Block& block, Ahead ahead,
                     CarriedLines* lines) const noexcept;
    void finish_run(const std::byte* src, std::byte* dst, std::byte* stage, std::int64_t count,
                    std::int64_t parameter) const noexcept;
    void finish_scattered(const std::byte* src, std::byte* dst, std::byte* stage, std::int64_t count,
                          std::int64_t parameter) const noexcept;
    void copy(const std::byte* src, std::byte* dst, std::int64_t bytes) const noexcept;
    void swap(const std::byte* src, std::byte* dst, std::int64_t count, bool nontemporal) const noexcept;
    void convert(const std::byte* src, std::byte* dst, std::int64_t count, const ScaleShift* with) const noexcept;

    const Kernels* kernels_;
    const Conversions* conversions_;
    std::shared_ptr<const Sink> sink_;
    std::vector<WalkLoop> loops_;  // those of the destination's large strides first
    std::int64_t src_offset_;
    std::int64_t dst_offset_;
    std::int64_t parameter_offset_ = 0;
    bool far_;  // beyond the caches
    bool direct_ = false;
    bool nontemporal_ = false;
    bool carries_ = false;  // what is left of a line by one block is stored with what the next one brings
    std::size_t row_loop_ = 0;  // carries_: the outermost loop of a row
    Parameters parameters_ = Parameters::one;
    std::size_t parameter_loop_ = 0;  // by_array, by_pattern: that whose positions choose parameters
    std::vector<float> scale_pattern_;  // by_pattern: of every element of a run, repeated
    std::vector<float> shift_pattern_;
    std::vector<NestPlan> plans_;
    Dims ahead_;  // an address in each line of the source that a block reads, from its base; empty: nothing is prefetched
    std::int64_t units_ = 1;
    std::int64_t bytes_ = 0;
};

}  // namespace dnnmove
