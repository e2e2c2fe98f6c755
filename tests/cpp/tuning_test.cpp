// Every variant of a plan writes the same bytes; tuning keeps one of them; the table finds it again.
#include "plan/tuning.hpp"

#include <algorithm>
#include <random>

#include "view/mosaic.hpp"
#include "test.hpp"
#include "layout/layout.hpp"
#include "layout/transfer.hpp"

using namespace dnnmove;

namespace {

using testing::Bytes;

struct Problem {
    std::vector<Transfer> transfers;
    std::size_t src_bytes;
    std::vector<std::size_t> dst_bytes;
};

Transfer copy_of(const view::Mosaic& array, int dst) { return {0, dst, array.dense_nests().front()}; }

Problem permutation(const Dims& shape, const std::vector<std::size_t>& order, std::int64_t itemsize) {
    const view::Mosaic permuted = view::Mosaic::dense(shape, itemsize).transpose(order);
    const auto bytes = static_cast<std::size_t>(permuted.bytes());
    return {{copy_of(permuted, 0)}, bytes, {bytes}};
}

Problem split(const Dims& shape, const Dims& lengths, std::int64_t itemsize) {
    Problem problem{{}, static_cast<std::size_t>(element_count(shape) * itemsize), {}};
    for (const view::Mosaic& part : view::Mosaic::dense(shape, itemsize).split(shape.size() - 1, lengths)) {
        problem.transfers.push_back(copy_of(part, static_cast<int>(problem.dst_bytes.size())));
        problem.dst_bytes.push_back(static_cast<std::size_t>(part.bytes()));
    }
    return problem;
}

Problem blocked_shuffle() {
    const Layout layout = Layout::tagged({3, 20, 9, 11}, parse_format_tag("nChw8c"), 4);
    const auto bytes = static_cast<std::size_t>(layout.size());
    return {shuffle_transfers(layout, 1, 5), bytes, {bytes}};
}

std::vector<Problem> problems() {
    std::vector<Problem> all;
    for (const std::int64_t itemsize : {1, 2, 3, 4, 8, 12, 16}) {
        all.push_back(permutation({97, 203}, {1, 0}, itemsize));
        all.push_back(permutation({128, 512}, {1, 0}, itemsize));
        all.push_back(permutation({3, 33, 65}, {0, 2, 1}, itemsize));
        all.push_back(permutation({6, 7, 8, 9, 10}, {4, 1, 3, 0, 2}, itemsize));
        all.push_back(permutation({50, 2, 58}, {0, 2, 1}, itemsize));
        all.push_back(permutation({21, 3, 80}, {0, 2, 1}, itemsize));
        all.push_back(permutation({3, 7, 11, 13, 5}, {0, 2, 4, 3, 1}, itemsize));
        all.push_back(split({300, 47}, {7, 33, 1, 6}, itemsize));
        all.push_back(split({40, 600}, {300, 299, 1}, itemsize));
    }
    all.push_back(blocked_shuffle());
    return all;
}

// The memory of a problem, its outputs somewhat apart and off any line.
struct Arrays {
    Arrays(const Problem& problem, std::size_t shift, std::mt19937& random)
        : src(testing::random_bytes(problem.src_bytes, random)) {
        for (const std::size_t bytes : problem.dst_bytes) dsts.emplace_back(bytes + shift + 64, std::byte{0x5a});
        from = src.data();
        for (Bytes& dst : dsts) to.push_back(dst.data() + shift);
    }
    void poison() {
        for (Bytes& dst : dsts) std::fill(dst.begin(), dst.end(), std::byte{0x5a});
    }

    Bytes src;
    std::vector<Bytes> dsts;
    const std::byte* from;
    std::vector<std::byte*> to;
};

}  // namespace

TEST_CASE("every variant writes the same bytes") {
    std::mt19937 random(3);
    for (const Problem& problem : problems()) {
        for (const std::size_t shift : {std::size_t{0}, std::size_t{4}}) {
            Arrays arrays(problem, shift, random);
            PlanOptions options;
            Program(problem.transfers, options).execute(&arrays.from, arrays.to.data(), 2);
            const std::vector<Bytes> expected = arrays.dsts;
            for (int kernel = 0; kernel < 5; ++kernel) {
                for (const auto stores : {Variant::Stores::automatic, Variant::Stores::cached, Variant::Stores::nontemporal}) {
                    for (const std::int64_t panel : {0, 1, 64, 100, 128, 256, 512, 4096}) {
                        options.variant = {kernel, stores, panel};
                        arrays.poison();
                        Program(problem.transfers, options).execute(&arrays.from, arrays.to.data(), 2);
                        INFO(Program(problem.transfers, options).explain(2));
                        CHECK(arrays.dsts == expected);
                    }
                }
            }
        }
    }
}

