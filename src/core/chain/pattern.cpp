// Patterns of einops: reads them, and says where one is wrong.
#include "chain/pattern.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "chain/step.hpp"
#include "runtime/error.hpp"

namespace dnnmove::chain {
namespace {

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
// Letters beyond ASCII are letters.
bool is_word(char letter) {
    return is_digit(letter) || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_' ||
           static_cast<unsigned char>(letter) >= 0x80;
}

// Reads one side: text[at, end).
struct Reader {
    const Pattern& pattern;
    std::size_t at;
    std::size_t end;

    std::size_t characters(std::size_t byte) const {
        const auto first = pattern.text.begin();
        return static_cast<std::size_t>(std::count_if(first, first + static_cast<std::ptrdiff_t>(byte), [](char letter) {
            return (static_cast<unsigned char>(letter) & 0xC0U) != 0x80U;
        }));
    }

    [[noreturn]] void fail(std::size_t byte, const std::string& why) const {
        pattern.fail(PatternAxis{pattern.text.substr(byte, length_at(byte)), {}, characters(byte)}, why);
    }
    // Bytes of the character at `byte`.
    std::size_t length_at(std::size_t byte) const {
        std::size_t next = byte + 1;
        while (next < pattern.text.size() && (static_cast<unsigned char>(pattern.text[next]) & 0xC0U) == 0x80U) ++next;
        return next - byte;
    }

    std::vector<PatternGroup> side() {
        std::vector<PatternGroup> groups;
        std::optional<std::size_t> open;  // where the parenthesis stands
        const auto add = [&](PatternAxis axis, std::size_t byte) {
            if (!open) groups.push_back(PatternGroup{{}, pattern.text.substr(byte, at - byte), axis.at});
            if (axis.number != 1) groups.back().axes.push_back(std::move(axis));
        };
        while (at < end) {
            const char letter = pattern.text[at];
            const std::size_t byte = at;
            if (letter == ' ') {
                ++at;
            } else if (letter == '(') {
                if (open) fail(byte, "stands within parentheses: they must not be nested");
                open = at++;
                groups.push_back(PatternGroup{{}, "", characters(byte)});
            } else if (letter == ')') {
                if (!open) fail(byte, "closes no parenthesis");
                ++at;
                groups.back().text = pattern.text.substr(*open, at - *open);
                open.reset();
            } else if (pattern.text.compare(at, 3, "...") == 0 && at + 3 <= end) {
                at += 3;
                add(PatternAxis{"...", {}, characters(byte)}, byte);
            } else if (is_word(letter)) {
                PatternAxis axis = word();
                add(std::move(axis), byte);
            } else {
                fail(byte, letter == '.' ? "is no ellipsis, which has three dots" : "has no meaning in a pattern");
            }
        }
        if (open) fail(*open, "is not closed");
        check(groups);
        return groups;
    }

    PatternAxis word() {
        const std::size_t byte = at;
        while (at < end && is_word(pattern.text[at])) ++at;
        PatternAxis axis{pattern.text.substr(byte, at - byte), {}, characters(byte)};
        if (std::all_of(axis.name.begin(), axis.name.end(), is_digit)) {
            std::int64_t number = 0;
            const auto read = std::from_chars(axis.name.data(), axis.name.data() + axis.name.size(), number);
            if (read.ec != std::errc()) pattern.fail(axis, "does not fit into 64 bits");
            if (number < 1) pattern.fail(axis, "must be at least 1");
            axis.number = number;
        } else if (is_digit(axis.name.front())) {
            pattern.fail(axis, "is no name: a name does not begin with a digit");
        } else if (axis.name.front() == '_' || axis.name.back() == '_') {
            pattern.fail(axis, "is no name: a name does not begin or end with an underscore");
        }
        return axis;
    }

    void check(const std::vector<PatternGroup>& groups) const {
        std::vector<const PatternAxis*> seen;
        for (const PatternGroup& group : groups) {
            for (const PatternAxis& axis : group.axes) {
                if (axis.number) continue;
                for (const PatternAxis* other : seen) {
                    if (other->name == axis.name) pattern.fail(axis, "stands twice on one side");
                }
                seen.push_back(&axis);
            }
        }
    }
};

}  // namespace

void Pattern::fail(const std::string& why) const { throw ValueError("pattern " + to_string(Value(text)) + " " + why); }

void Pattern::fail(const PatternAxis& axis, const std::string& why) const {
    fail("is wrong at position " + std::to_string(axis.at) + ": " + to_string(Value(axis.name)) + " " + why);
}

Pattern Pattern::parse(std::string text) {
    Pattern pattern;
    pattern.text = std::move(text);
    const std::size_t arrow = pattern.text.find("->");
    if (arrow == std::string::npos) pattern.fail("has no '->' between the axes before and after");
    const std::size_t second = pattern.text.find("->", arrow + 2);
    if (second != std::string::npos) Reader{pattern, 0, 0}.fail(second, "begins a second '->'");
    pattern.left = Reader{pattern, 0, arrow}.side();
    pattern.right = Reader{pattern, arrow + 2, pattern.text.size()}.side();
    return pattern;
}

const PatternAxis* Pattern::find(const std::vector<PatternGroup>& side, const std::string& name) {
    for (const PatternGroup& group : side) {
        for (const PatternAxis& axis : group.axes) {
            if (!axis.number && axis.name == name) return &axis;
        }
    }
    return nullptr;
}

}  // namespace dnnmove::chain
