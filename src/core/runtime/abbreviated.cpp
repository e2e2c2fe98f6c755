// Text that quotes what a caller gave, cut to a length that a person reads.
#include "runtime/abbreviated.hpp"

namespace dnnmove {
namespace {

constexpr std::size_t kNote = 48;  // bytes for the note of what was left out

bool continues(char letter) { return (static_cast<unsigned char>(letter) & 0xC0U) == 0x80U; }

}  // namespace

std::string abbreviated(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    // What is expected stands at the end of most messages, what was given before it.
    std::size_t begin = (most - kNote) * 2 / 3;
    std::size_t end = text.size() - (most - kNote - begin);
    while (begin > 0 && continues(text[begin])) --begin;
    while (end < text.size() && continues(text[end])) ++end;
    return std::string(text.substr(0, begin)) + "... (" + std::to_string(end - begin) + " more bytes) ..." +
           std::string(text.substr(end));
}

}  // namespace dnnmove
