// The operations: the documents' formulas, element by element, what they refuse, and the plans of calls of them.
#include "call/operation.hpp"

#include <functional>
#include <limits>

#include "chain/step.hpp"
#include "runtime/error.hpp"
#include "test.hpp"

using namespace dnnmove;
using view::Mosaic;

namespace {

using testing::Bytes;

// Which element of a dense source of 1-byte elements each element of the result is, in row-major order.
Dims elements_of(const Mosaic& result) {
    Dims all(static_cast<std::size_t>(element_count(result.shape())), std::numeric_limits<std::int64_t>::min());
    const std::function<void(const Nest&, std::size_t, std::int64_t, std::int64_t)> walk =
        [&](const Nest& nest, std::size_t level, std::int64_t src, std::int64_t dst) {
            if (level == nest.loops.size()) {
                all[static_cast<std::size_t>(dst)] = src;
                return;
            }
            const Loop& loop = nest.loops[level];
            for (std::int64_t k = 0; k < loop.extent; ++k)
                walk(nest, level + 1, src + k * loop.src_stride, dst + k * loop.dst_stride);
        };
    for (const Nest& nest : result.dense_nests()) walk(nest, 0, nest.src_offset, nest.dst_offset);
    return all;
}

std::vector<Mosaic> results(Op op, const Dims& parameters, const Mosaic& data) {
    return apply(op, parameters, data, "data.shape");
}
Mosaic result(Op op, const Dims& parameters, const Mosaic& data) { return results(op, parameters, data).front(); }

Bytes counted(std::size_t size) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i);
    return bytes;
}

Dims values(const Bytes& bytes) {
    Dims all;
    for (const std::byte byte : bytes) all.push_back(static_cast<std::int64_t>(byte));
    return all;
}

// What the plan makes of `src`, whose bytes the outputs of `sizes` are.
std::vector<Dims> run(const CallPlan& plan, const std::vector<Bytes>& srcs, const std::vector<std::size_t>& sizes) {
    std::vector<Bytes> outs;
    for (const std::size_t size : sizes) outs.emplace_back(size, std::byte{255});
    std::vector<const std::byte*> from;
    std::vector<std::byte*> to;
    for (const Bytes& src : srcs) from.push_back(src.data());
    for (Bytes& out : outs) to.push_back(out.data());
    plan.program(from.data(), to.data(), to.size(), 1).execute(from.data(), to.data(), 1);
    std::vector<Dims> all;
    for (const Bytes& out : outs) all.push_back(values(out));
    return all;
}

}  // namespace

TEST_CASE("shuffle follows the formula") {
    for (const std::int64_t channels : {1, 6, 8, 12}) {
        for (std::int64_t group_size = 1; group_size <= channels; ++group_size) {
            if (channels % group_size != 0) continue;
            const Mosaic data = Mosaic::dense({channels}, 1);
            Dims expected(static_cast<std::size_t>(channels));
            for (std::int64_t u = 0; u < channels / group_size; ++u) {
                for (std::int64_t v = 0; v < group_size; ++v) {
                    expected[static_cast<std::size_t>(u + v * channels / group_size)] = u * group_size + v;
                }
            }
            const Mosaic shuffled = result(Op::shuffle, {0, group_size}, data);
            CHECK(elements_of(shuffled) == expected);
            CHECK(elements_of(result(Op::shuffle_channels, {0, channels / group_size}, data)) == expected);
            CHECK(elements_of(result(Op::shuffle_backward, {0, group_size}, shuffled)) == elements_of(data));
        }
    }
}

TEST_CASE("shuffle refuses groups and axes that do not fit") {
    const Mosaic data = Mosaic::dense({2, 8}, 1);
    CHECK_THROWS_AS(result(Op::shuffle, {1, 3}, data), ValueError);
    CHECK_THROWS_AS(result(Op::shuffle, {1, 0}, data), ValueError);
    CHECK_THROWS_AS(result(Op::shuffle, {1, 16}, data), ValueError);
    CHECK_THROWS_AS(result(Op::shuffle, {2, 2}, data), AxisError);
    CHECK_THROWS_AS(result(Op::shuffle_channels, {-3, 2}, data), AxisError);
    CHECK(result(Op::shuffle_channels, {0, 5}, Mosaic::dense({0, 8}, 1)).shape() == Dims{0, 8});
}

