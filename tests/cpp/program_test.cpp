// Programs against the plainest possible loop, over random nests: every item size, tables, tails, alignments.
#include "plan/program.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "check.hpp"

using namespace dnnmove;

namespace {

using Bytes = std::vector<std::byte>;

// What a nest means: one item per combination of loop steps.
void reference(const Nest& nest, const std::byte* src, std::byte* dst, std::size_t loop = 0) {
    if (loop == nest.loops.size()) {
        if (src != nullptr) {
            std::memcpy(dst + nest.dst_offset, src + nest.src_offset, static_cast<std::size_t>(nest.itemsize));
        } else {
            std::memset(dst + nest.dst_offset, 0, static_cast<std::size_t>(nest.itemsize));
        }
        return;
    }
    const Loop& current = nest.loops[loop];
    for (std::int64_t step = 0; step < current.extent; ++step) {
        const auto k = static_cast<std::size_t>(step);
        const std::int64_t from = current.table ? current.table->src[k] : step * current.src_stride;
        const std::int64_t to = current.table ? current.table->dst[k] : step * current.dst_stride;
        reference(nest, src == nullptr ? nullptr : src + from, dst + to, loop + 1);
    }
}

Bytes random_bytes(std::size_t size, std::mt19937& random) {
    Bytes bytes(size);
    std::uniform_int_distribution<int> byte(0, 255);
    for (std::byte& b : bytes) b = static_cast<std::byte>(byte(random));
    return bytes;
}

// Runs the nest on buffers of the given sizes (bytes), shifted to every interesting alignment.
void check_nest(const Nest& nest, std::size_t src_size, std::size_t dst_size, std::mt19937& random, bool zero = false) {
    for (const int threads : {1, 2}) {
        for (const std::size_t shift : {std::size_t{0}, std::size_t{1}, std::size_t{8}}) {
            const Bytes src = random_bytes(src_size + shift, random);
            Bytes dst = random_bytes(dst_size + shift, random);
            Bytes expected = dst;
            reference(nest, zero ? nullptr : src.data() + shift, expected.data() + shift);
            PlanOptions options;
            options.threads = threads;
            const Program program({Transfer{zero ? kZeroSource : 0, 0, nest}}, options);
            const std::byte* from = src.data() + shift;
            std::byte* to = dst.data() + shift;
            program.execute(&from, &to, threads);
            CHECK(dst == expected);
        }
    }
}

// A dense array of `shape` copied to its permutation `order`, dense too.
Nest permutation(const Dims& shape, const std::vector<std::size_t>& order, std::int64_t itemsize) {
    View view = View::dense(shape, itemsize);
    View permuted = view;
    for (std::size_t i = 0; i < order.size(); ++i) permuted.axes[i] = view.axes[order[i]];
    return make_nest(permuted, dense_strides(permuted.shape(), itemsize));
}

}  // namespace

TEST(random_permutations) {
    std::mt19937 random(1);
    for (const std::int64_t itemsize : {1, 2, 3, 4, 5, 8, 12, 16, 24}) {
        for (int round = 0; round < 25; ++round) {
            std::uniform_int_distribution<std::size_t> rank(1, 5);
            std::uniform_int_distribution<std::int64_t> length(1, round % 5 == 0 ? 40 : 9);
            Dims shape(rank(random));
            for (std::int64_t& n : shape) n = length(random);
            while (element_count(shape) > 60000) shape.pop_back();
            std::vector<std::size_t> order(shape.size());
            std::iota(order.begin(), order.end(), std::size_t{0});
            std::shuffle(order.begin(), order.end(), random);
            const auto size = static_cast<std::size_t>(element_count(shape) * itemsize);
            check_nest(permutation(shape, order, itemsize), size, size, random);
        }
    }
}

TEST(tails_around_the_vector_length) {
    std::mt19937 random(2);
    for (const std::int64_t itemsize : {1, 2, 4, 8, 16}) {
        for (const std::int64_t n : {1, 3, 15, 16, 17, 31, 33, 63, 64, 65, 127, 130}) {
            for (const std::int64_t m : {1, 2, 3, 4, 7, 16, 65}) {
                const auto size = static_cast<std::size_t>(n * m * itemsize);
                check_nest(permutation({n, m}, {1, 0}, itemsize), size, size, random);
            }
        }
    }
}

