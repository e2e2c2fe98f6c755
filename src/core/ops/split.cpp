// VariadicSplit-1 and Split-1: consecutive ranges of one axis.
#include "ops/common.hpp"

namespace dnnmove::ops {
namespace {

// Every number divides 0: without a limit, a slip of the caller's would fill the memory with lengths.
constexpr std::int64_t kMaxEmptyParts = std::int64_t{1} << 20;

// The lengths with a -1 replaced by what is left of `total`, the length of `axis`.
Dims resolve_split_lengths(std::int64_t total, std::size_t axis, const Dims& split_lengths, std::string_view name) {
    Dims lengths = split_lengths;
    std::int64_t known = 0;
    std::int64_t* rest = nullptr;
    const auto fail = [&](const std::string& why) {
        throw ValueError("split_lengths " + to_string(split_lengths) + " must sum to " + named(name, axis, total) +
                         ", with at most one -1 for what is left: " + why);
    };
    for (std::int64_t& length : lengths) {
        if (length < -1) fail(std::to_string(length) + " is negative");
        if (length == -1) {
            if (rest != nullptr) fail("-1 occurs twice");
            rest = &length;
        } else if (__builtin_add_overflow(known, length, &known)) {
            fail("the sum overflows");
        }
    }
    if (known > total || (rest == nullptr && known != total)) fail("the lengths sum to " + std::to_string(known));
    if (rest != nullptr) *rest = total - known;
    return lengths;
}

}  // namespace

Parts variadic_split(const Dims& shape, std::int64_t axis, const Dims& split_lengths, std::string_view name) {
    const std::size_t position = normalize_axis(axis, shape.size());
    return {position, resolve_split_lengths(shape[position], position, split_lengths, name)};
}

Parts split(const Dims& shape, std::int64_t axis, std::int64_t num_splits, std::string_view name) {
    const std::size_t position = normalize_axis(axis, shape.size());
    const std::int64_t total = shape[position];
    if (num_splits < 1) {
        throw ValueError(named("num_splits", num_splits) + " must be at least 1 and divide " + named(name, position, total));
    }
    if (total % num_splits != 0) {
        throw ValueError(named("num_splits", num_splits) + " must divide " + named(name, position, total));
    }
    if (total == 0 && num_splits > kMaxEmptyParts) {
        throw ValueError(named("num_splits", num_splits) + " must be at most " + std::to_string(kMaxEmptyParts) + " where " +
                         named(name, position, total) + " leaves every part empty");
    }
    return {position, Dims(static_cast<std::size_t>(num_splits), total / num_splits)};
}

}  // namespace dnnmove::ops