TEST_CASE("transpose permutes") {
    const Mosaic data = Mosaic::dense({2, 3}, 1);
    CHECK(elements_of(result(Op::transpose, {}, data)) == Dims{0, 3, 1, 4, 2, 5});
    CHECK(elements_of(result(Op::transpose, {0, 1}, data)) == elements_of(data));
    CHECK_THROWS_AS(result(Op::transpose, {0, 0}, data), ValueError);
    CHECK_THROWS_AS(result(Op::transpose, {0}, data), ValueError);
    CHECK(elements_of(result(Op::transpose, {-1, 0}, data)) == elements_of(result(Op::transpose, {1, 0}, data)));
    CHECK(elements_of(result(Op::transpose, {-2, -1}, data)) == elements_of(data));
    CHECK_THROWS_AS(result(Op::transpose, {1, -1}, data), ValueError);
    CHECK_THROWS_AS(result(Op::transpose, {0, -3}, data), ValueError);
    CHECK_THROWS_AS(result(Op::transpose, {0, 2}, data), ValueError);
}

TEST_CASE("splits cut an axis") {
    const Mosaic data = Mosaic::dense({6}, 1);
    const auto parts = results(Op::variadic_split, {-1, 2, -1, 0}, data);
    CHECK(parts.size() == 3);
    CHECK(elements_of(parts[0]) == Dims{0, 1});
    CHECK(elements_of(parts[1]) == Dims{2, 3, 4, 5});
    CHECK(parts[2].bytes() == 0);
    CHECK_THROWS_AS(results(Op::variadic_split, {0, -1, 8}, data), ValueError);
    CHECK_THROWS_AS(results(Op::variadic_split, {0, -1, -1}, data), ValueError);
    CHECK_THROWS_AS(results(Op::variadic_split, {0, 2, 3}, data), ValueError);
    const auto halves = results(Op::split, {0, 2}, data);
    CHECK(halves.size() == 2);
    CHECK(elements_of(halves[1]) == Dims{3, 4, 5});
    CHECK_THROWS_AS(results(Op::split, {0, 4}, data), ValueError);
    CHECK_THROWS_AS(results(Op::split, {0, 0}, data), ValueError);
    CHECK_THROWS_AS(results(Op::split, {0, std::int64_t{1} << 40}, Mosaic::dense({0}, 1)), ValueError);
}

TEST_CASE("broadcast repeats") {
    const Mosaic row = Mosaic::dense({3}, 1);
    // mode, 1 with a mapping, size of target_shape, target_shape..., axes_mapping...
    CHECK(elements_of(result(Op::broadcast, {0, 0, 2, 2, 3}, row)) == Dims{0, 1, 2, 0, 1, 2});
    CHECK(elements_of(result(Op::broadcast, {1, 1, 2, 3, 2, 0}, row)) == Dims{0, 0, 1, 1, 2, 2});
    CHECK(result(Op::broadcast, {2, 0, 3, 1, 1, 4}, Mosaic::dense({2, 1}, 1)).shape() == Dims{1, 2, 4});
    CHECK(result(Op::broadcast, {0, 0, 2, 0, 3}, row).shape() == Dims{0, 3});
    CHECK_THROWS_AS(result(Op::broadcast, {0, 0, 2, 2, 4}, row), ValueError);
    CHECK_THROWS_AS(result(Op::broadcast, {0, 0, 2, -1, 3}, row), ValueError);
    CHECK_THROWS_AS(result(Op::broadcast, {1, 0, 2, 3, 2}, row), ValueError);
    CHECK_THROWS_AS(result(Op::broadcast, {1, 1, 2, 2, 3, 1}, Mosaic::dense({3, 1}, 1)), ValueError);
    CHECK_THROWS_AS(result(Op::broadcast, {0, 0, 3, std::int64_t{1} << 40, std::int64_t{1} << 40, 3}, row), ValueError);
}

