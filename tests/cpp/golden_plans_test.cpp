// The plans of some problems, as golden_plans.txt has them: a change of the planner shows which plans move.
//
// In that file a line at the margin is a permutation: the source's shape, the axes in the result's order, ~ before those that
// are reversed, bytes of an element. Below it, indented, what the planner makes of it: instruction set, whether the data are
// planned to stay in the caches or to go past them (which would otherwise follow from the machine's cache), on a processor of few
// streams or for a result 16 bytes behind a line where that makes another plan, and the plan. The program checks the lines of the
// instruction set that it runs under; with --update it writes those of all, on a machine that has them.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "array/dims.hpp"
#include "plan/program.hpp"
#include "runtime/isa.hpp"
#include "test.hpp"

using namespace dnnmove;

namespace {

struct Problem {
    std::string text;  // "512x512x96 1,0,2 4"
    std::vector<std::string> plans;
};

Dims numbers(const std::string& text, char between) {
    Dims found;
    std::istringstream stream(text);
    for (std::string number; std::getline(stream, number, between);) found.push_back(std::stoll(number));
    return found;
}

// Throws where it is none.
Nest nest_of(const std::string& problem) {
    std::istringstream words(problem);
    std::string shape;
    std::string order;
    Nest nest;
    words >> shape >> order >> nest.itemsize;
    const Dims extents = numbers(shape, 'x');
    const Dims strides = dense_strides(extents, nest.itemsize);
    std::vector<std::string> axes;
    std::istringstream places(order);
    for (std::string place; std::getline(places, place, ',') && !place.empty();) axes.push_back(place);
    if (words.fail() || axes.size() != extents.size()) throw std::invalid_argument(problem);
    std::int64_t dst_stride = nest.itemsize;
    for (std::size_t k = axes.size(); k-- > 0;) {
        const bool reversed = axes[k].front() == '~';
        const auto axis = static_cast<std::size_t>(std::stoll(axes[k].substr(reversed ? 1 : 0)));
        const std::int64_t extent = extents.at(axis);
        if (reversed) nest.src_offset += (extent - 1) * strides[axis];
        nest.loops.push_back({extent, reversed ? -strides[axis] : strides[axis], dst_stride});
        dst_stride *= extent;
    }
    return nest;
}

std::string plan_of(const std::string& problem, Isa isa, Variant::Stores stores, const Processor& processor,
                    std::int64_t alignment) {
    PlanOptions options{isa, alignment, {}, &processor};
    options.variant.stores = stores;
    std::string text = Program({Transfer{0, 0, nest_of(problem)}}, options).explain(1);
    const std::size_t blocks = text.find("moved by blocks");
    const std::size_t kernel = text.find("kernel ");
    text.erase(0, blocks != std::string::npos ? blocks : kernel + std::strlen("kernel "));
    return text.substr(0, text.rfind(", ", text.rfind(" units")));
}

std::vector<std::string> plans_of(const std::string& problem, Isa isa) {
    const std::string name = "  " + std::string(to_string(isa));
    std::vector<std::string> plans;
    for (const auto& [stores, where] :
         {std::pair{Variant::Stores::cached, " in the caches"}, std::pair{Variant::Stores::nontemporal, " past them"}}) {
        const auto plan = [&, stores = stores](const Processor& processor, std::int64_t alignment) {
            return plan_of(problem, isa, stores, processor, alignment);
        };
        const std::string usual = plan(kManyStreams, 64);
        const std::string by_few = plan(kFewStreams, 64);
        const std::string behind = plan(kManyStreams, 16);
        const std::string behind_by_few = plan(kFewStreams, 16);
        // (No processor of this kind has vectors of a line.)
        const std::string by_few_open = isa <= Isa::avx2 ? plan(kFewOpenLines, 64) : usual;
        const auto add = [&, where = where](const char* when, const std::string& text) {
            plans.push_back(name + where + when + ": " + text);
        };
        add("", usual);
        if (by_few != usual) add(", few streams", by_few);
        if (behind != usual) add(", behind lines", behind);
        if (behind_by_few != by_few && behind_by_few != behind) add(", few streams, behind lines", behind_by_few);
        if (by_few_open != usual) add(", few open lines", by_few_open);
    }
    return plans;
}

std::vector<Problem> read(const char* path) {
    std::ifstream file(path);
    std::vector<Problem> problems;
    for (std::string line; std::getline(file, line);) {
        if (line.empty()) continue;
        if (line[0] != ' ') {
            problems.push_back({line, {}});
        } else {
            if (problems.empty()) throw std::invalid_argument("no problem is above" + line);
            problems.back().plans.push_back(line);
        }
    }
    return problems;
}

// What a plan of the instruction set begins with.
std::string name_of(Isa isa) { return "  " + std::string(to_string(isa)) + " "; }

// Of instruction sets that this machine lacks the plans stay.
void update(const char* path, const std::vector<Problem>& problems) {
    const std::vector<Isa> available = available_isas();
    std::ostringstream text;  // whole before anything is overwritten: a problem may be none
    for (const Problem& problem : problems) {
        text << problem.text << "\n";
        for (const Isa isa : {Isa::avx512_vbmi, Isa::avx512, Isa::avx2, Isa::scalar}) {
            const bool here = std::find(available.begin(), available.end(), isa) != available.end();
            for (const std::string& plan : here ? plans_of(problem.text, isa) : problem.plans) {
                if (plan.starts_with(name_of(isa))) text << plan << "\n";
            }
        }
    }
    std::ofstream(path) << text.str();
}

}  // namespace

TEST_CASE("plans are those of golden_plans.txt") {
    const char* const path = GOLDEN_PLANS;
    const std::vector<Problem> problems = read(path);
    if (testing::has_argument("--update")) {
        update(path, problems);
        return;
    }
    CHECK(!problems.empty());
    for (const Problem& problem : problems) {
        INFO(problem.text, ": if this is what you want, golden_plans_test --update writes it");
        const std::vector<std::string> plans = plans_of(problem.text, best_isa());
        for (const std::string& plan : plans) {
            INFO("new: ", plan);
            CHECK(std::find(problem.plans.begin(), problem.plans.end(), plan) != problem.plans.end());
        }
        for (const std::string& golden : problem.plans) {
            if (!golden.starts_with(name_of(best_isa()))) continue;
            INFO("gone: ", golden);
            CHECK(std::find(plans.begin(), plans.end(), golden) != plans.end());
        }
    }
}
