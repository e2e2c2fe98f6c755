// Sinks: every instruction set's conversions against the portable ones, and walks over blocks against the plainest loop.
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "nest_text.hpp"
#include "plan/program.hpp"
#include "runtime/threads.hpp"
#include "test.hpp"

using namespace dnnmove;

namespace {

using testing::Bytes;
using testing::random_bytes;

struct Problem {
    Nest nest;
    std::shared_ptr<const Nest> parameters;
    std::shared_ptr<const Sink> sink;
    std::size_t src_bytes;
    std::size_t dst_bytes;
};

// What a sink means, element by element, with the portable kernels.
void reference(const Problem& problem, const std::byte* src, std::byte* dst) {
    const Conversions& portable = conversions_for(Isa::scalar);
    const Sink& sink = *problem.sink;
    std::vector<std::int64_t> at(problem.nest.loops.size());
    for (;;) {
        std::int64_t from = problem.nest.src_offset, to = problem.nest.dst_offset;
        std::int64_t parameter = problem.parameters ? problem.parameters->dst_offset : 0;
        for (std::size_t k = 0; k < at.size(); ++k) {
            const Loop& loop = problem.nest.loops[k];
            const auto step = static_cast<std::size_t>(at[k]);
            from += loop.table ? loop.table->src[step] : at[k] * loop.src_stride;
            to += loop.table ? loop.table->dst[step] : at[k] * loop.dst_stride;
            if (!problem.parameters) continue;
            const Loop& place = problem.parameters->loops[k];
            parameter += place.table ? place.table->dst[step] : at[k] * place.dst_stride;
        }
        Bytes element(src + from, src + from + sink.src_bytes);
        for (const Words& words : sink.swapped) {
            for (std::int64_t k = 0; k < words.count; ++k) {
                std::reverse(element.begin() + words.offset + k * words.bytes,
                             element.begin() + words.offset + (k + 1) * words.bytes);
            }
        }
        if (sink.conversion) {
            const auto position = static_cast<std::size_t>(sink.varies() ? parameter : 0);
            const ScaleShift with{sink.scale.data() + position, sink.shift.data() + position, 0};
            portable.convert[static_cast<int>(sink.conversion->from)][static_cast<int>(sink.conversion->to)](
                element.data(), dst + to, 1, sink.scale.empty() ? nullptr : &with, false);
        } else {
            std::memcpy(dst + to, element.data(), element.size());
        }
        std::size_t k = at.size();
        while (k > 0 && ++at[k - 1] == problem.nest.loops[k - 1].extent) at[--k] = 0;
        if (k == 0) return;
    }
}

void check_problem(const Problem& problem, std::mt19937& random) {
    INFO(testing::literal(problem.nest),
         problem.parameters ? ", with parameters " + testing::literal(*problem.parameters) : "");
    for (const std::size_t shift : {std::size_t{0}, std::size_t{1}, std::size_t{4}}) {
        const Bytes src = random_bytes(problem.src_bytes + shift, random);
        const Bytes before = random_bytes(problem.dst_bytes + shift, random);
        Bytes expected = before;
        reference(problem, src.data() + shift, expected.data() + shift);
        for (const Variant::Stores stores : {Variant::Stores::automatic, Variant::Stores::nontemporal}) {
            for (const int threads : {1, 2}) {
                PlanOptions options;
                options.variant.stores = stores;
                Transfer transfer{0, 0, problem.nest};
                transfer.sink = problem.sink;
                transfer.parameters = problem.parameters;
                const Program program({std::move(transfer)}, options);
                Bytes dst = before;
                const std::byte* from = src.data() + shift;
                std::byte* to = dst.data() + shift;
                program.execute(&from, &to, threads);
                INFO("shift ", shift, ": ", program.explain(threads));
                CHECK(testing::difference(dst, expected) == "");
            }
        }
    }
}

// Axes of an array in a random order of the source, and perhaps backwards; `axis` chooses scale and shift.
Problem random_problem(std::mt19937& random, std::int64_t most) {
    const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
    const auto from = static_cast<Number>(upto(kNumbers));
    const auto to = static_cast<Number>(upto(kNumbers));
    auto sink = std::make_shared<Sink>();
    sink->src_bytes = static_cast<std::int64_t>(bytes_of(from));
    sink->dst_bytes = static_cast<std::int64_t>(bytes_of(to));
    const bool swaps = sink->src_bytes > 1 && upto(3) == 0;
    if (swaps) sink->swapped = {{0, sink->src_bytes, 1}};
    if (swaps && upto(2) == 0) {
        sink->dst_bytes = sink->src_bytes;
    } else {
        sink->conversion = Sink::Conversion{from, to};
    }
    const auto rank = static_cast<std::size_t>(1 + upto(4));
    std::vector<std::int64_t> shape(rank);
    std::int64_t left = most;
    for (std::int64_t& length : shape) {
        length = 1 + upto(std::min<std::int64_t>(left, upto(3) == 0 ? 2000 : 40));
        left = std::max<std::int64_t>(1, left / length);
    }
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::int64_t> strides(rank);
    const std::int64_t src_gap = upto(4) == 0 ? 2 : 1;
    std::int64_t elements = src_gap;
    for (const std::size_t axis : order) {
        strides[axis] = elements * sink->src_bytes;
        elements *= shape[axis];
    }
    Problem problem;
    problem.src_bytes = static_cast<std::size_t>(elements * sink->src_bytes);
    const std::int64_t dst_gap = upto(4) == 0 ? 3 : 1;
    std::int64_t lies = dst_gap * sink->dst_bytes;
    const auto axis = static_cast<std::size_t>(upto(static_cast<std::int64_t>(rank)));
    const bool varies = sink->conversion && upto(2) == 0;
    auto parameters = std::make_shared<Nest>();
    problem.nest.itemsize = sink->src_bytes;
    for (std::size_t k = rank; k-- > 0;) {
        Loop loop{shape[k], strides[k], lies, nullptr};
        Loop place{shape[k], strides[k], k == axis ? 1 : 0, nullptr};
        if (upto(4) == 0) {
            problem.nest.src_offset += (shape[k] - 1) * loop.src_stride;
            loop.src_stride = -loop.src_stride;
        }
        if (upto(5) == 0) {
            auto table = std::make_shared<OffsetTable>();
            auto positions = std::make_shared<OffsetTable>();
            for (std::int64_t i = 0; i < shape[k]; ++i) {
                table->src.push_back(upto(shape[k]) * loop.src_stride);
                table->dst.push_back(i * lies);
                positions->src.push_back(0);
                positions->dst.push_back(i * place.dst_stride);
            }
            loop = Loop{shape[k], 0, 0, std::move(table)};
            place = Loop{shape[k], 0, 0, std::move(positions)};
        }
        problem.nest.loops.insert(problem.nest.loops.begin(), std::move(loop));
        parameters->loops.insert(parameters->loops.begin(), std::move(place));
        lies *= shape[k];
    }
    problem.dst_bytes = static_cast<std::size_t>(lies);
    if (varies) {
        for (std::int64_t k = 0; k < shape[axis]; ++k) {
            sink->scale.push_back(static_cast<float>(upto(1000)) / 64 - 5);
            sink->shift.push_back(static_cast<float>(upto(1000)) / 64 - 5);
        }
        problem.parameters = std::move(parameters);
    } else if (sink->conversion && upto(2) == 0) {
        sink->scale = {1.5f};
        sink->shift = {-2.25f};
    }
    problem.sink = std::move(sink);
    return problem;
}

}  // namespace

