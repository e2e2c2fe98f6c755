// Executes a walk over blocks: moves each into the stage, and lets the sink take it to the destination.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "plan/block_walk.hpp"
#include "plan/carried_lines.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace dnnmove {
namespace {

constexpr std::int64_t kScattered = 256;  // elements converted at once where the destination has gaps between them

// Rounding to nearest, and denormal numbers as they are, whatever the thread was told before.
class PlainFloats {
public:
#if defined(__SSE2__)
    PlainFloats() noexcept : before_(_mm_getcsr()) { _mm_setcsr(0x1F80); }
    ~PlainFloats() { _mm_setcsr(before_); }

private:
    unsigned int before_;
#else
    PlainFloats() noexcept {}
    ~PlainFloats() {}
#endif

public:
    PlainFloats(const PlainFloats&) = delete;
    PlainFloats& operator=(const PlainFloats&) = delete;
};

}  // namespace

// One block: where it lies, and how many steps of each loop it has.
struct BlockWalk::Block {
    std::int64_t src;
    std::int64_t dst;
    std::int64_t parameter;
    std::int64_t plan;
    std::int64_t elements;
    std::int64_t steps[kMaxLoops];
};

BlockWalk::Block BlockWalk::block_at(std::int64_t unit) const noexcept {
    Block block;
    block.src = src_offset_;
    block.dst = dst_offset_;
    block.parameter = parameter_offset_;
    block.plan = 0;
    block.elements = 1;
    for (std::size_t k = loops_.size(); k-- > 0;) {
        const WalkLoop& loop = loops_[k];
        const std::int64_t at = unit % loop.tiles();
        unit /= loop.tiles();
        const std::int64_t first = at * loop.tile;
        const auto index = static_cast<std::size_t>(first);
        if (loop.src_table.empty()) {
            block.src += first * loop.src_stride;
        } else if (loop.tile == 1) {
            block.src += loop.src_table[index];
        }
        block.dst += loop.dst_table.empty() ? first * loop.dst_stride : loop.dst_table[index];
        block.parameter += loop.parameter_table.empty() ? first * loop.parameter_stride : loop.parameter_table[index];
        block.plan += loop.kind(at) * loop.first_plan;
        block.steps[k] = loop.steps(at);
        block.elements *= block.steps[k];
    }
    return block;
}

// What a walk beyond the caches needs: too much for the stacks of some threads.
template <std::int64_t stage_bytes>
struct BlockWalk::FarScratch {
    alignas(64) std::byte stage[stage_bytes];
    CarriedLines lines;
};

void BlockWalk::run(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) const noexcept {
    const PlainFloats floats;
    if (!far_) {
        alignas(64) std::byte stage[kStageBytes];
        return run_blocks(src, dst, begin, end, stage, nullptr);
    }
    // A run cannot fail, whatever memory is left.
    if (!sink_->changes()) {
        const std::unique_ptr<FarScratch<kFarMoveBytes>> scratch(new (std::nothrow) FarScratch<kFarMoveBytes>);
        if (scratch == nullptr) return move_elements(src, dst, begin, end);
        return run_blocks(src, dst, begin, end, scratch->stage, carries_ ? &scratch->lines : nullptr);
    }
    const std::unique_ptr<FarScratch<kFarStageBytes>> scratch(new (std::nothrow) FarScratch<kFarStageBytes>);
    if (scratch == nullptr) return run_on_stack(src, dst, begin, end);
    run_blocks(src, dst, begin, end, scratch->stage, carries_ ? &scratch->lines : nullptr);
}

[[gnu::noinline]] void BlockWalk::run_on_stack(const std::byte* src, std::byte* dst, std::int64_t begin,
                                               std::int64_t end) const noexcept {
    FarScratch<kFarStageBytes> scratch;
    run_blocks(src, dst, begin, end, scratch.stage, carries_ ? &scratch.lines : nullptr);
}

// One by one, without a stage.
void BlockWalk::move_elements(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end) const noexcept {
    const auto bytes = static_cast<std::size_t>(sink_->dst_bytes);
    for (std::int64_t unit = begin; unit < end; ++unit) {
        const Block block = block_at(unit);
        for (std::int64_t element = 0; element < block.elements; ++element) {
            std::int64_t from = block.src;
            std::int64_t to = block.dst;
            std::int64_t rest = element;
            for (std::size_t k = loops_.size(); k-- > 0; rest /= block.steps[k]) {
                from += rest % block.steps[k] * loops_[k].src_stride;
                to += rest % block.steps[k] * loops_[k].dst_stride;
            }
            std::memcpy(dst + to, src + from, bytes);
        }
    }
}

