// An axis of a layout: a mixed-radix number, whose digits are the whole blocks and the places in them.
#include "layout/axis.hpp"

namespace dnnmove {

std::int64_t Axis::length() const {
    std::int64_t length = 1;
    for (const Digit& digit : digits) length *= digit.length;
    return length;
}

namespace {

void append(Axis& axis, const Digit& digit) {
    if (digit.length == 1) return;
    if (!axis.digits.empty() && axis.digits.back().stride == digit.stride * digit.length) {
        axis.digits.back() = Digit{axis.digits.back().length * digit.length, digit.stride};
        return;
    }
    axis.digits.push_back(digit);
}

}  // namespace

std::optional<std::pair<Axis, Axis>> factor(const Axis& axis, std::int64_t low_length) {
    std::pair<Axis, Axis> cut;
    std::int64_t left = low_length;  // of the low axis, still to be taken from the digits' low end
    for (auto digit = axis.digits.rbegin(); digit != axis.digits.rend(); ++digit) {
        const std::int64_t low = left == 1 ? 1 : digit->length <= left ? digit->length : left;
        if (low == 0 || digit->length % low != 0 || left % low != 0) return std::nullopt;
        const std::int64_t high = digit->length / low;
        if (low != 1) cut.second.digits.insert(cut.second.digits.begin(), Digit{low, digit->stride});
        std::int64_t stride = 0;
        static_cast<void>(__builtin_mul_overflow(digit->stride, low, &stride));  // beyond 64 bits only of an empty array
        if (high != 1) cut.first.digits.insert(cut.first.digits.begin(), Digit{high, stride});
        left /= low;
    }
    return cut;
}

Axis fuse(const Axis& high, const Axis& low) {
    Axis axis;
    for (const Digit& digit : high.digits) append(axis, digit);
    for (const Digit& digit : low.digits) append(axis, digit);
    return axis;
}

}  // namespace dnnmove