TEST(channel_shuffles) {
    std::mt19937 random(3);
    for (const std::int64_t itemsize : {1, 2, 4}) {
        for (const std::int64_t groups : {2, 3, 4, 8}) {
            for (const std::int64_t inner : {1, 5, 49}) {
                const std::int64_t channels = groups * 12;
                View view = View::dense({3, channels, inner}, itemsize);
                const auto [high, low] = *factor(view.axes[1], channels / groups);
                view.axes[1] = fuse(low, high);
                const auto size = static_cast<std::size_t>(view.element_count() * itemsize);
                check_nest(make_nest(view, dense_strides(view.shape(), itemsize)), size, size, random);
            }
        }
    }
}

TEST(broadcast_and_reversal) {
    std::mt19937 random(4);
    for (const std::int64_t itemsize : {1, 2, 4, 6, 8}) {
        Nest nest;
        nest.itemsize = itemsize;
        nest.loops = {{7, 0, 33 * itemsize}, {33, -itemsize, itemsize}};
        nest.src_offset = 32 * itemsize;
        const auto row = static_cast<std::size_t>(33 * itemsize);
        check_nest(nest, row, 7 * row, random);
        nest.loops = {{33, itemsize, 70 * itemsize}, {70, 0, itemsize}};
        nest.src_offset = 0;
        check_nest(nest, row, 70 * row, random);
    }
}

TEST(gaps_are_untouched_and_tables_followed) {
    std::mt19937 random(5);
    const Nest pitched{{{5, 48, 64}, {11, 4, 4}}, 4, 8, 4};
    check_nest(pitched, 5 * 48 + 8, 5 * 64 + 8, random);
    auto table = std::make_shared<OffsetTable>();
    for (std::int64_t k = 0; k < 10; ++k) {
        table->src.push_back((k * 7 % 10) * 12);
        table->dst.push_back((k * 3 % 10) * 12);
    }
    check_nest(Nest{{{10, 0, 0, table}, {3, 4, 4}}, 0, 0, 4}, 120, 120, random);
    check_nest(Nest{{{10, 0, 0, table}, {12, 1, 1}}, 0, 0, 1}, 120, 120, random);
}

TEST(zero_source) {
    std::mt19937 random(6);
    check_nest(Nest{{{6, 0, 32}, {5, 0, 4}}, 0, 0, 4}, 0, 6 * 32, random, true);
}

TEST(empty_and_scalar) {
    std::mt19937 random(7);
    check_nest(Nest{{{0, 4, 4}, {3, 4, 4}}, 0, 0, 4}, 16, 16, random);
    check_nest(Nest{{}, 3, 5, 4}, 16, 16, random);
}

TEST(large_enough_for_threads_and_streaming_stores) {
    std::mt19937 random(8);
    for (const auto& [shape, order] : {std::pair<Dims, std::vector<std::size_t>>{{2100, 1030}, {1, 0}},
                                       std::pair<Dims, std::vector<std::size_t>>{{3, 900, 801}, {1, 2, 0}}}) {
        const auto size = static_cast<std::size_t>(element_count(shape) * 4);
        check_nest(permutation(shape, order, 4), size, size, random);
    }
}

TEST(several_transfers) {
    std::mt19937 random(9);
    const Bytes src = random_bytes(600, random);
    Bytes left(200), right(400);
    const std::byte* from = src.data();
    std::byte* to[] = {left.data(), right.data()};
    const Program program({Transfer{0, 0, Nest{{{20, 30, 10}, {10, 1, 1}}, 0, 0, 1}},
                           Transfer{0, 1, Nest{{{20, 30, 20}, {20, 1, 1}}, 10, 0, 1}}});
    program.execute(&from, to, 2);
    for (std::size_t row = 0; row < 20; ++row) {
        CHECK(std::equal(&left[row * 10], &left[row * 10] + 10, &src[row * 30]));
        CHECK(std::equal(&right[row * 20], &right[row * 20] + 20, &src[row * 30 + 10]));
    }
    CHECK(program.bytes_written() == 600);
    CHECK(program.impl_info().starts_with("native:"));
}
