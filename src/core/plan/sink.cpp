// A sink: what becomes of elements on their way out, after they were moved and before they are stored.
#include "plan/sink.hpp"

namespace dnnmove {

const char* name_of(Number number) {
    static constexpr const char* kNames[kNumbers] = {"u8", "s8", "s32", "f32", "bf16", "f16"};
    return kNames[static_cast<std::size_t>(number)];
}

std::string Sink::describe() const {
    if (!changes()) return "moved by blocks";
    std::string text;
    if (!swapped.empty()) text = "bytes swapped";
    if (conversion) {
        text += (text.empty() ? "" : ", ") + std::string(name_of(conversion->from)) + " to " + name_of(conversion->to);
        if (!scale.empty()) text += varies() ? " with scale and shift along an axis" : " with scale and shift";
    }
    return text;
}

}  // namespace dnnmove
