// Chains: random ones against a step-by-step reference on indices, and what known ones fold to.
#include <algorithm>
#include <optional>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "chain/chain.hpp"
#include "chain/fold.hpp"
#include "plan/program.hpp"
#include "test.hpp"
#include "runtime/error.hpp"

using namespace dnnmove;
using namespace dnnmove::chain;
using view::Piece;
using view::Term;

namespace {

// A row-major array of source indices.
struct Array {
    Dims shape;
    std::vector<std::int32_t> data;
};

using Position = Dims;

// out[p] = in[where(p)] for every position p of `shape`.
Array gather(const Array& in, const Dims& shape, const std::function<Position(const Position&)>& where) {
    Array out{shape, {}};
    const std::int64_t count = element_count(shape);
    const Dims strides = dense_strides(in.shape, 1);
    for (std::int64_t i = 0; i < count; ++i) {
        Position p(shape.size());
        std::int64_t rest = i;
        for (std::size_t a = shape.size(); a-- > 0; rest /= shape[a]) p[a] = rest % shape[a];
        const Position q = where(p);
        std::int64_t from = 0;
        for (std::size_t a = 0; a < q.size(); ++a) from += q[a] * strides[a];
        out.data.push_back(in.data[static_cast<std::size_t>(from)]);
    }
    return out;
}

class Random {
public:
    explicit Random(std::mt19937& engine) : engine_(engine) {}
    // In [low, high].
    std::int64_t operator()(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
    }
    std::int64_t divisor(std::int64_t n) {
        std::vector<std::int64_t> all;
        for (std::int64_t d = 1; d <= n; ++d) {
            if (n % d == 0) all.push_back(d);
        }
        return all[static_cast<std::size_t>((*this)(0, static_cast<std::int64_t>(all.size()) - 1))];
    }

private:
    std::mt19937& engine_;
};

// The lengths of a random shape of `count` elements.
Dims random_factors(Random& random, std::int64_t count) {
    Dims shape;
    while (count > 1 && shape.size() < 5) {
        shape.push_back(random.divisor(count));
        count /= shape.back();
    }
    shape.push_back(count);
    return shape;
}

// Adds a random step that fits every branch of `chain`, and applies it to `arrays`.
bool random_step(Random& random, Chain& chain, std::vector<Array>& arrays) {
    if (arrays.empty()) return false;
    const Array& probe = arrays[static_cast<std::size_t>(random(0, static_cast<std::int64_t>(arrays.size()) - 1))];
    const auto rank = static_cast<std::int64_t>(probe.shape.size());
    const std::size_t axis = rank == 0 ? 0 : static_cast<std::size_t>(random(0, rank - 1));
    const std::int64_t length = rank == 0 ? 1 : probe.shape[axis];
    StepPtr step;
    std::function<std::vector<Array>(const Array&)> reference;
    switch (random(0, 7)) {
        case 0: {
            if (rank == 0 || length == 0) return false;
            const std::int64_t group = random.divisor(length);
            const bool channels = random(0, 1) != 0;
            step = channels ? shuffle_channels(static_cast<std::int64_t>(axis), group)
                            : shuffle(static_cast<std::int64_t>(axis), group);
            reference = [=](const Array& in) -> std::vector<Array> {
                const std::int64_t c = in.shape[axis];
                const std::int64_t size = channels ? c / group : group;
                return {gather(in, in.shape, [=](Position p) {
                    const std::int64_t v = p[axis] / (c / size), u = p[axis] % (c / size);
                    p[axis] = u * size + v;
                    return p;
                })};
            };
            break;
        }
        case 1: {
            Dims order(static_cast<std::size_t>(rank));
            for (std::size_t a = 0; a < order.size(); ++a) order[a] = static_cast<std::int64_t>(a);
            for (std::size_t a = order.size(); a-- > 1;) {
                std::swap(order[a], order[static_cast<std::size_t>(random(0, static_cast<std::int64_t>(a)))]);
            }
            step = transpose(order);
            reference = [=](const Array& in) -> std::vector<Array> {
                Dims shape = in.shape;
                for (std::size_t a = 0; a < order.size(); ++a) shape[a] = in.shape[static_cast<std::size_t>(order[a])];
                return {gather(in, shape, [=](const Position& p) {
                    Position q = p;
                    for (std::size_t a = 0; a < order.size(); ++a) q[static_cast<std::size_t>(order[a])] = p[a];
                    return q;
                })};
            };
            break;
        }
        case 2: {
            if (rank == 0 || arrays.size() > 6) return false;
            Dims lengths;
            std::int64_t left = length;
            for (std::int64_t parts = random(1, 3); parts > 1; --parts) {
                lengths.push_back(random(0, left));
                left -= lengths.back();
            }
            lengths.push_back(left);
            step = variadic_split(static_cast<std::int64_t>(axis), lengths);
            reference = [=](const Array& in) {
                std::vector<Array> parts;
                std::int64_t start = 0;
                for (const std::int64_t part : lengths) {
                    Dims shape = in.shape;
                    shape[axis] = part;
                    parts.push_back(gather(in, shape, [=](Position p) {
                        p[axis] += start;
                        return p;
                    }));
                    start += part;
                }
                return parts;
            };
            break;
        }
        case 3: {
            if (probe.data.size() > 200) return false;
            Dims target = probe.shape;
            for (std::int64_t& n : target) {
                if (n == 1) n = random(1, 3);
            }
            if (target.size() < 5) target.insert(target.begin(), random(1, 3));
            step = broadcast(target, std::nullopt, "numpy");
            reference = [=](const Array& in) -> std::vector<Array> {
                return {gather(in, target, [=](const Position& p) {
                    Position q(in.shape.size());
                    for (std::size_t a = 0; a < q.size(); ++a) {
                        q[a] = in.shape[a] == 1 ? 0 : p[p.size() - q.size() + a];
                    }
                    return q;
                })};
            };
            break;
        }
        case 4:
        case 5: {
            if (probe.data.empty()) return false;
            Dims shape = random_factors(random, static_cast<std::int64_t>(probe.data.size()));
            step = reshape(shape);
            reference = [=](const Array& in) -> std::vector<Array> { return {Array{shape, in.data}}; };
            break;
        }
        default: {
            if (rank == 0 || length == 0) return false;
            const std::int64_t pace = random(1, 3);
            const bool backward = random(0, 1) != 0;
            const std::int64_t first = random(0, length - 1);
            std::vector<IndexEntry> entries(axis, IndexEntry{Slice{}});
            Slice slice;
            slice.start = first;
            slice.step = backward ? -pace : pace;
            entries.emplace_back(slice);
            step = chain::index(entries);
            reference = [=](const Array& in) -> std::vector<Array> {
                Dims shape = in.shape;
                const std::int64_t n = in.shape[axis];
                const std::int64_t begin = std::min(first, backward ? n - 1 : n);
                shape[axis] = backward ? begin / pace + 1 : (n - begin + pace - 1) / pace;
                if (n == 0) shape[axis] = 0;
                return {gather(in, shape, [=](Position p) {
                    p[axis] = begin + p[axis] * slice.step;
                    return p;
                })};
            };
        }
    }
    try {
        chain = chain.then(step);
    } catch (const ValueError&) {
        return false;  // fits the probe, not another branch
    }
    std::vector<Array> next;
    for (const Array& array : arrays) {
        for (Array& result : reference(array)) next.push_back(std::move(result));
    }
    arrays = std::move(next);
    return true;
}

// Runs every pass, from `source` to `outputs`.
void run(const Folded& folded, const std::vector<Dims>& strides, const std::byte* source, std::vector<std::byte*> dsts) {
    std::vector<std::vector<std::byte>> memory;
    std::vector<const std::byte*> srcs{source};
    for (const Written& written : folded.intermediates) {
        memory.emplace_back(static_cast<std::size_t>(written.mosaic.bytes()) + 1);
        srcs.push_back(memory.back().data());
        dsts.push_back(memory.back().data());
    }
    for (std::size_t pass = 0; pass < folded.passes; ++pass) {
        Program(folded.transfers(pass, strides)).execute(srcs.data(), dsts.data(), 1);
    }
}

// Runs `chain` over 0, 1, 2, ... and compares with `expected`.
bool matches(const Chain& chain, const std::vector<Array>& expected, std::size_t max_nests) {
    const Folded folded = fold(chain, max_nests);
    for (const Written& written : folded.outputs) {
        if (written.mosaic.dense_nests().size() > max_nests) return false;
    }
    const std::int64_t count = element_count(chain.sources().front().shape);
    std::vector<std::int32_t> source(static_cast<std::size_t>(count) + 1);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::int32_t>(i);
    // Once into row-major outputs, once into outputs whose elements lie two apart.
    for (const std::int64_t spread : {1, 2}) {
        std::vector<Dims> strides;
        if (spread != 1) {
            for (const Array& array : expected) strides.push_back(dense_strides(array.shape, 4 * spread));
        }
        std::vector<std::vector<std::int32_t>> results;
        std::vector<std::byte*> dsts;
        for (const Array& array : expected) {
            results.emplace_back(array.data.size() * static_cast<std::size_t>(spread) + 1, -1);
        }
        for (auto& result : results) dsts.push_back(reinterpret_cast<std::byte*>(result.data()));
        run(folded, strides, reinterpret_cast<const std::byte*>(source.data()), std::move(dsts));
        if (folded.outputs.size() != expected.size()) return false;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            if (chain.outputs()[i] != expected[i].shape) return false;
            std::vector<std::int32_t> wanted(results[i].size(), -1);
            for (std::size_t k = 0; k < expected[i].data.size(); ++k) {
                wanted[k * static_cast<std::size_t>(spread)] = expected[i].data[k];
            }
            if (results[i] != wanted) return false;
        }
    }
    return true;
}

