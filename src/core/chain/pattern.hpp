// Patterns of einops: 'b c (h 2) w -> b h w (c 2)' names the axes of an array before and after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dnnmove::chain {

// A name, a number (then an axis of that length without a name) or an ellipsis (any number of axes).
struct PatternAxis {
    std::string name;                    // "..." for an ellipsis; digits for a number
    std::optional<std::int64_t> number;  // above 1: a 1 is an axis of no extent, and left out
    std::size_t at = 0;                  // where it stands in the pattern, in characters
    bool ellipsis() const { return name == "..."; }
};

// What one dimension is made of: one axis, or those between parentheses, slowest first; none for a 1.
struct PatternGroup {
    std::vector<PatternAxis> axes;
    std::string text;    // "(h 2)"
    std::size_t at = 0;  // in characters
};

struct Pattern {
    std::string text;
    std::vector<PatternGroup> left, right;

    // ValueError that quotes the pattern and says where it is wrong.
    static Pattern parse(std::string text);
    [[noreturn]] void fail(const std::string& why) const;
    [[noreturn]] void fail(const PatternAxis& axis, const std::string& why) const;
    // The axis of this name on a side; null where there is none. Numbers are never found.
    static const PatternAxis* find(const std::vector<PatternGroup>& side, const std::string& name);
};

}  // namespace dnnmove::chain