TEST_CASE("conversions have the same bits on every isa") {
    std::mt19937 random(11);
    const Conversions& portable = conversions_for(Isa::scalar);
    std::vector<float> factors(5000);
    for (float& factor : factors) factor = static_cast<float>(random() % 1000) / 100 - 5;
    for (std::size_t k = 0; k < factors.size(); k += 7) factors[k] *= 1e-41f;  // denormal results
    for (const Isa isa : available_isas()) {
        const Conversions& table = conversions_for(isa);
        for (std::size_t from = 0; from < kNumbers; ++from) {
            for (std::size_t to = 0; to < kNumbers; ++to) {
                INFO(to_string(isa), ", number ", from, " to number ", to);
                for (const std::int64_t count : {0, 1, 5, 15, 16, 17, 40, 64, 97, 500, 1023, 1024, 1100, 4229}) {
                    for (const std::int64_t step : {-1, 0, 1}) {
                        CAPTURE(count);
                        CAPTURE(step);
                        const Bytes src = random_bytes(static_cast<std::size_t>(count) * 4 + 1, random);
                        const ScaleShift with{factors.data(), factors.data() + 50, step};
                        Bytes a(static_cast<std::size_t>(count) * 4 + 64);
                        Bytes b = a;
                        portable.convert[from][to](src.data() + 1, a.data(), count, step < 0 ? nullptr : &with, false);
                        table.convert[from][to](src.data() + 1, b.data(), count, step < 0 ? nullptr : &with, true);
                        CHECK(testing::difference(b, a) == "");
                    }
                }
            }
        }
    }
}

