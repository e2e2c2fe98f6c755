// Format tags: oneDNN's names of memory layouts ("nchw", "acdb", "nChw16c", "OIhw4i16o4i").
//
// A tag is one letter per axis, outermost in memory first, capital where the axis is blocked, then
// the inner blocks as length and letter. Canonical tags letter the axes a, b, c ...; aliases use the
// letters of a family of tensors, whose logical order below says which axis each is.
#include "layout/format_tag.hpp"

#include <algorithm>

#include "runtime/error.hpp"

namespace dnnmove {
namespace {

constexpr std::size_t kMaxDims = 12;
constexpr std::int64_t kMaxBlock = 1 << 16;

// Letters in logical order. The first family that has every letter of the tag gives their meaning.
constexpr std::string_view kFamilies[] = {
    "abcdefghijkl",  // canonical
    "x",             // one-dimensional
    "tnc",           // recurrent: time, batch, channels
    "ldnc",          // recurrent state: layers, directions, batch, channels
    "ncdhw",         // activations
    "goidhw",        // weights
    "ldigo",         // recurrent weights: layers, directions, input, gates, output
};

// Names in oneDNN's header that do not say what they mean.
struct Irregular {
    std::string_view alias;
    std::string_view canonical;
};
constexpr Irregular kIrregular[] = {
    {"OhwI24o", "Acdb24a"},
    {"OhwI32o", "Acdb32a"},
    {"gOhwI24o", "aBdec24b"},
    {"gOhwI32o", "aBdec32b"},
    {"gIOhw2i8o16i2o", "aBCde2c8b16c2b"},
    {"gIOdhw2i8o16i2o", "aBCdef2c8b16c2b"},
};

bool is_lower(char letter) { return letter >= 'a' && letter <= 'z'; }
bool is_upper(char letter) { return letter >= 'A' && letter <= 'Z'; }
bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
char lower(char letter) { return is_upper(letter) ? static_cast<char>(letter - 'A' + 'a') : letter; }

[[noreturn]] void fail(std::string_view tag, std::string_view reason) {
    throw ValueError("layout ('" + abbreviated(tag, kMostQuoted) + "') is not a oneDNN format tag: " + std::string(reason));
}

// The letters of `family` that `letters` holds, in logical order; empty where one is missing there.
std::string logical_order(std::string_view family, std::string_view letters) {
    std::string order;
    for (const char letter : family) {
        if (letters.find(letter) != letters.npos) order += letter;
    }
    return order.size() == letters.size() ? order : std::string();
}

std::string logical_order(std::string_view letters) {
    for (const std::string_view family : kFamilies) {
        std::string order = logical_order(family, letters);
        // Canonical letters leave none out: "ac" is no tag.
        if (family == kFamilies[0] && order != family.substr(0, order.size())) continue;
        if (!order.empty()) return order;
    }
    return {};
}

}  // namespace

FormatTag parse_format_tag(std::string_view tag) {
    const std::string_view name = tag;
    for (const Irregular& irregular : kIrregular) {
        if (tag == irregular.alias) tag = irregular.canonical;
    }
    if (tag == "any" || tag == "undef") fail(name, "a concrete layout is needed");
    std::size_t end = 0;
    std::string letters;
    std::string capitals;
    for (; end < tag.size() && !is_digit(tag[end]); ++end) {
        const char letter = lower(tag[end]);
        if (!is_lower(letter)) fail(name, "letters and block lengths are expected");
        if (letters.find(letter) != letters.npos) fail(name, "an axis appears twice");
        letters += letter;
        if (is_upper(tag[end])) capitals += letter;
    }
    if (letters.empty() || letters.size() > kMaxDims) fail(name, "1 to 12 axes are expected");
    const std::string logical = logical_order(letters);
    if (logical.empty()) fail(name, "its letters name no family of layouts");

    FormatTag result;
    for (std::size_t k = 0; k < letters.size(); ++k) {
        const std::size_t axis = logical.find(letters[k]);
        result.order.push_back(axis);
        result.canonical += static_cast<char>((is_upper(tag[k]) ? 'A' : 'a') + axis);
    }
    std::string blocked;
    while (end < tag.size()) {
        std::int64_t block = 0;
        for (; end < tag.size() && is_digit(tag[end]); ++end) {
            block = block * 10 + (tag[end] - '0');
            if (block > kMaxBlock) fail(name, "a block is too long");
        }
        if (block < 2 || end == tag.size()) fail(name, "an inner block is a length above 1 and a letter");
        const char letter = tag[end++];
        const std::size_t axis = logical.find(letter);
        if (axis == logical.npos || capitals.find(letter) == capitals.npos) {
            fail(name, "the axis of an inner block must be among its capital letters");
        }
        if (blocked.find(letter) == blocked.npos) blocked += letter;
        result.inner_blocks.push_back(block);
        result.inner_indices.push_back(static_cast<std::int64_t>(axis));
        result.canonical += std::to_string(block) + static_cast<char>('a' + axis);
    }
    if (blocked.size() != capitals.size()) {
        const bool plain = result.inner_blocks.empty();
        fail(name, "a capital letter needs an inner block" + (plain ? "; did you mean '" + letters + "'?" : std::string()));
    }
    return result;
}

}  // namespace dnnmove
