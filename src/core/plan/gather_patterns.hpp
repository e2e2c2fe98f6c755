// The steps of gathered vectors, worked out once per pattern of sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/contract.hpp"

namespace dnnmove {

class GatherPatterns {
public:
    // The source of a unit that is to become zero.
    static constexpr std::int32_t kNone = INT32_MIN;

    // Vectors of `units` units of `unit` bytes, out of windows of `window` bytes that start at `last` at
    // the latest. Indices go to `indices`, equal ones once.
    GatherPatterns(std::vector<GatherIndex>& indices, std::int32_t unit, std::size_t units, std::int32_t window,
                   std::int32_t last, bool pairs)
        : indices_(indices), unit_(unit), units_(units), window_(window), last_(last), pairs_(pairs) {}

    // Forgets every pattern and index.
    void clear();
    // The windows, by where they start, that cover `count` units, `places` being their source offsets.
    void cover(const std::int32_t* places, std::size_t count, std::vector<std::int32_t>& windows);
    // Appends the steps of a vector out of windows that cover its units.
    void make_steps(const std::int32_t* places, const std::vector<std::int32_t>& windows, std::vector<GatherStep>& steps);
    // Appends the steps of a vector to `steps` and sets its count; false where it needs more windows than `most`.
    bool add(const std::int32_t* places, std::size_t most, GatherVector& vector, std::vector<GatherStep>& steps);
    // The position of an index equal to this.
    std::int32_t index(const GatherIndex& wanted);
    // The index that changes nothing as a later step of a two-window gather.
    std::int32_t keep_all();

private:
    // A vector like which others may be.
    struct Pattern {
        std::uint64_t hash;
        std::int32_t base;                // its first real place
        std::vector<std::int32_t> places;  // from there; kNone stays
        std::vector<GatherStep> steps;
        std::int32_t reach;               // the last window's start
    };

    std::vector<GatherIndex>& indices_;
    std::vector<std::uint64_t> index_hashes_;  // of every index, as many as have one
    std::vector<Pattern> patterns_;
    std::vector<std::int32_t> sorted_;
    std::vector<std::int32_t> windows_;
    std::vector<std::int32_t> relative_;
    std::int32_t unit_;
    std::size_t units_;
    std::int32_t window_;
    std::int32_t last_;
    bool pairs_;
};

}  // namespace dnnmove
