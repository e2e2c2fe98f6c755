// Which two of many arrays share a byte: as brute force says, without a comparison of each with each.
#include "array/disjoint.hpp"

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "array/dims.hpp"
#include "test.hpp"

using namespace dnnmove;

namespace {

// An array in a made-up address space, which nothing reads.
struct Array {
    std::int64_t base;
    Dims shape;
    Dims strides;
    std::int64_t itemsize;

    Region region() const {
        const auto* at = reinterpret_cast<const std::byte*>(std::uintptr_t{1} << 30) + base;
        return Region::of({at, shape, strides, itemsize}, extent_of(shape, strides, itemsize));
    }
    std::vector<std::int64_t> bytes() const {
        std::vector<std::int64_t> all{base};
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            std::vector<std::int64_t> next;
            for (const std::int64_t byte : all) {
                for (std::int64_t i = 0; i < shape[axis]; ++i) next.push_back(byte + i * strides[axis]);
            }
            all = next;
        }
        std::vector<std::int64_t> every;
        for (const std::int64_t byte : all) {
            for (std::int64_t i = 0; i < itemsize; ++i) every.push_back(byte + i);
        }
        return every;
    }
    bool overlaps_itself() const {
        const auto all = bytes();
        return std::set<std::int64_t>(all.begin(), all.end()).size() != all.size();
    }
};

std::vector<Region> regions_of(const std::vector<Array>& arrays) {
    std::vector<Region> regions;
    for (const Array& array : arrays) regions.push_back(array.region());
    return regions;
}

bool share(const Array& a, const Array& b) {
    const auto in_a = a.bytes();
    const std::set<std::int64_t> bytes(in_a.begin(), in_a.end());
    const auto in_b = b.bytes();
    return std::any_of(in_b.begin(), in_b.end(), [&](std::int64_t byte) { return bytes.count(byte) != 0; });
}

bool any_share(const std::vector<Array>& arrays) {
    std::set<std::int64_t> seen;
    for (const Array& array : arrays) {
        for (const std::int64_t byte : array.bytes()) {
            if (!seen.insert(byte).second) return true;
        }
    }
    return false;
}

std::string text(const std::vector<Array>& arrays) {
    std::string all;
    for (const Array& array : arrays) {
        all += "{" + std::to_string(array.base) + ", " + to_string(array.shape) + ", " + to_string(array.strides) + ", " +
               std::to_string(array.itemsize) + "} ";
    }
    return all;
}

// The answer is brute force's, and the two that it names do share a byte.
void check_all(const std::vector<Array>& arrays) {
    INFO(text(arrays));
    const auto regions = regions_of(arrays);
    const auto found = find_shared(regions);
    CHECK(found.has_value() == any_share(arrays));
    if (found) {
        CHECK(found->first < found->second);
        CHECK(share(arrays[found->first], arrays[found->second]));
    }
}

// The parts of a row-major array of these lengths, cut along its axes at random places, each perhaps a bit moved.
std::vector<Array> random_parts(std::mt19937& random) {
    const auto pick = [&](std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    const std::int64_t itemsize = pick(1, 3);
    const Dims shape{pick(1, 6), pick(1, 6), pick(1, 6)};
    const Dims strides = dense_strides(shape, itemsize);
    std::vector<Array> parts;
    std::vector<Dims> cuts(3);
    for (std::size_t axis = 0; axis < 3; ++axis) {
        cuts[axis] = {0};
        for (std::int64_t i = 1; i < shape[axis]; ++i) {
            if (pick(0, 2) != 0) cuts[axis].push_back(i);
        }
        cuts[axis].push_back(shape[axis]);
    }
    for (std::size_t i = 0; i + 1 < cuts[0].size(); ++i) {
        for (std::size_t j = 0; j + 1 < cuts[1].size(); ++j) {
            for (std::size_t k = 0; k + 1 < cuts[2].size(); ++k) {
                Array part{0, {}, strides, itemsize};
                const Dims first{cuts[0][i], cuts[1][j], cuts[2][k]};
                const Dims last{cuts[0][i + 1], cuts[1][j + 1], cuts[2][k + 1]};
                for (std::size_t axis = 0; axis < 3; ++axis) {
                    part.shape.push_back(last[axis] - first[axis]);
                    if (pick(0, 3) == 0) {
                        part.base += (last[axis] - 1) * strides[axis];
                        part.strides[axis] = -strides[axis];
                    } else {
                        part.base += first[axis] * strides[axis];
                    }
                }
                parts.push_back(part);
            }
        }
    }
    std::shuffle(parts.begin(), parts.end(), random);
    if (pick(0, 1) == 0)
        parts[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(parts.size()) - 1))].base += pick(-4, 4);
    return parts;
}

}  // namespace

TEST_CASE("parts of one array as brute force says") {
    testing::each_round(3000, 1, [](std::mt19937& random, int) { check_all(random_parts(random)); });
}