void BlockWalk::run_blocks(const std::byte* src, std::byte* dst, std::int64_t begin, std::int64_t end, std::byte* stage,
                           CarriedLines* lines) const noexcept {
    for (std::int64_t unit = begin; unit < end; ++unit) {
        const Block block = block_at(unit);
        Ahead ahead{nullptr, 0, 0};
        if (!ahead_.empty() && unit + 1 < end) ahead.src = src + block_at(unit + 1).src;
        if (direct_) {
            finish_runs(src + block.src, dst + block.dst, stage, block, ahead, lines);
            continue;
        }
        const NestPlan& plan = plans_[static_cast<std::size_t>(block.plan)];
        plan.run(src + block.src, stage, 0, plan.units());
        if (sink_->conversion && !sink_->swapped.empty()) swap(stage, stage, block.elements, false);
        finish_runs(stage, dst + block.dst, stage, block, ahead, lines);
    }
    if (lines != nullptr) lines->finish(*kernels_);
}

// Asks for the lines of the next block that are due when so many elements of this one have left, into the second-level cache: the
// first has no room for a block. (Zen 4, 30 random permutations of 17 to 150 MB, against all caches: AVX2 1.26 times as fast by
// one thread, 1.09 by two, the portable kernels 1.15 and 1.07.)
void BlockWalk::prefetch(Ahead& ahead, std::int64_t elements, const Block& block) const noexcept {
    if (ahead.src == nullptr) return;
    ahead.elements += elements;
    const auto due = static_cast<std::size_t>(static_cast<std::int64_t>(ahead_.size()) * ahead.elements / block.elements);
    for (; ahead.line < due; ++ahead.line) __builtin_prefetch(ahead.src + ahead_[ahead.line], 0, 2);
}

// `src`: the block in the stage, or in the source where that is not used.
void BlockWalk::finish_runs(const std::byte* src, std::byte* dst, std::byte* stage, const Block& block, Ahead ahead,
                            CarriedLines* lines) const noexcept {
    // The loops of one run of the destination.
    std::size_t around = loops_.size();
    std::int64_t run = 1;
    while (around > 0 && joins(around - 1, run)) {
        if (direct_ && run > 1) break;
        if (direct_ && loops_[around - 1].src_stride != sink_->src_bytes) break;
        if (parameters_ == Parameters::by_span && loops_[around - 1].parameter_stride != 0) break;
        run *= block.steps[--around];
        if (parameters_ == Parameters::by_array && around == parameter_loop_) break;
    }
    // Elements with gaps between them are converted some at a time all the same.
    const bool scattered = around == loops_.size() && around > 0 && !direct_;
    if (scattered) run = block.steps[--around];

    std::int64_t src_strides[kMaxLoops];
    std::int64_t at[kMaxLoops];
    std::int64_t stage_stride = sink_->src_bytes * run;
    for (std::size_t k = around; k-- > 0;) {
        at[k] = 0;
        src_strides[k] = direct_ ? loops_[k].src_stride : stage_stride;
        stage_stride *= block.steps[k];
    }
    std::int64_t parameter = block.parameter;
    std::int64_t row = 0;
    for (;;) {
        prefetch(ahead, run, block);
        if (lines != nullptr) {
            const bool changes = sink_->changes();
            if (changes) finish_run(src, lines->room(), stage, run, parameter);
            lines->put(row, changes ? lines->room() : src, dst, run * sink_->dst_bytes, *kernels_);
        } else if (scattered) {
            finish_scattered(src, dst, stage, run, parameter);
        } else {
            finish_run(src, dst, stage, run, parameter);
        }
        std::size_t k = around;
        for (; k-- > 0;) {
            const WalkLoop& loop = loops_[k];
            const std::int64_t back = ++at[k] < block.steps[k] ? 0 : block.steps[k];
            src += (1 - back) * src_strides[k];
            dst += (1 - back) * loop.dst_stride;
            parameter += (1 - back) * loop.parameter_stride;
            if (back == 0) {
                row += k < row_loop_ ? 1 : 0;
                break;
            }
            at[k] = 0;
        }
        if (k == static_cast<std::size_t>(-1)) return;
    }
}

