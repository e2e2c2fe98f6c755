// Numbers that a call brings, as template arguments of what they choose.
#pragma once

#include <cstdint>
#include <utility>

namespace dnnmove {
namespace {

// Calls `function` with `number` as its template argument if it is one of `numbers`, and says whether it is.
template <int... numbers, class Function>
[[gnu::always_inline]] inline bool with_number(std::int64_t number, const Function& function) {
    return ((number == numbers && (function.template operator()<numbers>(), true)) || ...);
}

// The same for the numbers from 1 to `most`.
template <int most, class Function>
[[gnu::always_inline]] inline bool with_number_to(std::int64_t number, const Function& function) {
    return [&]<int... before>(std::integer_sequence<int, before...>) {
        return with_number<before + 1 ...>(number, function);
    }(std::make_integer_sequence<int, most>());
}

}  // namespace
}  // namespace dnnmove
