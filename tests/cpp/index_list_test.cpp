// Lists of indices: whether all of them are of an axis, however many threads read them.
#include "call/index_list.hpp"

#include <limits>
#include <random>
#include <vector>

#include "test.hpp"

using namespace dnnmove;

namespace {

template <class Index>
IndexList list_of(const std::vector<Index>& indices) {
    return {reinterpret_cast<const std::byte*>(indices.data()), static_cast<std::int64_t>(indices.size()), sizeof(Index)};
}

// One wrong index, wherever it is, is found.
template <class Index>
void check(std::size_t count, std::int64_t length, int threads) {
    std::mt19937 random(3);
    std::vector<Index> indices(count);
    for (Index& index : indices) index = static_cast<Index>(static_cast<std::int64_t>(random() % 200) - 100);
    CAPTURE(count);
    CAPTURE(threads);
    REQUIRE(list_of(indices).within(length, threads));
    for (const std::size_t place : {std::size_t{0}, count / 3, count / 2, count - 1}) {
        const Index right = indices[place];
        for (const std::int64_t wrong : {length, -length - 1, std::int64_t{std::numeric_limits<Index>::max()},
                                         std::int64_t{std::numeric_limits<Index>::min()}}) {
            indices[place] = static_cast<Index>(wrong);
            CHECK_FALSE(list_of(indices).within(length, threads));
        }
        indices[place] = right;
    }
    CHECK(list_of(indices).within(length, threads));
}

}  // namespace

TEST_CASE("a wrong index is found wherever it is") {
    for (const std::size_t count : {1U, 7U, 65U, 1000U, 600'000U}) {
        for (const int threads : {1, 2, 5}) {
            check<std::int32_t>(count, 100, threads);
            check<std::int64_t>(count, 100, threads);
            check<std::int64_t>(count, std::int64_t{1} << 61, threads);
        }
    }
}

TEST_CASE("an empty list has no wrong index") { CHECK(list_of(std::vector<std::int32_t>()).within(0, 2)); }