// `parameter`: that of the first element.
void BlockWalk::finish_run(const std::byte* src, std::byte* dst, std::byte* stage, std::int64_t count,
                           std::int64_t parameter) const noexcept {
    if (!sink_->changes()) return copy(src, dst, count * sink_->dst_bytes);
    if (!sink_->conversion) return swap(src, dst, count, nontemporal_);
    if (direct_ && !sink_->swapped.empty()) {
        swap(src, stage, count, false);  // no tile is larger than the stage
        src = stage;
    }
    const Sink& sink = *sink_;
    if (sink.scale.empty()) return convert(src, dst, count, nullptr);
    if (parameters_ == Parameters::one || parameters_ == Parameters::by_span) {
        const ScaleShift with{&sink.scale[static_cast<std::size_t>(parameter)],
                              &sink.shift[static_cast<std::size_t>(parameter)], 0};
        return convert(src, dst, count, &with);
    }
    if (parameters_ == Parameters::by_array) {
        const ScaleShift with{&sink.scale[static_cast<std::size_t>(parameter)],
                              &sink.shift[static_cast<std::size_t>(parameter)], 1};
        return convert(src, dst, count, &with);
    }
    const WalkLoop& loop = loops_[parameter_loop_];
    const auto length = static_cast<std::int64_t>(scale_pattern_.size());
    std::int64_t span = 1;
    for (std::size_t k = parameter_loop_ + 1; k < loops_.size(); ++k) span *= loops_[k].extent;
    std::int64_t at = (parameter - parameter_offset_) / loop.parameter_stride * span;
    while (count > 0) {
        const std::int64_t part = std::min(count, length - at);
        const ScaleShift with{scale_pattern_.data() + at, shift_pattern_.data() + at, 1};
        convert(src, dst, part, &with);
        src += part * sink.src_bytes;
        dst += part * sink.dst_bytes;
        count -= part;
        at = 0;
    }
}

void BlockWalk::finish_scattered(const std::byte* src, std::byte* dst, std::byte* stage, std::int64_t count,
                                 std::int64_t parameter) const noexcept {
    const Sink& sink = *sink_;
    const WalkLoop& loop = loops_.back();
    const auto bytes = static_cast<std::size_t>(sink.dst_bytes);
    if (!sink.conversion) {
        // (The stage holds the run, and nobody reads it again.)
        swap(src, stage + (src - stage), count, false);
        for (std::int64_t k = 0; k < count; ++k) std::memcpy(dst + k * loop.dst_stride, src + k * sink.dst_bytes, bytes);
        return;
    }
    alignas(64) std::byte results[kScattered * 4];
    alignas(64) float scales[kScattered];
    alignas(64) float shifts[kScattered];
    for (std::int64_t first = 0; first < count; first += kScattered) {
        const std::int64_t part = std::min(kScattered, count - first);
        const ScaleShift with{scales, shifts, 1};
        for (std::int64_t k = 0; k < part && !sink.scale.empty(); ++k) {
            const auto at = static_cast<std::size_t>(parameter + (first + k) * loop.parameter_stride);
            scales[k] = sink.scale[at];
            shifts[k] = sink.shift[at];
        }
        conversions_->convert[static_cast<int>(sink.conversion->from)][static_cast<int>(sink.conversion->to)](
            src + first * sink.src_bytes, results, part, sink.scale.empty() ? nullptr : &with, false);
        for (std::int64_t k = 0; k < part; ++k) {
            std::memcpy(dst + (first + k) * loop.dst_stride, results + k * sink.dst_bytes, bytes);
        }
    }
}

void BlockWalk::copy(const std::byte* src, std::byte* dst, std::int64_t bytes) const noexcept {
    if (nontemporal_) return kernels_->stream(src, dst, bytes);
    std::memcpy(dst, src, static_cast<std::size_t>(bytes));
}

void BlockWalk::swap(const std::byte* src, std::byte* dst, std::int64_t count, bool nontemporal) const noexcept {
    const Words& first = sink_->swapped.front();
    if (sink_->swapped.size() == 1 && first.bytes * first.count == sink_->src_bytes) {
        return conversions_->swap_words(src, dst, count * first.count, first.bytes, nontemporal);
    }
    for (std::int64_t k = 0; k < count; ++k, src += sink_->src_bytes, dst += sink_->src_bytes) {
        if (src != dst) std::memcpy(dst, src, static_cast<std::size_t>(sink_->src_bytes));
        for (const Words& words : sink_->swapped) {
            conversions_->swap_words(dst + words.offset, dst + words.offset, words.count, words.bytes, false);
        }
    }
}

void BlockWalk::convert(const std::byte* src, std::byte* dst, std::int64_t count, const ScaleShift* with) const noexcept {
    conversions_->convert[static_cast<int>(sink_->conversion->from)][static_cast<int>(sink_->conversion->to)](
        src, dst, count, with, nontemporal_);
}

}  // namespace dnnmove
