// Dimension lists: shapes in elements, strides in bytes, and the arithmetic on them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dnnmove {

// Lengths in elements or strides in bytes, one entry per dimension; the user of the list says which.
using Dims = std::vector<std::int64_t>;

inline Dims to_dims(std::span<const std::int64_t> span) { return {span.begin(), span.end()}; }

inline constexpr std::size_t kMaxRank = 64;  // of an array: NumPy's limit

// Product of all lengths; throws ValueError where it does not fit into 63 bits.
std::int64_t element_count(const Dims& shape);

// ValueError where the rank of `shape` is too large, or the bytes of an array of it exceed 63 bits, even if a length of
// 0 leaves none of them (NumPy asks the same). `name` is what the message calls it.
void check_size(const Dims& shape, std::int64_t itemsize, std::string_view name);

// C-contiguous (row-major) strides in bytes of `shape`.
Dims dense_strides(const Dims& shape, std::int64_t itemsize);

// "(2, 3, 4)", as Python prints a tuple, for messages: of more than 64 entries, which no array has dimensions, the
// first ones and the last, and how many there are.
std::string to_string(const Dims& dims);
// The same, whole whatever its length.
std::string whole_text(const Dims& dims);

}  // namespace dnnmove