TEST_CASE("a plan says where the results lie and copies them") {
    const Dims shape{2, 3, 2};
    const Dims strides{6, 2, 1};
    const ArrayLayout data{shape, strides};
    const Dims reversed{};
    const auto plan = plan_operation(Op::transpose, reversed, data, 1, nullptr, "data.shape");
    CHECK(plan->outputs().front().shape == Dims{2, 3, 2});
    CHECK(plan->outputs().front().strides == Dims{6, 2, 1});
    CHECK(plan->title().auxiliary == "input_order:2x1x0");
    CHECK(run(*plan, {counted(12)}, {12}) == std::vector<Dims>{{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11}});

    const Dims parameters{1, 1, 2};
    const auto parts = plan_operation(Op::variadic_split, parameters, data, 1, nullptr, "data.shape");
    CHECK(parts->outputs().size() == 2);
    CHECK(run(*parts, {counted(12)}, {4, 8}) == std::vector<Dims>{{0, 1, 6, 7}, {2, 3, 4, 5, 8, 9, 10, 11}});
}

TEST_CASE("a shuffle keeps the order of the axes in memory") {
    const Dims shape{1, 4, 2};
    const Dims channels_last{8, 1, 4};
    const Dims parameters{1, 2};
    const auto plan = plan_operation(Op::shuffle, parameters, {shape, channels_last}, 1, nullptr, "data.shape");
    CHECK(plan->outputs().front().strides == channels_last);
    CHECK(run(*plan, {counted(8)}, {8}) == std::vector<Dims>{{0, 2, 1, 3, 4, 6, 5, 7}});
}

TEST_CASE("a plan writes to strides of the caller's and refuses others") {
    const Dims shape{2, 3};
    const Dims strides{3, 1};
    const Dims turned{3, 2};
    const Dims pitched{4, 2};
    const Dims shared{1, 1};
    const Dims reversed{};
    const auto plan = [&](const Dims& out_shape, const Dims& out_strides) {
        const std::vector<ArrayLayout> outs{{out_shape, out_strides}};
        return plan_operation(Op::transpose, reversed, {shape, strides}, 1, &outs, "data.shape");
    };
    CHECK(run(*plan(turned, pitched), {counted(6)}, {12}) ==
          std::vector<Dims>{{0, 255, 3, 255, 1, 255, 4, 255, 2, 255, 5, 255}});
    CHECK_THROWS_AS(plan(shape, pitched), ValueError);
    CHECK_THROWS_AS(plan(turned, shared), ValueError);
    const std::vector<ArrayLayout> none;
    CHECK_THROWS_AS(plan_operation(Op::split, Dims{0, 2}, {shape, strides}, 1, &none, "data.shape"), ValueError);
}

TEST_CASE("several inputs are joined") {
    const Dims shape{2, 2};
    const Dims strides{2, 1};
    const std::vector<ArrayLayout> arrays{{shape, strides}, {shape, strides}};
    const std::vector<Bytes> srcs{counted(4), Bytes(4, std::byte{9})};
    CHECK(run(*plan_join(Op::concat, 1, arrays, 1, nullptr), srcs, {8}) == std::vector<Dims>{{0, 1, 9, 9, 2, 3, 9, 9}});
    CHECK(run(*plan_join(Op::stack, -1, arrays, 1, nullptr), srcs, {8}) == std::vector<Dims>{{0, 9, 1, 9, 2, 9, 3, 9}});
    CHECK_THROWS_AS(plan_join(Op::concat, 2, arrays, 1, nullptr), AxisError);
}

TEST_CASE("a step of chains is a call") {
    const Dims shape{4};
    const Dims strides{1};
    const auto plan = plan_step(*chain::flip(std::monostate()), {shape, strides}, 1, nullptr);
    CHECK(plan->title().name == "flip");
    CHECK(run(*plan, {counted(4)}, {4}) == std::vector<Dims>{{3, 2, 1, 0}});
    CHECK_THROWS_AS(plan_step(*chain::flip(std::int64_t{1}), {shape, strides}, 1, nullptr), AxisError);
}

TEST_CASE("a shuffle of a blocked layout keeps the layout") {
    const Layout layout = Layout::tagged({1, 4, 1, 1}, parse_format_tag("nChw8c"), 1);
    const auto plan = plan_blocked_shuffle(Op::shuffle_channels, Dims{1, 2}, layout, "data.shape");
    CHECK(run(*plan, {counted(8)}, {8}) == std::vector<Dims>{{0, 2, 1, 3, 0, 0, 0, 0}});
    CHECK_THROWS_AS(plan_blocked_shuffle(Op::shuffle, Dims{1, 3}, layout, "data.shape"), ValueError);
}
