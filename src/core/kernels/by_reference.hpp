// Makes kernels that take loops by value take them by reference, as the tables have them.
//
// A loop that the caller has just written word by word would be copied into the arguments by vectors. No store is
// forwarded to such a load: it waits until they, and all stores before them, have reached the cache. Within the kernel
// its loops stay values, of which the compiler knows that no store of bytes changes them.
#pragma once

#include <type_traits>

#include "kernels/contract.hpp"

namespace dnnmove {
namespace {

template <class T>
using Passed = std::conditional_t<std::is_same_v<T, KernelLoop>, const KernelLoop&, T>;

template <auto kernel, class... Arguments>
struct ByReference {
    static void run(Passed<Arguments>... arguments) noexcept { kernel(arguments...); }
};

template <auto kernel, class... Arguments>
constexpr auto by_reference_of(void (*)(Arguments...)) {
    return &ByReference<kernel, Arguments...>::run;
}

template <auto kernel>
inline constexpr auto by_reference = by_reference_of<kernel>(kernel);

}  // namespace
}  // namespace dnnmove
