// The implementations of a problem, best first, one of them current: what a PrimitiveDesc chooses from.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "onednn/onednn.hpp"
#include "onednn/onednn_errors.hpp"
#include "runtime/error.hpp"

namespace dnnmove::python {

// `implementation`, or what DNNMOVE_IMPLEMENTATION says where that is "auto". Throws ValueError for an
// unknown name in the variable.
std::string requested_implementation(const std::string& implementation);

// `OneDnn`: oneDNN's, where an implementation is not the native one.
template <class OneDnn>
class Implementations {
public:
    struct Candidate {
        std::string name;
        std::optional<OneDnn> onednn;  // empty: native
    };

    // `implementation`: "auto", "native", "onednn" or a candidate's name. Throws UnimplementedError where the forced
    // one is not to be had; `problem` is what oneDNN has none of then: "shuffle that is right for ...".
    Implementations(std::vector<Candidate> candidates, const std::string& implementation, const std::string& problem)
        : candidates_(std::move(candidates)), choice_(requested_implementation(implementation)) {
        while (current_ < candidates_.size() && !allowed(candidates_[current_])) ++current_;
        if (current_ < candidates_.size()) return;
        if (choice_ == "onednn") {
            throw UnimplementedError("implementation ('onednn'): oneDNN " + onednn::version() + " has no " + problem);
        }
        std::string names = "'auto', 'native', 'onednn'";
        for (const Candidate& candidate : candidates_) names += ", '" + candidate.name + "'";
        throw ValueError("implementation ('" + choice_ + "') must be one of " + names);
    }

    const Candidate& current() const { return candidates_[current_]; }
    // "auto", "native", "onednn" or a name, as it was asked for or DNNMOVE_IMPLEMENTATION said.
    const std::string& choice() const { return choice_; }
    std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const Candidate& candidate : candidates_) names.push_back(candidate.name);
        return names;
    }
    // Moves to the next that the caller's choice allows; false past the last.
    bool next() {
        for (std::size_t k = current_ + 1; k < candidates_.size(); ++k) {
            if (!allowed(candidates_[k])) continue;
            current_ = k;
            return true;
        }
        return false;
    }

private:
    bool allowed(const Candidate& candidate) const {
        if (choice_ == "auto" || choice_ == candidate.name) return true;
        return choice_ == (candidate.onednn ? "onednn" : "native");
    }

    std::vector<Candidate> candidates_;
    std::string choice_;
    std::size_t current_ = 0;
};

}  // namespace dnnmove::python
