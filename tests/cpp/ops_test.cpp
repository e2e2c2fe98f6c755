// The operations as maps from view to view: the documents' formulas, element by element, and what they refuse.
#include "ops/ops.hpp"

#include "test.hpp"
#include "runtime/error.hpp"

using namespace dnnmove;

namespace {

// Byte offset of every element in row-major order: of a dense 1-byte source, the values it would hold.
Dims flatten(const View& view) {
    Dims result{view.offset};
    for (const Axis& axis : view.axes) {
        for (const Digit& digit : axis.digits) {
            Dims next;
            for (const std::int64_t base : result) {
                for (std::int64_t step = 0; step < digit.length; ++step) next.push_back(base + step * digit.stride);
            }
            result = next;
        }
    }
    return result;
}

}  // namespace

TEST_CASE("shuffle follows the formula") {
    for (const std::int64_t channels : {1, 6, 8, 12}) {
        for (std::int64_t group_size = 1; group_size <= channels; ++group_size) {
            if (channels % group_size != 0) continue;
            const View data = View::dense({channels}, 1);
            Dims expected(static_cast<std::size_t>(channels));
            for (std::int64_t u = 0; u < channels / group_size; ++u) {
                for (std::int64_t v = 0; v < group_size; ++v) {
                    expected[static_cast<std::size_t>(u + v * channels / group_size)] = u * group_size + v;
                }
            }
            CHECK(flatten(ops::shuffle(data, 0, group_size)) == expected);
            CHECK(flatten(ops::shuffle_channels(data, 0, channels / group_size)) == expected);
            CHECK(flatten(ops::shuffle_backward(ops::shuffle(data, 0, group_size), 0, group_size)) == flatten(data));
        }
    }
}

TEST_CASE("shuffle refuses groups and axes that do not fit") {
    const View data = View::dense({2, 8}, 1);
    CHECK_THROWS_AS(ops::shuffle(data, 1, 3), ValueError);
    CHECK_THROWS_AS(ops::shuffle(data, 1, 0), ValueError);
    CHECK_THROWS_AS(ops::shuffle(data, 1, 16), ValueError);
    CHECK_THROWS_AS(ops::shuffle(data, 2, 2), AxisError);
    CHECK_THROWS_AS(ops::shuffle_channels(data, -3, 2), AxisError);
}

TEST_CASE("transpose permutes") {
    const View data = View::dense({2, 3}, 1);
    CHECK(flatten(ops::transpose(data, {})) == Dims{0, 3, 1, 4, 2, 5});
    CHECK(flatten(ops::transpose(data, {0, 1})) == flatten(data));
    CHECK_THROWS_AS(ops::transpose(data, {0, 0}), ValueError);
    CHECK_THROWS_AS(ops::transpose(data, {0}), ValueError);
    CHECK(flatten(ops::transpose(data, {-1, 0})) == flatten(ops::transpose(data, {1, 0})));
    CHECK(flatten(ops::transpose(data, {-2, -1})) == flatten(data));
    CHECK_THROWS_AS(ops::transpose(data, {1, -1}), ValueError);
    CHECK_THROWS_AS(ops::transpose(data, {0, -3}), ValueError);
    CHECK_THROWS_AS(ops::transpose(data, {0, 2}), ValueError);
}

TEST_CASE("variadic split takes what is left") {
    const View data = View::dense({6}, 1);
    const auto parts = ops::variadic_split(data, -1, {2, -1, 0});
    CHECK(parts.size() == 3);
    CHECK(flatten(parts[0]) == Dims{0, 1});
    CHECK(flatten(parts[1]) == Dims{2, 3, 4, 5});
    CHECK(parts[2].element_count() == 0);
    CHECK_THROWS_AS(ops::variadic_split(data, 0, {-1, 8}), ValueError);
    CHECK_THROWS_AS(ops::variadic_split(data, 0, {-1, -1}), ValueError);
    CHECK_THROWS_AS(ops::variadic_split(data, 0, {2, 3}), ValueError);
}

TEST_CASE("broadcast repeats") {
    const View row = View::dense({3}, 1);
    using enum ops::BroadcastMode;
    CHECK(flatten(ops::broadcast(row, {2, 3}, std::nullopt, numpy)) == Dims{0, 1, 2, 0, 1, 2});
    CHECK(flatten(ops::broadcast(row, {3, 2}, Dims{0}, explicit_)) == Dims{0, 0, 1, 1, 2, 2});
    CHECK(ops::broadcast(View::dense({2, 1}, 1), {1, 1, 4}, std::nullopt, bidirectional).shape() == Dims{1, 2, 4});
    CHECK_THROWS_AS(ops::broadcast(row, {2, 4}, std::nullopt, numpy), ValueError);
    CHECK_THROWS_AS(ops::broadcast(row, {-1, 3}, std::nullopt, numpy), ValueError);
    CHECK_THROWS_AS(ops::broadcast(row, {3, 2}, std::nullopt, explicit_), ValueError);
}
