// Plans and runs a few fixed copies, one after another, for an instruction counter to watch.
//
// Each problem is one Program: its constructor is what planning costs, execute what moving costs. Of a chain, folding it
// is part of planning, and the Program is its first pass.
// Without arguments every problem runs once; `--list` prints their names in that order.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "call/operation.hpp"
#include "chain/fold.hpp"
#include "chain/step.hpp"
#include "layout/transfer.hpp"
#include "plan/program.hpp"
#include "runtime/cpu.hpp"

namespace {

using namespace dnnmove;

struct Problem {
    std::string name;
    std::vector<Transfer> transfers;
    std::int64_t src_bytes;
    std::vector<std::int64_t> dst_bytes;
    std::optional<chain::Chain> chain = std::nullopt;  // what the transfers and destinations come from
};

// Every array copied to a dense one of its shape.
Problem copies(std::string name, const std::vector<view::Mosaic>& arrays, std::int64_t src_bytes) {
    Problem problem{std::move(name), {}, src_bytes, {}};
    for (const view::Mosaic& array : arrays) {
        for (const Nest& nest : array.dense_nests()) {
            problem.transfers.push_back(Transfer{0, static_cast<int>(problem.dst_bytes.size()), nest});
        }
        problem.dst_bytes.push_back(array.bytes());
    }
    return problem;
}

// An operation of a row-major array.
Problem applied(std::string name, Op op, const Dims& parameters, const Dims& shape, std::int64_t itemsize) {
    const auto data = view::Mosaic::dense(shape, itemsize);
    return copies(std::move(name), apply(op, parameters, data, "data"), data.bytes());
}

Problem transpose(std::string name, const Dims& shape, std::int64_t itemsize, const Dims& order) {
    return applied(std::move(name), Op::transpose, order, shape, itemsize);
}

Problem shuffle(std::string name, const Dims& shape, std::int64_t itemsize, std::int64_t axis, std::int64_t group) {
    return applied(std::move(name), Op::shuffle_channels, {axis, group}, shape, itemsize);
}

Problem split(std::string name, const Dims& shape, std::int64_t itemsize, const Dims& lengths) {
    Dims parameters{-1};
    parameters.insert(parameters.end(), lengths.begin(), lengths.end());
    return applied(std::move(name), Op::variadic_split, parameters, shape, itemsize);
}

Problem broadcast(std::string name, const Dims& shape, std::int64_t itemsize, const Dims& target) {
    Dims parameters{0, 0, static_cast<std::int64_t>(target.size())};
    parameters.insert(parameters.end(), target.begin(), target.end());
    return applied(std::move(name), Op::broadcast, parameters, shape, itemsize);
}

// A copy of every `step`-th column.
Problem columns(std::string name, std::int64_t rows, std::int64_t width, std::int64_t itemsize, std::int64_t step) {
    const view::Mosaic some({rows, width}, {width * step * itemsize, step * itemsize}, itemsize);
    return copies(std::move(name), {some}, rows * width * step * itemsize);
}

Problem blocked_shuffle(std::string name, const Dims& dims, const std::string& tag, std::int64_t itemsize,
                        std::int64_t group_size) {
    const Layout layout = Layout::tagged(dims, parse_format_tag(tag), itemsize);
    return {std::move(name), shuffle_transfers(layout, 1, group_size), layout.size(), {layout.size()}};
}

Problem chained(std::string name, const Dims& shape, std::int64_t itemsize, const std::vector<chain::StepPtr>& steps) {
    chain::Chain chain(shape, dense_strides(shape, itemsize), itemsize);
    for (const chain::StepPtr& step : steps) chain = chain.then(step);
    return {std::move(name), {}, element_count(shape) * itemsize, {}, std::move(chain)};
}

// 20 steps that fold whole: channels shuffled, cut in two, cropped, turned and put back, twice.
std::vector<chain::StepPtr> steps_of_one_pass() {
    std::vector<chain::StepPtr> steps;
    for (int half = 0; half < 2; ++half) {
        steps.push_back(chain::shuffle_channels(1, 2));
        steps.push_back(chain::transpose({0, 2, 3, 1}));
        steps.push_back(chain::roll(chain::Axes(Dims{3, 3}), chain::Axes(Dims{1, 2})));
        steps.push_back(chain::reshape({2, 4, 7, 4, 7, -1}));
        steps.push_back(chain::transpose({0, 1, 3, 2, 4, 5}));
        steps.push_back(chain::flip(std::int64_t{5}));
        steps.push_back(chain::transpose({0, 1, 3, 2, 4, 5}));
        steps.push_back(chain::reshape({2, 28, 28, -1}));
        steps.push_back(chain::transpose({0, 3, 1, 2}));
        steps.push_back(chain::variadic_split(1, half == 0 ? Dims{48} : Dims{20, 28}));
    }
    return steps;
}

// 20 steps of which no few boxes hold the result: intermediates are searched for.
std::vector<chain::StepPtr> steps_of_several_passes() {
    std::vector<chain::StepPtr> steps;
    for (const std::int64_t low : {6, 35, 22, 21, 10, 77, 55, 15, 14, 33}) {
        steps.push_back(chain::shuffle(0, low));
        steps.push_back(chain::roll(std::int64_t{17}, std::int64_t{0}));
    }
    return steps;
}

// All below a megabyte, so that no machine's cache size changes the plan.
std::vector<Problem> problems() {
    return {
        transpose("transpose 256x512 4 bytes", {256, 512}, 4, {1, 0}),
        transpose("transpose 512x768 1 byte", {512, 768}, 1, {1, 0}),
        transpose("transpose 300x500 2 bytes", {300, 500}, 2, {1, 0}),
        transpose("transpose 257x383 8 bytes", {257, 383}, 8, {1, 0}),
        transpose("transpose 8x16 4 bytes", {8, 16}, 4, {1, 0}),
        transpose("nhwc to nchw, C = 3, 1 byte", {1, 224, 224, 3}, 1, {0, 3, 1, 2}),
        transpose("nchw to nhwc, C = 3, 4 bytes", {1, 3, 224, 224}, 4, {0, 2, 3, 1}),
        transpose("nchw to nhwc, C = 64, 4 bytes", {1, 64, 56, 56}, 4, {0, 2, 3, 1}),
        transpose("heads of attention, 4 bytes", {2, 128, 12, 64}, 4, {0, 2, 1, 3}),
        transpose("rows of 24 bytes", {64, 256, 24}, 1, {1, 0, 2}),
        transpose("rank 6, 4 bytes", {7, 8, 6, 9, 7, 8}, 4, {5, 3, 1, 0, 2, 4}),
        transpose("rank 12, 4 bytes", {2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3}, 4, {11, 4, 7, 0, 9, 2, 5, 10, 1, 8, 3, 6}),
        shuffle("shuffle nchw, g = 3, 4 bytes", {2, 120, 28, 28}, 4, 1, 3),
        shuffle("shuffle nchw 7x7, g = 8, 1 byte", {8, 480, 7, 7}, 1, 1, 8),
        shuffle("shuffle nhwc, g = 3, 4 bytes", {1, 28, 28, 240}, 4, 3, 3),
        shuffle("shuffle nhwc, g = 2, 1 byte", {4, 28, 28, 240}, 1, 3, 2),
        shuffle("shuffle nhwc, g = 8, 2 bytes", {2, 28, 28, 240}, 2, 3, 8),
        blocked_shuffle("shuffle nChw16c with a tail, 4 bytes", {2, 116, 28, 28}, "nChw16c", 4, 58),
        blocked_shuffle("shuffle nChw8c, 1 byte", {4, 240, 28, 28}, "nChw8c", 1, 80),
        split("split 60+120+60, 4 bytes", {900, 240}, 4, {60, 120, 60}),
        split("split 1+1+1, 4 bytes", {60000, 3}, 4, {1, 1, 1}),
        split("split in 93 parts, 4 bytes", {500, 372}, 4, Dims(93, 4)),
        broadcast("broadcast of channels, 4 bytes", {64, 1, 1}, 4, {64, 56, 56}),
        broadcast("broadcast of a row, 1 byte", {1, 3}, 1, {200000, 3}),
        broadcast("broadcast of columns, 4 bytes", {50000, 1}, 4, {50000, 4}),
        columns("every second column, 4 bytes", 300, 400, 4, 2),
        chained("chain of 20 steps in one pass", {2, 48, 28, 28}, 1, steps_of_one_pass()),
        chained("chain of 20 steps in several passes", {2 * 3 * 5 * 7 * 11}, 4, steps_of_several_passes()),
    };
}

void run(Problem problem) {
    if (problem.chain) {
        const chain::Folded folded = chain::fold(*problem.chain);
        problem.transfers = folded.transfers(0);
        for (const auto* all : {&folded.outputs, &folded.intermediates}) {
            for (const chain::Written& written : *all) problem.dst_bytes.push_back(written.mosaic.bytes());
        }
    }
    std::vector<std::byte> src(static_cast<std::size_t>(problem.src_bytes) + 64);
    std::vector<std::vector<std::byte>> dsts;
    std::vector<std::byte*> pointers;
    // 64-byte aligned, whatever the allocator does: the count must not depend on it.
    const auto aligned = [](std::vector<std::byte>& bytes) {
        const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
        return bytes.data() + (64 - address % 64) % 64;
    };
    for (const std::int64_t bytes : problem.dst_bytes) dsts.emplace_back(static_cast<std::size_t>(bytes) + 64);
    for (auto& dst : dsts) pointers.push_back(aligned(dst));
    const std::byte* source = aligned(src);
    PlanOptions options;
    options.dst_alignment = 64;
    options.processor = &kManyStreams;  // whichever this is
    const Program program(problem.transfers, options);
    program.execute(&source, pointers.data(), 1);
}

}  // namespace

int main(int argc, char** argv) {
    const bool list = argc > 1 && std::strcmp(argv[1], "--list") == 0;
    static_cast<void>(last_level_cache());  // reads files, once
    for (Problem& problem : problems()) {
        if (list) {
            std::printf("%s\n", problem.name.c_str());
        } else {
            run(std::move(problem));
        }
    }
    return 0;
}
