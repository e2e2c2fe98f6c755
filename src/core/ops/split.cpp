// VariadicSplit-1 and Split-1: consecutive ranges of one axis.
#include "ops/common.hpp"

namespace dnnmove::ops {
namespace {

// Every number divides 0: without a limit, a slip of the caller's would fill the memory with views.
constexpr std::int64_t kMaxEmptyParts = std::int64_t{1} << 20;

std::vector<View> split_at(const View& data, std::size_t axis, const Dims& lengths) {
    std::vector<View> parts;
    parts.reserve(lengths.size());
    std::int64_t start = 0;
    for (const std::int64_t length : lengths) {
        auto part = narrow(data, axis, start, length);
        if (!part) throw NotOneView("a split cuts across the digits of axis " + std::to_string(axis));
        parts.push_back(std::move(*part));
        start += length;
    }
    return parts;
}

}  // namespace

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

std::vector<View> variadic_split(const View& data, std::int64_t axis, const Dims& split_lengths, std::string_view name) {
    const std::size_t position = normalize_axis(axis, data.ndim());
    return split_at(data, position, resolve_split_lengths(data.axes[position].length(), position, split_lengths, name));
}

std::vector<View> split(const View& data, std::int64_t axis, std::int64_t num_splits, std::string_view name) {
    const std::size_t position = normalize_axis(axis, data.ndim());
    const std::int64_t total = data.axes[position].length();
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
    return split_at(data, position, Dims(static_cast<std::size_t>(num_splits), total / num_splits));
}

}  // namespace dnnmove::ops
