// Dimension lists: shapes in elements, strides in bytes, and the arithmetic on them.
#include "array/dims.hpp"

#include <algorithm>

#include "runtime/error.hpp"

namespace dnnmove {

std::int64_t element_count(const Dims& shape) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    std::int64_t count = 1;
    for (const std::int64_t length : shape) {
        if (__builtin_mul_overflow(count, length, &count)) {
            throw ValueError("shape " + to_string(shape) + " has more elements than 63 bits can count");
        }
    }
    return count;
}

void check_size(const Dims& shape, std::int64_t itemsize, std::string_view name) {
    if (shape.size() > kMaxRank) {
        throw ValueError(std::string(name) + " " + to_string(shape) + " has " + std::to_string(shape.size()) +
                         " dimensions, but at most " + std::to_string(kMaxRank) + " are possible");
    }
    std::int64_t bytes = std::max<std::int64_t>(itemsize, 1);
    for (const std::int64_t length : shape) {
        if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(length, 1), &bytes)) {
            throw ValueError(std::string(name) + " " + to_string(shape) + " takes more bytes than 63 bits can count");
        }
    }
}

Dims dense_strides(const Dims& shape, std::int64_t itemsize) {
    Dims strides(shape.size());
    std::int64_t stride = itemsize;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        strides[axis] = stride;
        // Too many bytes to count are those of an empty array only, whose strides say nothing.
        if (__builtin_mul_overflow(stride, std::max<std::int64_t>(shape[axis], 1), &stride)) stride = itemsize;
    }
    return strides;
}

std::string whole_text(const Dims& dims) {
    std::string text = "(";
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        text += (axis == 0 ? "" : ", ") + std::to_string(dims[axis]);
    }
    return text + (dims.size() == 1 ? ",)" : ")");
}

std::string to_string(const Dims& dims) {
    constexpr std::size_t kWhole = 64;
    constexpr std::size_t kFirst = 8;
    if (dims.size() <= kWhole) return whole_text(dims);
    std::string text = whole_text(Dims(dims.begin(), dims.begin() + kFirst));
    text.back() = ',';
    return text + " ..., " + std::to_string(dims.back()) + ") of length " + std::to_string(dims.size());
}

}  // namespace dnnmove
