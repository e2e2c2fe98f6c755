// Axes of layouts: cutting and fusing keep naming the same bytes; the arithmetic on dims.
#include "layout/axis.hpp"

#include "test.hpp"
#include "runtime/error.hpp"
#include "array/dims.hpp"

using namespace dnnmove;

namespace {

// Byte offset of every element of one axis, in order.
Dims offsets(const Axis& axis) {
    Dims result{0};
    for (const Digit& digit : axis.digits) {
        Dims next;
        for (const std::int64_t base : result) {
            for (std::int64_t step = 0; step < digit.length; ++step) next.push_back(base + step * digit.stride);
        }
        result = next;
    }
    return result;
}

}  // namespace

TEST_CASE("dense strides are row major") {
    CHECK(dense_strides({2, 3, 4}, 2) == Dims{24, 8, 2});
    CHECK(dense_strides({}, 4).empty());
    CHECK(to_string(Dims{5}) == "(5,)");
    CHECK(to_string(Dims{}) == "()");
}

TEST_CASE("element count overflow is refused") {
    CHECK(element_count({3, 0, 7}) == 0);
    CHECK(element_count({}) == 1);
    CHECK_THROWS_AS(element_count({std::int64_t{1} << 40, std::int64_t{1} << 40}), ValueError);
}

TEST_CASE("arrays of too many axes or bytes are refused") {
    check_size(Dims(kMaxRank, 1), 4, "data");
    CHECK_THROWS_AS(check_size(Dims(kMaxRank + 1, 1), 4, "data"), ValueError);
    CHECK_THROWS_AS(check_size({std::int64_t{1} << 40, 0, std::int64_t{1} << 22}, 2, "data"), ValueError);
    check_size({std::int64_t{1} << 40, 0, std::int64_t{1} << 21}, 2, "data");
}

TEST_CASE("factor and fuse are inverse") {
    const Axis axis{{{12, 5}}};
    for (const std::int64_t low : {1, 2, 3, 4, 6, 12}) {
        const auto cut = factor(axis, low);
        CHECK(cut.has_value());
        if (!cut) continue;
        CHECK(cut->second.length() == low);
        CHECK(offsets(fuse(cut->first, cut->second)) == offsets(axis));
        CHECK(fuse(cut->first, cut->second) == axis);
    }
}

TEST_CASE("factor refuses a straddled digit") {
    // 0 2 4 1 3 5: the digits are 2 and 3 long, so a cut in 3 and 2 falls inside one.
    const Axis shuffled{{{2, 1}, {3, 2}}};
    CHECK(factor(shuffled, 3).has_value());
    CHECK(!factor(shuffled, 2).has_value());
}
