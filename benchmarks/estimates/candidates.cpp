// Measures every kernel that can run some random permutations, beside what the planner estimates it to cost.
//
//     dnnmove_estimates ISA BYTES SECONDS SEED
//
// One line per kernel of a problem, the planner's choice first: shape, order of the axes and bytes of an element; the
// plan; its estimate and the time it took on one thread, both in nanoseconds per KB (an estimate as if at 4 GHz).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "plan/canonical.hpp"
#include "plan/plan.hpp"
#include "plan/program.hpp"
#include "runtime/isa.hpp"

using namespace dnnmove;

namespace {

constexpr int kRounds = 5;
constexpr double kHopeless = 8;  // times the fastest: not measured again
constexpr double kRoundBytes = 300e3;

struct Permutation {
    Dims shape;
    std::vector<std::size_t> order;
    std::int64_t itemsize;
    std::int64_t bytes;

    std::string text() const {
        std::string text;
        for (const std::int64_t length : shape) text += (text.empty() ? "" : "x") + std::to_string(length);
        for (std::size_t k = 0; k < order.size(); ++k) text += (k == 0 ? " " : ",") + std::to_string(order[k]);
        return text + " " + std::to_string(itemsize);
    }
    Nest nest() const {
        Nest nest;
        nest.itemsize = itemsize;
        const Dims strides = dense_strides(shape, itemsize);
        std::int64_t dst_stride = itemsize;
        for (std::size_t k = order.size(); k-- > 0; dst_stride *= shape[order[k]]) {
            nest.loops.push_back({shape[order[k]], strides[order[k]], dst_stride});
        }
        return nest;
    }
};

using Random = std::mt19937_64;

std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

// A third of them of some axes alike, a third of short ones beside one or two that are long, a third of many very short ones.
Permutation random_permutation(Random& random, double bytes) {
    constexpr std::int64_t kItemsizes[] = {1, 2, 4, 4, 4, 8, 8, 16, 3, 5, 6, 7, 9, 10, 12, 14, 24, 36, 40, 48, 60};
    Permutation permutation;
    permutation.itemsize = kItemsizes[between(random, 0, std::size(kItemsizes) - 1)];
    const double elements = bytes / static_cast<double>(permutation.itemsize);
    const std::int64_t kind = between(random, 0, 2);
    const auto rank = static_cast<std::size_t>(kind == 0 ? between(random, 3, 7) : kind == 1 ? between(random, 2, 4) : 20);
    if (kind == 2) {
        for (double left = elements; left >= 2 && permutation.shape.size() < rank;
             left /= static_cast<double>(permutation.shape.back())) {
            permutation.shape.push_back(std::min(between(random, 2, 4), static_cast<std::int64_t>(left)));
        }
    } else if (kind == 0) {
        const double side = std::pow(elements, 1.0 / static_cast<double>(rank));
        for (std::size_t k = 0; k < rank; ++k) {
            const double factor = std::exp(std::uniform_real_distribution<>(-0.7, 0.7)(random));
            permutation.shape.push_back(std::max<std::int64_t>(2, std::llround(side * factor)));
        }
    } else {
        for (std::size_t k = 0; k < rank; ++k) permutation.shape.push_back(between(random, 2, 20));
        const auto lengthen = [&](double share) {
            std::int64_t& length =
                permutation.shape[static_cast<std::size_t>(between(random, 0, static_cast<std::int64_t>(rank) - 1))];
            const double others = static_cast<double>(element_count(permutation.shape)) / static_cast<double>(length);
            length = std::max<std::int64_t>(2, std::llround(std::pow(elements / others, share)));
        };
        if (rank > 2 && between(random, 0, 1) == 0) lengthen(0.5);
        lengthen(1);
    }
    permutation.order.resize(permutation.shape.size());
    std::iota(permutation.order.begin(), permutation.order.end(), std::size_t{0});
    while (std::is_sorted(permutation.order.begin(), permutation.order.end()))
        std::shuffle(permutation.order.begin(), permutation.order.end(), random);
    permutation.bytes = element_count(permutation.shape) * permutation.itemsize;
    return permutation;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Contestant {
    double estimate;  // cycles per byte
    Program program;
    double seconds = 1e30;
};

// Those of the planner, as it would rank them.
std::vector<Contestant> contestants_of(const Permutation& permutation, Isa isa, bool beyond) {
    const Nest nest = canonical(permutation.nest());
    PlanContext context{&kernels_for(isa), beyond, !beyond, 64, 0};
    context.beyond_cache = context.far_beyond_cache = context.stream_rows = beyond;
    std::vector<double> costs;
    for (const Candidate& candidate : candidates(Problem(nest.loops, nest.itemsize, context))) costs.push_back(candidate.cost);
    std::sort(costs.begin(), costs.end());
    std::vector<Contestant> contestants;
    for (std::size_t k = 0; k < costs.size(); ++k) {
        PlanOptions options{isa, 64, {}};
        options.variant.kernel = static_cast<int>(k);
        options.variant.stores = beyond ? Variant::Stores::nontemporal : Variant::Stores::cached;
        contestants.push_back({costs[k], Program({Transfer{0, 0, permutation.nest()}}, options)});
    }
    return contestants;
}

void measure(std::vector<Contestant>& contestants, std::int64_t bytes, const std::byte* src, std::byte* dst) {
    const int calls = std::max(1, static_cast<int>(kRoundBytes / static_cast<double>(bytes)));
    for (int round = 0; round < kRounds; ++round) {
        double fastest = 1e30;
        for (const Contestant& contestant : contestants) fastest = std::min(fastest, contestant.seconds);
        for (Contestant& contestant : contestants) {
            if (round > 0 && contestant.seconds > kHopeless * fastest) continue;
            contestant.program.execute(&src, &dst, 1);
            const double start = now();
            for (int call = 0; call < calls; ++call) contestant.program.execute(&src, &dst, 1);
            contestant.seconds = std::min(contestant.seconds, (now() - start) / calls);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return std::fputs("usage: dnnmove_estimates ISA BYTES SECONDS SEED\n", stderr), 2;
    const auto isas = available_isas();
    const auto isa = std::find_if(isas.begin(), isas.end(), [&](Isa each) { return std::string(to_string(each)) == argv[1]; });
    if (isa == isas.end()) return std::fprintf(stderr, "%s is no instruction set of this machine\n", argv[1]), 2;
    const double bytes = std::atof(argv[2]);
    const double end = now() + std::atof(argv[3]);
    Random random(std::strtoull(argv[4], nullptr, 10));
    constexpr double kCaches = 16e6;
    constexpr std::size_t kLine = 64;  // the plans are those of aligned destinations
    std::vector<std::byte> src(static_cast<std::size_t>(8 * bytes)), room(src.size() + kLine);
    std::byte* const dst = room.data() + (kLine - reinterpret_cast<std::uintptr_t>(room.data()) % kLine) % kLine;
    while (now() < end) {
        const Permutation permutation = random_permutation(random, bytes);
        if (static_cast<std::size_t>(permutation.bytes) > src.size()) continue;
        std::vector<Contestant> contestants = contestants_of(permutation, *isa, bytes > kCaches);
        measure(contestants, permutation.bytes, src.data(), dst);
        for (const Contestant& contestant : contestants) {
            std::string plan = contestant.program.explain(1);
            plan = plan.substr(plan.find("kernel ") + 7);
            plan.pop_back();
            constexpr double kNanoseconds = 0.25;  // of a cycle
            std::printf("%s;%s;%.2f;%.2f\n", permutation.text().c_str(), plan.c_str(), contestant.estimate * kNanoseconds * 1e3,
                        contestant.seconds / static_cast<double>(permutation.bytes) * 1e12);
        }
    }
    return 0;
}
