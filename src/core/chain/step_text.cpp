// The text of a step: the method and its arguments as Python spells them.
#include "chain/step.hpp"

#include <charconv>

namespace dnnmove::chain {
namespace {

std::string spell(std::monostate) { return "None"; }
std::string spell(std::int64_t value) { return std::to_string(value); }
std::string spell(const Dims& values) { return dnnmove::whole_text(values); }

std::string spell(const std::string& value) {
    std::string text = "'";
    for (const char letter : value) {
        const auto code = static_cast<unsigned char>(letter);
        if (letter == '\t' || letter == '\n' || letter == '\r') {
            text += letter == '\t' ? "\\t" : letter == '\n' ? "\\n" : "\\r";
        } else if (code < 0x20 || code == 0x7F) {
            constexpr const char* kDigits = "0123456789abcdef";
            text += {'\\', 'x', kDigits[code / 16], kDigits[code % 16]};
        } else {
            if (letter == '\'' || letter == '\\') text += '\\';
            text += letter;
        }
    }
    return text + "'";
}

// The shortest decimal number that reads back as the same float.
std::string spell(float value) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    const std::string text(digits, end);
    return text.find_first_not_of("-0123456789") == text.npos ? text + ".0" : text;
}

std::string spell(const Floats& values) {
    std::string text;
    for (const float value : values) text += (text.empty() ? "" : ", ") + spell(value);
    return "(" + text + (values.size() == 1 ? ",)" : ")");
}

std::string spell(const std::vector<Dims>& rows) {
    std::string text;
    for (const Dims& row : rows) text += (text.empty() ? "" : ", ") + spell(row);
    return "(" + text + (rows.size() == 1 ? ",)" : ")");
}
std::string spell(const Element& element) { return element.text; }

std::string spell(const Slice& slice) {
    return (slice.start ? std::to_string(*slice.start) : "") + ":" + (slice.stop ? std::to_string(*slice.stop) : "") +
           (slice.step == 1 ? "" : ":" + std::to_string(slice.step));
}
std::string spell(const NewAxis&) { return "None"; }
std::string spell(const Ellipsis&) { return "..."; }

std::string spell(const std::vector<IndexEntry>& entries) {
    std::string text;
    for (const IndexEntry& entry : entries) {
        if (!text.empty()) text += ", ";
        text += std::visit([](const auto& each) { return spell(each); }, entry);
    }
    return "np.s_[" + (entries.empty() ? "()" : text) + "]";
}

}  // namespace

std::string to_string(const Value& value) {
    return std::visit([](const auto& each) { return spell(each); }, value);
}

std::string Step::text() const {
    std::string text;
    for (const Argument& argument : arguments()) {
        if (!text.empty()) text += ", ";
        text += (argument.name.empty() ? "" : argument.name + "=") + to_string(argument.value);
    }
    return name() + "(" + text + ")";
}

}  // namespace dnnmove::chain
