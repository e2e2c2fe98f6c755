// The steps of gathered vectors, worked out once per pattern of sources.
#include "plan/gather_patterns.hpp"

#include <algorithm>
#include <cstring>

namespace dnnmove {
namespace {

constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15u;

std::uint64_t hash_of(const GatherIndex& index) {
    std::uint64_t hash = 0;
    for (std::size_t k = 0; k < sizeof index.byte; k += 8) {
        std::uint64_t word;
        std::memcpy(&word, index.byte + k, sizeof word);
        hash = (hash ^ word) * kMix;
        hash ^= hash >> 29;
    }
    return hash;
}

}  // namespace

void GatherPatterns::clear() {
    indices_.clear();
    index_hashes_.clear();
    patterns_.clear();
}

std::int32_t GatherPatterns::index(const GatherIndex& wanted) {
    while (index_hashes_.size() < indices_.size()) index_hashes_.push_back(hash_of(indices_[index_hashes_.size()]));
    const std::uint64_t hash = hash_of(wanted);
    for (std::size_t k = 0; k < index_hashes_.size(); ++k) {
        if (index_hashes_[k] == hash && std::memcmp(indices_[k].byte, wanted.byte, sizeof wanted.byte) == 0) {
            return static_cast<std::int32_t>(k);
        }
    }
    indices_.push_back(wanted);
    index_hashes_.push_back(hash);
    return static_cast<std::int32_t>(indices_.size()) - 1;
}

std::int32_t GatherPatterns::keep_all() {
    GatherIndex index_of_all;
    for (std::size_t byte = 0; byte < sizeof index_of_all.byte; ++byte) {
        index_of_all.byte[byte] = static_cast<std::uint8_t>(byte);
    }
    return index(index_of_all);
}

void GatherPatterns::cover(const std::int32_t* places, std::size_t count, std::vector<std::int32_t>& windows) {
    sorted_.clear();
    bool ascending = true;
    for (std::size_t k = 0; k < count; ++k) {
        if (places[k] == kNone) continue;
        ascending = ascending && (sorted_.empty() || places[k] >= sorted_.back());
        sorted_.push_back(places[k]);
    }
    if (!ascending) std::sort(sorted_.begin(), sorted_.end());
    windows.clear();
    for (const std::int32_t place : sorted_) {
        if (!windows.empty() && place + unit_ <= windows.back() + window_) continue;
        windows.push_back(std::min(place, last_));
    }
    if (windows.empty()) windows.push_back(last_);
}

void GatherPatterns::make_steps(const std::int32_t* places, const std::vector<std::int32_t>& windows,
                                std::vector<GatherStep>& steps) {
    const std::size_t count = pairs_ && windows.size() > 1 ? windows.size() - 1 : windows.size();
    // Indices as if every byte stayed, or nothing was picked; then each unit changes the one of its window.
    GatherIndex made[64];
    for (std::size_t byte = 0; byte < 64; ++byte) made[0].byte[byte] = static_cast<std::uint8_t>(pairs_ ? byte : 0x80);
    for (std::size_t k = 1; k < count; ++k) made[k] = made[0];
    for (std::size_t k = 0; k < units_; ++k) {
        if (places[k] == kNone) continue;
        std::size_t home = windows.size() - 1;
        while (windows[home] > places[k]) --home;
        std::int32_t position = places[k] - windows[home];
        std::size_t step = home;
        if (pairs_ && home > 0) {
            step = home - 1;
            position += 64;
        }
        std::uint8_t* byte = made[step].byte + k * static_cast<std::size_t>(unit_);
        for (std::int32_t b = 0; b < unit_; ++b) byte[b] = static_cast<std::uint8_t>(position + b);
    }
    for (std::size_t k = 0; k < count; ++k) {
        const std::size_t second = pairs_ ? std::min(k + 1, windows.size() - 1) : k;
        steps.push_back({index(made[k]), windows[k], windows[second]});
    }
}

bool GatherPatterns::add(const std::int32_t* places, std::size_t most, GatherVector& vector, std::vector<GatherStep>& steps) {
    std::int32_t base = 0;
    for (std::size_t k = 0; k < units_; ++k) {
        if (places[k] == kNone) continue;
        base = places[k];
        break;
    }
    relative_.resize(units_);
    std::uint64_t hash = 0;
    for (std::size_t k = 0; k < units_; ++k) {
        relative_[k] = places[k] == kNone ? kNone : places[k] - base;
        hash = hash * 31 + static_cast<std::uint32_t>(relative_[k]);
    }
    for (const Pattern& pattern : patterns_) {
        if (pattern.hash != hash || base - pattern.base > last_ - pattern.reach || pattern.places != relative_) continue;
        for (const GatherStep& step : pattern.steps) {
            steps.push_back({step.index, step.first + base - pattern.base, step.second + base - pattern.base});
        }
        vector.steps = static_cast<std::int32_t>(pattern.steps.size());
        return true;
    }
    cover(places, units_, windows_);
    if (windows_.size() > most) return false;
    const std::size_t before = steps.size();
    make_steps(places, windows_, steps);
    vector.steps = static_cast<std::int32_t>(steps.size() - before);
    // Windows at the end of the source were moved back to stay inside: no pattern for others.
    if (windows_.back() < last_) {
        patterns_.push_back(
            {hash, base, relative_, {steps.begin() + static_cast<std::ptrdiff_t>(before), steps.end()}, windows_.back()});
    }
    return true;
}

}  // namespace dnnmove