TEST_CASE("variants change the plan") {
    const Problem problem = permutation({256, 512}, {1, 0}, 4);
    const auto text = [&](const Variant& variant) {
        PlanOptions options;
        options.variant = variant;
        return Program(problem.transfers, options).explain(2);
    };
    const std::string planned = text({});
    CHECK(planned.find("kernel transpose") != std::string::npos);
    CHECK(text({1, Variant::Stores::automatic, 0}) != planned);
    CHECK(text({0, Variant::Stores::nontemporal, 0}).find("non-temporal") != std::string::npos);
    CHECK(text({0, Variant::Stores::automatic, 64}).find("source rows 256 in tiles of 16") != std::string::npos);
    CHECK(text({99, Variant::Stores::automatic, 0}) == planned);  // there is no such kernel
}

TEST_CASE("tuning writes nothing but the result") {
    std::mt19937 random(4);
    for (const Problem& problem : {permutation({97, 203}, {1, 0}, 4), split({300, 47}, {7, 33, 1, 6}, 2), blocked_shuffle()}) {
        Arrays arrays(problem, 4, random);
        PlanOptions options;
        Program(problem.transfers, options).execute(&arrays.from, arrays.to.data(), 2);
        const std::vector<Bytes> expected = arrays.dsts;
        arrays.poison();
        const Tuned tuned = tune(problem.transfers, options, &arrays.from, arrays.to.data(), 2);
        options.variant = tuned.variant;  // where there is only one way to run it, tuning has run nothing
        Program(problem.transfers, options).execute(&arrays.from, arrays.to.data(), 2);
        CHECK(arrays.dsts == expected);
        CHECK(tuned.gain >= 1);
        CHECK((tuned.gain == 1) == (tuned.variant == Variant{}));
    }
}

TEST_CASE("problems are told apart") {
    std::vector<std::string> texts;
    const auto add = [&](const Problem& problem, const PlanOptions& options) {
        texts.push_back(problem_of(problem.transfers, options, 2));
    };
    PlanOptions options;
    const Problem base = permutation({97, 203}, {1, 0}, 4);
    add(base, options);
    add(permutation({203, 97}, {1, 0}, 4), options);
    add(permutation({97, 203}, {1, 0}, 8), options);
    add(split({300, 47}, {7, 40}, 4), options);
    add(split({300, 47}, {8, 39}, 4), options);
    add(blocked_shuffle(), options);
    const Layout other = Layout::tagged({3, 20, 9, 11}, parse_format_tag("nChw8c"), 4);
    texts.push_back(problem_of(shuffle_transfers(other, 1, 4), options, 2));
    for (const auto number : {Number::f32, Number::s32}) {
        Problem changed = base;
        Sink sink{4, 4, {}, {}, {}, {}};
        if (number == Number::s32) {
            sink.swapped = {{0, 4, 1}};
        } else {
            sink.conversion = {number, number};
        }
        changed.transfers[0].sink = std::make_shared<const Sink>(sink);
        add(changed, options);
    }
    for (const auto& [length, index_bytes] : {std::pair<std::int64_t, std::int64_t>{90, 8}, {91, 8}, {91, 4}}) {
        OffsetTable given;
        given.index_bytes = index_bytes;
        given.length = length;
        given.stride = 64;
        add({{{0, 0, Nest{{{97, 0, 64, std::make_shared<const OffsetTable>(given)}}, 0, 0, 64}}}, 0, {}}, options);
    }
    options.dst_alignment = 64;
    add(base, options);
    texts.push_back(problem_of(base.transfers, options, 3));
    for (std::size_t i = 0; i < texts.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) CHECK(texts[i] != texts[k]);
    }
    // One problem, two ways to write it.
    CHECK(problem_of(permutation({97, 203, 1}, {1, 2, 0}, 4).transfers, {}, 2) == texts[0]);
}

TEST_CASE("the table of tuned problems finds what was inserted") {
    tuned_problems::clear();
    CHECK(tuned_problems::none());
    CHECK(!tuned_problems::find("b"));
    tuned_problems::insert("b", {{1, Variant::Stores::cached, 64}, 1.5});
    tuned_problems::insert("a", {});
    tuned_problems::insert("b", {{2, Variant::Stores::cached, 64}, 1.25});
    CHECK(!tuned_problems::none());
    CHECK(tuned_problems::all().size() == 2);
    CHECK(tuned_problems::all()[0].first == "a");
    CHECK(tuned_problems::find("b")->variant.kernel == 2);
    CHECK(tuned_problems::find("b")->gain == 1.25);
    tuned_problems::clear();
    CHECK(tuned_problems::none());
    CHECK(!tuned_problems::find("b"));
}
