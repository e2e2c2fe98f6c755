// What dnnmove.tuning needs of the core: the table of tuned problems, as plain Python values.
#include "calls/tuning.hpp"

#include <pybind11/pybind11.h>

#include <string>
#include <utility>
#include <vector>

#include "call/plan_cache.hpp"
#include "plan/tuning.hpp"
#include "python/errors.hpp"

namespace py = pybind11;

namespace dnnmove {
namespace {

constexpr const char* kStores[] = {"automatic", "cached", "nontemporal"};

py::dict tuned() {
    py::dict problems;
    for (const auto& [problem, found] : tuned_problems::all()) {
        py::dict entry;
        entry["kernel"] = found.variant.kernel;
        entry["stores"] = kStores[static_cast<int>(found.variant.stores)];
        entry["panel"] = found.variant.panel;
        entry["gain"] = found.gain;
        problems[py::str(problem)] = entry;
    }
    return problems;
}

// `entries` were checked by dnnmove.tuning. All of them are read before any is kept.
void set_tuned(const py::dict& entries) {
    std::vector<std::pair<std::string, Tuned>> all;
    for (const auto& [problem, value] : entries) {
        const auto entry = value.cast<py::dict>();
        Tuned found;
        found.variant.kernel = entry["kernel"].cast<int>();
        found.variant.panel = entry["panel"].cast<std::int64_t>();
        found.gain = entry["gain"].cast<double>();
        const auto stores = entry["stores"].cast<std::string>();
        for (int k = 0; k < 3; ++k) {
            if (stores == kStores[k]) found.variant.stores = static_cast<Variant::Stores>(k);
        }
        all.emplace_back(problem.cast<std::string>(), found);
    }
    for (auto& [problem, found] : all) tuned_problems::insert(std::move(problem), found);
    clear_plans();
}

void clear_tuned() {
    tuned_problems::clear();
    clear_plans();
}

}  // namespace

void register_tuning(py::module_& module) {
    module.def("_tuned", tuned, "Return the tuned problems.");
    module.def("_set_tuned", set_tuned, py::arg("entries"), "Add tuned problems; calls are planned anew.");
    module.def("_clear_tuned", clear_tuned, "Forget all tuned problems; calls are planned anew.");
}

}  // namespace dnnmove