Chain over(const Dims& shape) { return Chain(shape, dense_strides(shape, 1), 1); }

// How many nests a chain of one pass takes in all; 0 where it takes more passes.
std::size_t nests(const Chain& chain) {
    const Folded folded = fold(chain);
    return folded.passes == 1 ? folded.transfers(0).size() : 0;
}

bool is_plain_copy(const Chain& chain) {
    return fold(chain).outputs.at(0).mosaic == Mosaic::dense(chain.sources().front().shape, chain.itemsize());
}

template <typename Make>
std::string message(const Make& make) {
    try {
        make();
    } catch (const ValueError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("random chains match the reference") {
    testing::each_round(2000, 20260101, [](std::mt19937& engine, int) {
        Random random(engine);
        const std::int64_t total = random(1, 240);
        const Dims shape = random_factors(random, total);
        Chain chain(shape, dense_strides(shape, 4), 4);
        std::vector<Array> arrays{Array{shape, {}}};
        for (std::int64_t i = 0; i < total; ++i) arrays[0].data.push_back(static_cast<std::int32_t>(i));
        const auto steps = static_cast<std::size_t>(random(1, 8));
        for (int attempt = 0; attempt < 40 && chain.steps().size() < steps; ++attempt) {
            random_step(random, chain, arrays);
        }
        const std::size_t limits[] = {kMaxNests, 1, 3};
        INFO("on ", shape, chain.text());
        CHECK(matches(chain, arrays, limits[random(0, 2)]));
    });
}

TEST_CASE("steps that cancel are a plain copy") {
    const Slice backwards{{}, {}, -1};
    CHECK(is_plain_copy(over({8, 12}).then(shuffle(1, 3)).then(shuffle(1, 4))));
    CHECK(is_plain_copy(over({2, 3, 4}).then(transpose({1, 2, 0})).then(transpose({2, 0, 1}))));
    CHECK(is_plain_copy(over({6, 4}).then(reshape({8, 3})).then(reshape({6, 4}))));
    CHECK(is_plain_copy(over({5, 7}).then(chain::index({backwards})).then(chain::index({backwards}))));
    CHECK(!is_plain_copy(over({8, 12}).then(shuffle(1, 3)).then(shuffle(1, 3))));
}

TEST_CASE("cuts across digits are boxes and not passes") {
    CHECK(nests(over({4, 116, 49}).then(shuffle_channels(1, 2)).then(variadic_split(1, {58, 58}))) == 2);
    CHECK(nests(over({12, 5}).then(shuffle(0, 3)).then(variadic_split(0, {5, 7}))) == 4);
    CHECK(nests(over({2, 6, 5}).then(reshape({12, 5})).then(chain::index({Slice{4, 10, 1}})).then(reshape({2, 3, 5}))) == 1);
    CHECK(nests(over({24}).then(chain::index({Slice{1, {}, 5}}))) == 1);
}

TEST_CASE("intermediates are where the fewest bytes are") {
    // The crop makes the array small, so the intermediate comes after it, not before.
    const Chain chain = over({101, 103, 107})
                            .then(transpose({2, 1, 0}))
                            .then(chain::index({Slice{0, 106, 1}, Slice{0, 102, 1}, Slice{0, 50, 1}}))
                            .then(reshape({50, 53, 4, 51}))
                            .then(transpose({}))
                            .then(reshape({53, 51, 4, 50}));
    const Folded folded = fold(chain, 1);
    CHECK(folded.passes > 1);
    for (const Written& written : folded.intermediates) CHECK(written.mosaic.bytes() == 106 * 102 * 50);
}

TEST_CASE("nests that use little of each cache line are no bargain") {
    const auto passes = [](std::int64_t rows) {
        const Chain chain = over({rows, 31 * 37})
                                .then(reshape({rows, 31, 37}))
                                .then(transpose({0, 2, 1}))
                                .then(reshape({rows, 31, 37}))
                                .then(transpose({0, 2, 1}));
        return fold(chain).passes;
    };
    CHECK(passes(10) == 1);    // small: the lines stay in the cache
    CHECK(passes(3000) == 2);
}

TEST_CASE("a search is bounded in pieces and not in time") {
    // Shuffles of coprime lengths, which never compose: without a bound, all pairs of steps are compared.
    Chain hard = over({2 * 3 * 5 * 7 * 11 * 13});
    const std::int64_t factors[] = {2, 3, 5, 7, 11, 13};
    for (std::size_t k = 0; k < 200; ++k) {
        hard = k % 2 == 0 ? hard.then(shuffle(0, factors[k % 6] * factors[(k + 1) % 6]))
                          : hard.then(roll(std::int64_t{17}, std::int64_t{0}));
    }
    const Folded folded = fold(hard);
    CHECK(folded.passes > 1);
    CHECK(folded.cut_short);
    CHECK(folded.composed <= kMostComposed + kMaxPieces * hard.levels().size());
    CHECK(folded.trace().find("the search for the arrays to write to memory ended after") != std::string::npos);
    for (const Written& written : folded.outputs) CHECK(written.mosaic.dense_nests().size() <= kMaxNests);
    // A short one is searched to its end.
    const Folded easy = fold(over({4, 6}).then(shuffle(1, 2)).then(transpose({})).then(split(0, 2)));
    CHECK(!easy.cut_short);
    CHECK(easy.passes == 1);
    CHECK(easy.composed < 32);
}

TEST_CASE("twenty steps take a bounded count of boxes") {
    // What takes under a millisecond, whatever the steps are: boxes are counted, since time would tell of the machine.
    std::size_t long_walks = 0;
    const bool all = testing::each_round(400, 20, [&](std::mt19937& engine, int) {
        Random random(engine);
        const Dims shape = random_factors(random, random(1, 20) * 120);
        Chain chain = over(shape);
        std::vector<Array> arrays{Array{shape, std::vector<std::int32_t>(static_cast<std::size_t>(element_count(shape)))}};
        for (int attempt = 0; attempt < 100 && chain.steps().size() < 20; ++attempt) random_step(random, chain, arrays);
        const Folded folded = fold(chain);
        INFO("on ", shape, chain.text());
        CHECK(folded.composed <= 2 * kMostComposed);
        long_walks += folded.composed > 1000 ? 1 : 0;
    });
    if (all) CHECK(long_walks > 10);
    // As many boxes as there are arrays are no search.
    Chain branches = over({2000, 6}).then(split(0, 2000));
    for (int step = 0; step < 19; ++step) branches = branches.then(transpose({}));
    const Folded folded = fold(branches);
    CHECK(folded.passes == 1);
    CHECK(!folded.cut_short);
}

TEST_CASE("many pieces join as few do") {
    // Every cut that the reshapes make is undone by the next, whatever the number of pieces in between.
    const auto pieces = [](std::int64_t rows) {
        return fold(over({rows, 7})
                        .then(reshape({-1}))
                        .then(roll(std::int64_t{3}, std::int64_t{0}))
                        .then(reshape({7, rows}))
                        .then(reshape({-1}))
                        .then(roll(std::int64_t{-3}, std::int64_t{0})))
            .outputs.at(0)
            .mosaic.pieces()
            .size();
    };
    CHECK(pieces(5) == 1);
    CHECK(pieces(64) == 1);
    std::vector<std::int64_t> lengths(120);
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = 1 + static_cast<std::int64_t>(i * 7 % 5);
    std::vector<Source> sources;
    for (const std::int64_t length : lengths) sources.push_back({{length, 3}, {1, length}});
    const Mosaic joined = Chain(sources, 1).then(concat(0)).start();
    CHECK(joined.pieces().size() <= lengths.size());
    CHECK(fold(Chain(sources, 1).then(concat(0)).then(transpose({})).then(transpose({}))).outputs.at(0).mosaic == joined);
}

// Where element `position` of an array of one axis lies.
std::optional<std::int64_t> find(const Mosaic& mosaic, std::int64_t position) {
    for (const Piece& piece : mosaic.pieces()) {
        if (const auto offset = piece.axes.at(0).find(position)) return piece.offset + *offset;
    }
    return std::nullopt;
}

TEST_CASE("a list of indices finds them in any number of pieces") {
    Mosaic mosaic = Mosaic::dense({2310}, 1);
    for (const std::int64_t low : {6, 35, 22}) mosaic = mosaic.swap_halves(0, low).take(0, {{2293, 1, 17}, {0, 1, 2293}});
    CHECK(mosaic.pieces().size() > 8);
    std::mt19937 engine(3);
    Random random(engine);
    for (const std::size_t count : {5, 400, 6000}) {
        Dims indices(count);
        for (std::int64_t& index : indices) index = random(0, 2309);
        const Mosaic listed = mosaic.list(0, indices);
        CHECK(listed.pieces().size() <= mosaic.pieces().size());
        bool same = true;
        for (std::size_t k = 0; k < count; ++k)
            same = same && find(listed, static_cast<std::int64_t>(k)) == find(mosaic, indices[k]);
        CHECK(same);
    }
}

TEST_CASE("a roll of many boxes cuts those across its seam") {
    Chain rolls = over({2310});
    for (const std::int64_t low : {6, 35, 22, 15})
        rolls = rolls.then(roll(std::int64_t{17}, std::int64_t{0})).then(shuffle(0, low));
    CHECK(fold(rolls).outputs.at(0).mosaic.pieces().size() >= 16);
    rolls = rolls.then(roll(std::int64_t{7}, std::int64_t{0})).then(roll(std::int64_t{-3}, std::int64_t{0}));
    const Folded folded = fold(rolls);
    CHECK(folded.passes == 1);
    for (const Piece& piece : folded.outputs.at(0).mosaic.pieces()) {
        for (const Term& term : piece.axes.at(0).terms) CHECK(!term.listing);
    }
}

TEST_CASE("steps after a branch apply to it and its parts") {
    const Chain split3 = over({6, 4}).then(split(0, 3));
    const Chain turned = split3.then(branch(1)).then(transpose({})).then(split(0, 2)).then(reshape({-1}));
    CHECK(turned.outputs() == std::vector<Dims>({{2, 4}, {4}, {4}, {2, 4}}));
    CHECK(turned.then(branch(-1)).then(reshape({8})).outputs().back() == Dims{8});
    CHECK(turned.then(branch({})).then(reshape({-1})).outputs() == std::vector<Dims>({{8}, {4}, {4}, {8}}));
    CHECK(fold(turned).passes == 1);
    CHECK_THROWS_AS(split3.then(branch(3)), IndexError);
    CHECK_THROWS_AS(split3.then(branch(-4)), IndexError);
}

TEST_CASE("listed positions keep what other steps make of them") {
    testing::each_round(500, 7, [](std::mt19937& engine, int) {
        Random random(engine);
        const Dims shape{random(1, 6), random(1, 40), random(1, 5)};
        Chain chain(shape, dense_strides(shape, 4), 4);
        std::vector<Array> arrays{Array{shape, {}}};
        for (std::int64_t i = 0; i < element_count(shape); ++i) arrays[0].data.push_back(static_cast<std::int32_t>(i));
        Dims indices(static_cast<std::size_t>(random(1, 30)));
        for (std::int64_t& index : indices) index = random(0, shape[1] - 1);
        chain = chain.then(take(indices, 1));
        arrays[0] = gather(arrays[0], {shape[0], static_cast<std::int64_t>(indices.size()), shape[2]}, [&](Position p) {
            p[1] = indices[static_cast<std::size_t>(p[1])];
            return p;
        });
        const auto steps = chain.steps().size() + static_cast<std::size_t>(random(0, 4));
        for (int attempt = 0; attempt < 40 && chain.steps().size() < steps; ++attempt) random_step(random, chain, arrays);
        const std::size_t limits[] = {kMaxNests, kMaxPieces};
        INFO("on ", shape, chain.text());
        CHECK(matches(chain, arrays, limits[random(0, 1)]));
    });
}

TEST_CASE("sources that lie alike are one transfer") {
    const auto several = [](std::size_t count, const Dims& shape) {
        return Chain(std::vector<Source>(count, Source{shape, dense_strides(shape, 1)}), 1);
    };
    const std::vector<Transfer> batch =
        fold(several(2000, {4, 5, 3}).then(stack(0)).then(transpose({0, 3, 1, 2}))).transfers(0);
    REQUIRE(batch.size() == 1);
    CHECK(batch[0].src == 0);
    CHECK(batch[0].repeat.count == 2000);
    CHECK(batch[0].repeat.src_step == 1);
    CHECK(batch[0].repeat.src_pitch == 0);
    CHECK(batch[0].repeat.dst_pitch == 60);
    // From the last one, and from every second one.
    const std::vector<Transfer> flipped = fold(several(8, {6}).then(concat(0)).then(flip(std::int64_t{0}))).transfers(0);
    REQUIRE(flipped.size() == 1);
    CHECK(flipped[0].src == 7);
    CHECK(flipped[0].repeat.src_step == -1);
    CHECK(flipped[0].nest.src_offset == 5);
    const std::vector<Transfer> halves =
        fold(several(8, {6}).then(stack(0)).then(reshape({4, 2, 6})).then(transpose({1, 0, 2})).then(split(0, 2))).transfers(0);
    REQUIRE(halves.size() == 2);
    CHECK(halves[1].src == 1);
    CHECK(halves[1].repeat.src_step == 2);
    CHECK(halves[1].repeat.count == 4);
    // A table of sources comes out source by source.
    const std::vector<Transfer> chosen = fold(several(40, {6}).then(stack(0)).then(take(
                                                  {3, 17, 9, 30, 2, 39, 0, 25, 11, 3, 8, 29, 5, 1, 33, 20, 7, 38, 6, 12}, 0)))
                                             .transfers(0);
    CHECK(chosen.size() == 19);  // source 3 comes twice
}

TEST_CASE("sources that lie differently are a nest each and cost no pass") {
    std::vector<Source> sources;
    for (std::int64_t i = 0; i < 3000; ++i) {
        const std::int64_t length = i * 7 % 11;
        sources.push_back(i % 2 == 0 ? Source{{length, 4}, {4, 1}} : Source{{length, 4}, {-1, length}});
    }
    const Folded folded = fold(Chain(sources, 1).then(concat(0)).then(transpose({})).then(split(0, 2)));
    CHECK(folded.passes == 1);
    // Every 22nd lies alike, of length 1 every 11th; those of length 0 are none.
    CHECK(folded.transfers(0).size() == 2 * 19);
}

TEST_CASE("sources are far from overflow") {
    const std::int64_t far = std::int64_t{1} << 56;
    CHECK_THROWS_AS(Chain(std::vector<Source>(64, Source{{2}, {far}}), 1).then(stack(0)), ValueError);
    const std::vector<Transfer> all =
        fold(Chain(std::vector<Source>(4, Source{{2}, {-far / 4}}), 1).then(stack(1))).transfers(0);
    REQUIRE(all.size() == 1);
    CHECK(all[0].repeat.src_pitch == 0);
    CHECK(all[0].nest.loops.size() == 1);
}

TEST_CASE("one step takes one pass and few nests") {
    CHECK(nests(over({6, 8}).then(roll(std::int64_t{3}, std::int64_t{1}))) == 2);
    CHECK(nests(over({6, 8}).then(flip(std::monostate{}))) == 1);
    CHECK(nests(over({60}).then(unfold(0, 9, 4))) == 1);
    CHECK(nests(over({4, 100}).then(take({5, 99, 3, 17, 64, 2, 2, 80, 11, 40, 7, 93, 1, 55, 28, 70, 36, 9, 61, 4}, 1))) == 1);
    CHECK(nests(over({2, 12, 5}).then(rearrange("a (b c) d -> (d a) c b", {{"c", 3}}))) == 1);
    CHECK(nests(over({2, 12, 4, 6}).then(depth_to_space(2, "DCR"))) == 1);
}

TEST_CASE("errors name the step and the branch") {
    CHECK(message([] {
              over({8}).then(reshape({2, 4})).then(variadic_split(1, {3}));
          }).starts_with("step 2 (variadic_split): split_lengths (3,)"));
    CHECK(message([] {
              over({8}).then(variadic_split(0, {2, 6})).then(shuffle(0, 4));
          }).starts_with("step 2 (shuffle), branch 0: group_size (4)"));
    CHECK_THROWS_AS(over({8}).then(split(1, 2)), AxisError);
    CHECK_THROWS_AS(over({1}).then(broadcast({std::int64_t{1} << 62, 4}, std::nullopt, "numpy")), ValueError);
}
