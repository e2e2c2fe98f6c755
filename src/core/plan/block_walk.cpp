// Planning of a walk over blocks: its loops, the tiles of a block, and how blocks are moved.
#include "plan/block_walk.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "plan/canonical.hpp"
#include "plan/carried_lines.hpp"
#include "runtime/heap_bytes.hpp"

namespace dnnmove {
namespace {

constexpr std::int64_t kRunBytes = 4 * kLine;      // of source and destination that a block covers in a row, at least
constexpr std::int64_t kLongRun = 8 * kLine;       // of the destination: worth streaming wherever it starts
constexpr std::int64_t kDirectBytes = 2 * kLine;   // of a run of the source that needs no stage
constexpr std::int64_t kDirectRunBytes = 1024;     // of such runs that a block far away covers in a row, at least
constexpr std::int64_t kBlockBytes = 64 * 1024;    // of the destination
constexpr std::int64_t kFarBlockBytes = 192 * 1024;
constexpr std::int64_t kMoveRunBytes = 512;  // as kRunBytes, of elements that stay as they are
constexpr std::int64_t kFewBlocks = 8;  // of a nest far away, of whose first block nobody asks ahead for the lines
constexpr std::int64_t kFewBlockBytes = 16 * 1024;  // of the destination that a block has even so
constexpr std::int64_t kShortSpan = 64;  // elements that take the same parameters, too few for a call of their own
constexpr std::int64_t kMostLines = 2048;  // of the source that are asked for ahead of a block
constexpr std::int64_t kMostMovedLines = 8192;  // and of one of elements that stay as they are
constexpr std::int64_t kStreamBytes = 4096;  // of a run that the hardware follows
constexpr std::int64_t kMostParts = 1024;  // of a table of offsets
constexpr double kMovedTwice = 0.04;  // cycles per byte: into the stage and out of it
constexpr std::int64_t kPatternElements = 1024;  // of a pattern of parameters, at least

bool is_linear(const Dims& table) {
    const std::int64_t step = table.size() > 1 ? table[1] - table[0] : 0;
    for (std::size_t k = 0; k < table.size(); ++k) {
        if (table[k] != table[0] + static_cast<std::int64_t>(k) * step) return false;
    }
    return true;
}

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

}  // namespace

BlockWalk::BlockWalk(const Nest& nest, const Nest* parameters, std::shared_ptr<const Sink> sink, const PlanContext& context)
    : kernels_(context.kernels),
      conversions_(&conversions_for(context.kernels->isa)),
      sink_(std::move(sink)),
      src_offset_(nest.src_offset),
      dst_offset_(nest.dst_offset),
      far_(context.beyond_cache) {
    if (parameters != nullptr) parameter_offset_ = parameters->dst_offset;
    add_loops(nest, parameters);
    order_loops();
    join_loops();
    direct_ = is_direct();
    choose_tiles();
    even_tiles();
    choose_parameters();
    choose_stores(context);
    bytes_ = sink_->dst_bytes;
    for (const WalkLoop& loop : loops_) {
        units_ *= loop.tiles();
        bytes_ *= loop.extent;
    }
    if (!direct_) plan_blocks(context);
    // Kernels that do not ask for their lines are helped; where prefetchers follow the source, those that do are not.
    const bool asked = !plans_.empty() && plans_.front().asks_ahead() && context.processor->followed_pages != 0;
    if (far_ && (sink_->changes() || !asked)) list_lines();
}

// Loops of one step vanish; those that go back in the destination are walked from the end.
void BlockWalk::add_loops(const Nest& nest, const Nest* parameters) {
    for (std::size_t k = 0; k < nest.loops.size(); ++k) {
        const Loop& from = nest.loops[k];
        const Loop* const places = parameters == nullptr ? nullptr : &parameters->loops[k];
        WalkLoop loop{from.extent, 1, from.src_stride, from.dst_stride, places == nullptr ? 0 : places->dst_stride, {}, {},
                      {},          0};
        if (from.table) {
            loop.src_table = from.table->src;
            loop.dst_table = from.table->dst;
            loop.parameter_table = places == nullptr || !places->table ? Dims(loop.dst_table.size(), 0) : places->table->dst;
            if (loop.extent == 1) {
                src_offset_ += loop.src_table[0];
                dst_offset_ += loop.dst_table[0];
                parameter_offset_ += loop.parameter_table[0];
            } else if (is_linear(loop.dst_table) && is_linear(loop.parameter_table)) {
                dst_offset_ += loop.dst_table[0];
                parameter_offset_ += loop.parameter_table[0];
                loop.dst_stride = loop.dst_table[1] - loop.dst_table[0];
                loop.parameter_stride = loop.parameter_table[1] - loop.parameter_table[0];
                loop.dst_table.clear();
                loop.parameter_table.clear();
            }
        }
        if (loop.extent == 1) continue;
        if (loop.dst_table.empty() && loop.dst_stride < 0) {
            dst_offset_ += (loop.extent - 1) * loop.dst_stride;
            parameter_offset_ += (loop.extent - 1) * loop.parameter_stride;
            loop.dst_stride = -loop.dst_stride;
            loop.parameter_stride = -loop.parameter_stride;
            if (loop.src_table.empty()) {
                src_offset_ += (loop.extent - 1) * loop.src_stride;
                loop.src_stride = -loop.src_stride;
            } else {
                std::reverse(loop.src_table.begin(), loop.src_table.end());
            }
        }
        loops_.push_back(std::move(loop));
    }
}

void BlockWalk::order_loops() {
    std::stable_sort(loops_.begin(), loops_.end(), [](const WalkLoop& a, const WalkLoop& b) {
        if (a.dst_table.empty() != b.dst_table.empty()) return b.dst_table.empty();
        return a.dst_table.empty() && a.dst_stride > b.dst_stride;
    });
}

void BlockWalk::join_loops() {
    std::vector<WalkLoop> joined;
    for (WalkLoop& loop : loops_) {
        const bool tables = !loop.src_table.empty() || (!joined.empty() && !joined.back().src_table.empty());
        if (!joined.empty() && !tables && joined.back().src_stride == loop.src_stride * loop.extent &&
            joined.back().dst_stride == loop.dst_stride * loop.extent &&
            joined.back().parameter_stride == loop.parameter_stride * loop.extent) {
            loop.extent *= joined.back().extent;
            joined.back() = std::move(loop);
        } else {
            joined.push_back(std::move(loop));
        }
    }
    loops_ = std::move(joined);
}

bool BlockWalk::is_direct() const {
    if (loops_.empty() || sink_->src_bytes >= kLine) return true;
    const WalkLoop& inner = loops_.back();
    return inner.src_table.empty() && inner.src_stride == sink_->src_bytes && inner.dst_stride == sink_->dst_bytes &&
           (loops_.size() == 1 || inner.extent * sink_->src_bytes >= kDirectBytes);
}

void BlockWalk::choose_tiles() {
    const bool moves = far_ && !sink_->changes();
    const std::int64_t stage = moves ? kFarMoveBytes : far_ ? kFarStageBytes : kStageBytes;
    const std::int64_t block = moves ? kFarMoveBytes : far_ ? kFarBlockBytes : kBlockBytes;
    const std::int64_t enough = moves ? kMoveRunBytes : kRunBytes;
    std::int64_t most = std::min(stage / sink_->src_bytes, block / sink_->dst_bytes);
    if (far_) {
        std::int64_t all = 1;
        for (const WalkLoop& loop : loops_) all *= loop.extent;
        most = std::min(most, std::max(all / kFewBlocks, kFewBlockBytes / sink_->dst_bytes));
    }
    most = std::max<std::int64_t>(1, most);  // an element may be larger than a block
    std::int64_t elements = 1;
    // Tiles of `want` steps, as far as the block has room.
    const auto grow = [&](WalkLoop& loop, std::int64_t want) {
        const std::int64_t others = elements / loop.tile;
        const std::int64_t tile = std::min({loop.extent, want, most / others});
        if (tile <= loop.tile || !loop.dst_table.empty() || (direct_ && !loop.src_table.empty())) return;
        loop.tile = tile;
        elements = others * tile;
    };
    if (!direct_) {
        std::int64_t run = sink_->dst_bytes;
        for (std::size_t k = loops_.size(); k-- > 0 && run < enough && loops_[k].dst_stride == run;) {
            grow(loops_[k], (enough + run - 1) / run);
            if (loops_[k].tile < loops_[k].extent) break;
            run *= loops_[k].extent;
        }
    }
    if (!direct_ || far_) {
        const std::int64_t least = direct_ ? kDirectRunBytes : enough;
        std::vector<WalkLoop*> by_source;
        for (WalkLoop& loop : loops_) {
            if (loop.src_table.empty() && loop.src_stride != 0) by_source.push_back(&loop);
        }
        std::sort(by_source.begin(), by_source.end(),
                  [](const WalkLoop* a, const WalkLoop* b) { return std::abs(a->src_stride) < std::abs(b->src_stride); });
        std::int64_t near = sink_->src_bytes;  // bytes of the source that the block covers in a row, but for gaps within lines
        for (WalkLoop* loop : by_source) {
            const std::int64_t stride = std::abs(loop->src_stride);
            if (near >= least || (stride >= kLine && stride > near)) break;
            grow(*loop, (least + stride - 1) / stride);
            near = std::max(near, stride * loop->tile);
            if (loop->tile < loop->extent) break;
        }
    }
    for (std::size_t k = loops_.size(); k-- > 0;) grow(loops_[k], loops_[k].extent);
}

// Tiles as even as may be, and of whole lines along the destination.
void BlockWalk::even_tiles() {
    for (std::size_t k = 0; k < loops_.size(); ++k) {
        WalkLoop& loop = loops_[k];
        if (loop.tile >= loop.extent) continue;
        const std::int64_t line = k + 1 == loops_.size() ? std::max<std::int64_t>(1, kLine / sink_->dst_bytes) : 1;
        const std::int64_t even = round_up((loop.extent + loop.tiles() - 1) / loop.tiles(), line);
        loop.tile = even <= loop.tile ? even : std::max(loop.tile / line * line, std::min(loop.tile, line));
        // Each part of a table is a plan of its own.
        if (!loop.src_table.empty() && loop.tiles() > kMostParts) loop.tile = 1;
    }
}

// Whether loop k goes on where `run` elements of the loops within it end, in the destination.
bool BlockWalk::joins(std::size_t k, std::int64_t run) const {
    return loops_[k].dst_table.empty() && loops_[k].dst_stride == run * sink_->dst_bytes;
}

void BlockWalk::choose_parameters() {
    if (!sink_->varies()) return;
    parameters_ = Parameters::by_span;
    std::size_t carriers = 0;
    for (const WalkLoop& loop : loops_) carriers += loop.parameter_stride != 0 || !loop.parameter_table.empty() ? 1 : 0;
    // The innermost loop that carries parameters, if the destination has no gap before it.
    std::int64_t span = 1;
    std::size_t k = loops_.size();
    while (k > 0 && joins(k - 1, span) && loops_[k - 1].parameter_stride == 0) span *= loops_[--k].extent;
    if (k == 0 || !joins(k - 1, span) || span >= kShortSpan) return;
    const WalkLoop& loop = loops_[k - 1];
    parameter_loop_ = k - 1;
    if (carriers == 1) {
        // Rows of the source have no runs beyond the innermost loop.
        if (direct_ && span > 1) return;
        parameters_ = Parameters::by_pattern;
        const std::int64_t period = span * loop.extent;
        const std::int64_t elements = round_up(std::max(period, kPatternElements), period);
        for (std::int64_t i = 0; i < elements; ++i) {
            const auto at = static_cast<std::size_t>(parameter_offset_ + i / span % loop.extent * loop.parameter_stride);
            scale_pattern_.push_back(sink_->scale[at]);
            shift_pattern_.push_back(sink_->shift[at]);
        }
    } else if (span == 1 && loop.parameter_stride == 1) {
        parameters_ = Parameters::by_array;
    }
}

void BlockWalk::choose_stores(const PlanContext& context) {
    std::int64_t run = 1;
    std::size_t k = loops_.size();
    while (k > 0 && joins(k - 1, run)) {
        run *= loops_[--k].tile;
        if (loops_[k].tile < loops_[k].extent) break;
    }
    bool lines = context.dst_alignment % kLine == 0 && dst_offset_ % kLine == 0 && run * sink_->dst_bytes % kLine == 0;
    for (const WalkLoop& loop : loops_) {
        const bool within = &loop >= loops_.data() + k;
        lines = lines && loop.dst_table.empty() && (within || loop.dst_stride % kLine == 0);
    }
    carries_ = far_ && !lines && can_carry(k, run);
    if (carries_) return;
    nontemporal_ = context.far_beyond_cache && (run * sink_->dst_bytes >= kLongRun || lines);
}

// Whether rows of `run` elements, within the loops from `outermost` on, are to be written by whole lines.
bool BlockWalk::can_carry(std::size_t outermost, std::int64_t run) {
    if (std::any_of(loops_.begin(), loops_.end(), [](const WalkLoop& loop) { return !loop.dst_table.empty(); })) return false;
    if (outermost == loops_.size()) return false;  // single elements
    if (parameters_ == Parameters::by_span && loops_.back().parameter_stride != 0) return false;
    std::int64_t rows = 1;
    for (std::size_t k = 0; k < outermost; ++k) rows *= loops_[k].tile;
    // Runs of the source that follow each other in the destination go on with one row.
    row_loop_ = direct_ && rows > CarriedLines::kRows ? 0 : outermost;
    if (direct_) return loops_.back().tile * sink_->dst_bytes <= CarriedLines::kPieceBytes;
    return rows <= CarriedLines::kRows && run * sink_->dst_bytes <= CarriedLines::kPieceBytes;
}

void BlockWalk::plan_blocks(const PlanContext& context) {
    PlanContext staging{context.kernels, false, context.near, kLine, 0};
    staging.processor = context.processor;
    staging.far_source = far_ && !sink_->changes();
    std::int64_t count = 1;
    for (WalkLoop& loop : loops_) {
        loop.first_plan = count;
        count *= loop.kinds();
    }
    plans_.reserve(static_cast<std::size_t>(count));
    for (std::int64_t number = 0; number < count; ++number) {
        Nest nest;
        nest.itemsize = sink_->src_bytes;
        std::int64_t stage = sink_->src_bytes;
        for (std::size_t k = loops_.size(); k-- > 0;) {
            const WalkLoop& loop = loops_[k];
            const std::int64_t kind = number / loop.first_plan % loop.kinds();
            const bool listed = !loop.src_table.empty() && loop.tile > 1;
            const std::int64_t steps = loop.steps(listed ? kind : kind == 0 ? 0 : loop.tiles() - 1);
            Loop part{steps, loop.src_stride, stage, nullptr};
            if (listed) {
                auto table = std::make_shared<OffsetTable>();
                for (std::int64_t i = 0; i < steps; ++i) {
                    table->src.push_back(loop.src_table[static_cast<std::size_t>(kind * loop.tile + i)]);
                    table->dst.push_back(i * stage);
                }
                part = Loop{steps, 0, 0, std::move(table)};
            }
            stage *= steps;
            nest.loops.insert(nest.loops.begin(), std::move(part));
        }
        plans_.emplace_back(canonical(std::move(nest)), staging);
    }
}

// The hardware does not see where the next block's short runs begin.
void BlockWalk::list_lines() {
    std::vector<const WalkLoop*> loops;
    for (const WalkLoop& loop : loops_) {
        if (!loop.src_table.empty() && loop.tile > 1) return;
        if (loop.tile > 1 && loop.src_stride != 0) loops.push_back(&loop);
    }
    std::sort(loops.begin(), loops.end(),
              [](const WalkLoop* a, const WalkLoop* b) { return std::abs(a->src_stride) < std::abs(b->src_stride); });
    std::int64_t first = 0;  // of a run, from the block's base
    std::int64_t run = sink_->src_bytes;  // bytes
    std::size_t k = 0;
    for (; k < loops.size() && std::abs(loops[k]->src_stride) <= std::max(run, kLine); ++k) {
        const std::int64_t reach = loops[k]->src_stride * (loops[k]->tile - 1);
        first += std::min<std::int64_t>(reach, 0);
        run += std::abs(reach);
    }
    std::int64_t runs = 1;
    for (std::size_t j = k; j < loops.size(); ++j) runs *= loops[j]->tile;
    if (runs * (run / kLine + 2) > (sink_->changes() ? kMostLines : kMostMovedLines) || (direct_ && run > kStreamBytes)) return;
    Dims starts{first};
    for (; k < loops.size(); ++k) {
        const std::size_t count = starts.size();
        for (std::int64_t step = 1; step < loops[k]->tile; ++step) {
            for (std::size_t i = 0; i < count; ++i) starts.push_back(starts[i] + step * loops[k]->src_stride);
        }
    }
    for (const std::int64_t start : starts) {
        for (std::int64_t at = 0; at < run - 1; at += kLine) ahead_.push_back(start + at);
        ahead_.push_back(start + run - 1);
    }
}

std::optional<BlockWalk> BlockWalk::instead_of(const NestPlan& plan, const Nest& nest, const PlanContext& context) {
    const double worth = plan.worth_of_blocks(*context.processor);
    if (!context.beyond_cache || context.variant.kernel != 0 || context.variant.panel != 0 || std::isinf(worth))
        return std::nullopt;
    if (Problem(nest.loops, nest.itemsize, context).innermost != Problem::Innermost::elements) return std::nullopt;
    const auto tabled = [](const Loop& loop) { return loop.table != nullptr; };
    if (std::any_of(nest.loops.begin(), nest.loops.end(), tabled)) return std::nullopt;
    // What lies along the source's lines in the destination's order, backwards or with gaps, is read by long runs as it is.
    const Loop& inner = nest.loops.back();
    const auto closer = [&](const Loop& loop) { return std::abs(loop.src_stride) < std::abs(inner.src_stride); };
    if (std::abs(inner.src_stride) < kLine && inner.extent * nest.itemsize >= kDirectBytes &&
        std::none_of(nest.loops.begin(), nest.loops.end(), closer)) {
        return std::nullopt;
    }
    auto as_it_is = std::make_shared<Sink>();
    as_it_is->src_bytes = as_it_is->dst_bytes = nest.itemsize;
    PlanContext of_results = context;
    of_results.far_beyond_cache = context.far_beyond_cache || context.processor->streams_blocks;
    BlockWalk walk(nest, nullptr, std::move(as_it_is), of_results);
    if (walk.direct_ || walk.units_ == 1 || worth * walk.cost() >= plan.cost()) return std::nullopt;
    return walk;
}

// Cycles per byte, as of a nest plan.
double BlockWalk::cost() const {
    Runs runs{0, sink_->src_bytes, sink_->dst_bytes};
    const auto goes_on = [&](const WalkLoop& loop) { return std::abs(loop.src_stride) == runs.read && loop.tile > 1; };
    for (auto loop = loops_.begin(); loop != loops_.end();) {
        loop = std::find_if(loops_.begin(), loops_.end(), goes_on);
        if (loop == loops_.end()) break;
        runs.read *= loop->tile;
        if (loop->tile < loop->extent) break;
    }
    for (std::size_t k = loops_.size(); k-- > 0 && loops_[k].dst_stride == runs.written;) {
        runs.written *= loops_[k].tile;
        if (loops_[k].tile < loops_[k].extent) break;
    }
    return plans_.front().cost() + kMovedTwice + cost_of_far_runs(runs, runs.written);
}

std::size_t BlockWalk::memory() const {
    std::size_t bytes = sizeof *this + heap_bytes(loops_) + heap_bytes(scale_pattern_) + heap_bytes(shift_pattern_) +
                        heap_bytes(plans_) + heap_bytes(ahead_) + heap_bytes(sink_->scale) + heap_bytes(sink_->shift);
    for (const WalkLoop& loop : loops_) {
        bytes += heap_bytes(loop.src_table) + heap_bytes(loop.dst_table) + heap_bytes(loop.parameter_table);
    }
    for (const NestPlan& plan : plans_) bytes += plan.memory();
    return bytes;
}

std::string BlockWalk::describe() const {
    std::string text = sink_->describe() + ", " + std::to_string(units_) + (units_ == 1 ? " block" : " blocks") + " of ";
    std::int64_t elements = 1;
    std::string tiles;
    for (const WalkLoop& loop : loops_) {
        elements *= loop.tile;
        if (loop.tile > 1) tiles += (tiles.empty() ? "" : " x ") + std::to_string(loop.tile);
    }
    text += (tiles.empty() ? "1" : tiles) + (elements == 1 ? " element, " : " elements, ");
    if (direct_) {
        text += "straight from the source";
    } else {
        text += std::to_string(elements * sink_->src_bytes) + " bytes staged by " + plans_.front().describe();
    }
    const char* const stores = carries_       ? "nontemporal stores of the results by whole lines, "
                               : nontemporal_ ? "nontemporal stores of the results, "
                                              : "cached stores of the results, ";
    return text + ", " + stores + std::to_string(bytes_) + " bytes";
}

}  // namespace dnnmove