TEST_CASE("arrays of any strides as brute force says") {
    testing::each_round(3000, 2, [](std::mt19937& random, int) {
        const auto pick = [&](std::int64_t low, std::int64_t high) {
            return std::uniform_int_distribution<std::int64_t>(low, high)(random);
        };
        std::vector<Array> arrays;
        const std::int64_t count = pick(2, 40);
        while (static_cast<std::int64_t>(arrays.size()) < count) {
            Array array{pick(0, 4000), {}, {}, pick(1, 3)};
            const std::int64_t common = pick(0, 2) == 0 ? 1 : 30;
            for (std::int64_t axis = pick(0, 2); axis > 0; --axis) {
                array.shape.push_back(pick(0, 9) == 0 ? 0 : pick(1, 3));
                array.strides.push_back(common * pick(-9, 9));
            }
            if (!array.overlaps_itself()) arrays.push_back(array);
        }
        check_all(arrays);
    });
}

TEST_CASE("two lists as brute force says") {
    testing::each_round(1000, 3, [](std::mt19937& random, int) {
        std::vector<Array> all = random_parts(random);
        const std::size_t half = all.size() / 2;
        // The first ones share bytes with one another.
        std::vector<Array> as(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(half));
        const std::vector<Array> bs(all.begin() + static_cast<std::ptrdiff_t>(half), all.end());
        as.insert(as.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(half));
        bool expected = false;
        for (const Array& a : as) {
            for (const Array& b : bs) expected = expected || share(a, b);
        }
        INFO(text(as), "beside ", text(bs));
        const auto found = find_shared(regions_of(as), regions_of(bs));
        CHECK(found.has_value() == expected);
        if (found) CHECK(share(as[found->first], bs[found->second]));
    });
}

TEST_CASE("many interleaved arrays are not compared pair by pair") {
    constexpr std::int64_t kCount = 4096;
    struct Case {
        std::vector<Array> arrays;
    };
    std::vector<Case> cases(6);
    for (std::int64_t i = 0; i < kCount; ++i) {
        cases[0].arrays.push_back({i * 100, {25}, {4}, 4});                                   // one after another
        cases[1].arrays.push_back({i * 4, {100}, {kCount * 4}, 4});                           // columns
        cases[2].arrays.push_back({i * 4 + 99 * kCount * 4, {100}, {-kCount * 4}, 4});        // from their ends
        cases[3].arrays.push_back({i / 64 * 8 * 512 + i % 64 * 8, {8, 8}, {512, 1}, 1});      // tiles
        cases[4].arrays.push_back({i / 64 * 640 + i % 64 * 2, {10, 5}, {640 * 64, 128}, 2});  // a[:, i, :, j]
        // Columns of uneven widths, and full rows below them.
        cases[5].arrays.push_back(i % 2 == 0 ? Array{i * 8, {100, 3}, {kCount * 8, 4}, 4}
                                             : Array{i * 8 + 4, {100}, {kCount * 8}, 4});
    }
    cases[5].arrays.push_back({kCount * 800, {kCount * 8}, {1}, 1});
    for (Case& one : cases) {
        INFO("case ", &one - cases.data());
        SearchWork work;
        const auto regions = regions_of(one.arrays);
        CHECK(!find_shared(regions, &work));
        CHECK(work.pairs == 0);
        CHECK(work.pieces <= 4 * regions.size());
        // One array moved onto its neighbour is found, for no more work.
        one.arrays[kCount / 2].base += 1;
        SearchWork more;
        const auto found = find_shared(regions_of(one.arrays), &more);
        CHECK(found.has_value());
        if (found) CHECK(share(one.arrays[found->first], one.arrays[found->second]));
        CHECK(more.pairs <= 1);
    }
}

TEST_CASE("many inputs and outputs far apart are not compared") {
    std::vector<Array> inputs;
    std::vector<Array> outputs;
    for (std::int64_t i = 0; i < 4096; ++i) {
        inputs.push_back({i * 4, {100}, {4096 * 4}, 4});
        outputs.push_back({10'000'000 + i * 4, {100}, {4096 * 4}, 4});
    }
    SearchWork work;
    CHECK(!find_shared(regions_of(inputs), regions_of(outputs), &work));
    CHECK(work.pairs == 0);
}

TEST_CASE("arrays without any order end in an answer") {
    // No common period: what the budget leaves undecided counts as shared.
    std::vector<Array> arrays;
    for (std::int64_t i = 0; i < 3000; ++i) arrays.push_back({i, {7, 7, 7}, {30011, 60101 + 2 * i, 90001 + 4 * i}, 1});
    SearchWork work;
    find_shared(regions_of(arrays), &work);
    CHECK(work.pairs <= 250'000);
}

TEST_CASE("a solid region owns the bytes between") {
    const auto* base = reinterpret_cast<const std::byte*>(std::uintptr_t{1} << 30);
    const std::vector<Region> all{Region::solid(base, {-8, 8}), Array{8, {4}, {8}, 8}.region(), Array{-6, {}, {}, 1}.region()};
    const auto found = find_shared(all);
    REQUIRE(found);
    CHECK(found->first == 0);
    CHECK(found->second == 2);
    CHECK(!find_shared(std::span(all).first(2)));
}
