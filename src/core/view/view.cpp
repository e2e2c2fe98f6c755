// A view: a shape and byte strides over somebody else's bytes, every axis a mixed-radix number.
#include "view/view.hpp"

namespace dnnmove {

std::int64_t Axis::length() const {
    std::int64_t length = 1;
    for (const Digit& digit : digits) length *= digit.length;
    return length;
}

View View::strided(const Dims& shape, const Dims& strides, std::int64_t itemsize) {
    View view;
    view.itemsize = itemsize;
    view.axes.reserve(shape.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        view.axes.push_back(Axis{{Digit{shape[axis], strides[axis]}}});
    }
    return view;
}

View View::dense(const Dims& shape, std::int64_t itemsize) { return strided(shape, dense_strides(shape, itemsize), itemsize); }

Dims View::shape() const {
    Dims shape;
    shape.reserve(axes.size());
    for (const Axis& axis : axes) shape.push_back(axis.length());
    return shape;
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

std::optional<View> narrow(const View& view, std::size_t axis, std::int64_t start, std::int64_t length) {
    View result = view;
    Axis& cut = result.axes[axis];
    const std::int64_t full = cut.length();
    if (length == full) return result;
    if (length == 0) {
        cut.digits = {Digit{0, 0}};
        return result;
    }
    std::int64_t inner = full;
    std::vector<Digit> kept;
    for (std::size_t k = 0; k < cut.digits.size(); ++k) {
        const Digit digit = cut.digits[k];
        inner /= digit.length;  // elements of the axis per step of this digit
        const std::int64_t first = start / inner;
        const std::int64_t last = (start + length - 1) / inner;
        result.offset += first * digit.stride;
        start -= first * inner;
        if (last == first) continue;  // one step of this digit: the cut lies further in
        if (start != 0 || length % inner != 0) return std::nullopt;
        kept.push_back(Digit{last - first + 1, digit.stride});
        kept.insert(kept.end(), cut.digits.begin() + static_cast<std::ptrdiff_t>(k) + 1, cut.digits.end());
        break;
    }
    cut.digits = std::move(kept);
    return result;
}

}  // namespace dnnmove