TEST_CASE("words are swapped in place and elsewhere") {
    std::mt19937 random(12);
    for (const Isa isa : available_isas()) {
        for (const std::int64_t bytes : {2, 4, 8, 16}) {
            for (const std::int64_t count : {0, 1, 3, 8, 33, 129}) {
                const Bytes src = random_bytes(static_cast<std::size_t>(count * bytes), random);
                Bytes expected = src;
                for (std::int64_t k = 0; k < count; ++k) {
                    std::reverse(expected.begin() + k * bytes, expected.begin() + (k + 1) * bytes);
                }
                Bytes dst(src.size());
                INFO(to_string(isa), ", ", count, " words of ", bytes);
                conversions_for(isa).swap_words(src.data(), dst.data(), count, bytes, true);
                CHECK(testing::difference(dst, expected) == "");
                dst = src;
                conversions_for(isa).swap_words(dst.data(), dst.data(), count, bytes, false);
                CHECK(testing::difference(dst, expected) == "");
            }
        }
    }
}

TEST_CASE("walks over random nests convert every element") {
    testing::each_round(400, 13, [](std::mt19937& random, int) { check_problem(random_problem(random, 3000), random); });
}

TEST_CASE("walks over many blocks convert every element") {
    testing::each_round(30, 14, [](std::mt19937& random, int) { check_problem(random_problem(random, 300000), random); });
}

// Rows of the destination that blocks bring piece by piece, at any place within a line.
TEST_CASE("rows go on in the next block") {
    std::mt19937 random(16);
    auto swap = std::make_shared<Sink>();
    swap->src_bytes = swap->dst_bytes = 4;
    swap->swapped = {{0, 4, 1}};
    auto narrow = std::make_shared<Sink>();
    narrow->src_bytes = 4;
    narrow->dst_bytes = 2;
    narrow->conversion = Sink::Conversion{Number::f32, Number::bf16};
    for (const auto& sink : {swap, narrow}) {
        const std::int64_t to = sink->dst_bytes;
        const Nest transposed{{{491, 4, 703 * to, nullptr}, {701, 4 * 491, to, nullptr}}, 0, 0, 4};
        const Nest runs{
            {{40, 4 * 37, 37 * 90 * to, nullptr}, {90, 4 * 37 * 40, 37 * to, nullptr}, {37, 4, to, nullptr}}, 0, 0, 4};
        for (const Nest& nest : {transposed, runs}) {
            const Problem problem{nest, nullptr, sink, 4 * 491 * 703, static_cast<std::size_t>(491 * 703 * to)};
            check_problem(problem, random);
            PlanOptions options;
            options.dst_alignment = 4;
            options.variant.stores = Variant::Stores::nontemporal;
            Transfer transfer{0, 0, problem.nest};
            transfer.sink = problem.sink;
            CHECK(Program({std::move(transfer)}, options).explain(1).find("by whole lines") != std::string::npos);
        }
    }
}

TEST_CASE("elements of many words are swapped word by word") {
    std::mt19937 random(15);
    for (const std::int64_t bytes : {12, 40, 100, 20000}) {
        auto sink = std::make_shared<Sink>();
        sink->src_bytes = sink->dst_bytes = bytes;
        sink->swapped = {{0, 4, 2}, {10, 2, 1}};
        Problem problem{Nest{{{7, 2 * bytes, bytes}, {2, bytes, 7 * bytes}}, 0, 0, bytes}, nullptr, sink,
                        static_cast<std::size_t>(14 * bytes), static_cast<std::size_t>(14 * bytes)};
        check_problem(problem, random);
    }
}
