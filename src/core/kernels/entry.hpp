// How a kernel of a table is entered and left, whatever the compiler makes of it.
//
// Entered: kernels that read loops in their innermost ones take them by value, tables by reference. A loop that the caller has
// just written word by word would be copied into the arguments by vectors; no store is forwarded to such a load, which waits
// until they, and all stores before them, have reached the cache. So it is read by words, and so are cells. Within the kernel
// its loops stay values, of which the compiler knows that no store of bytes changes them.
//
// Left: with the upper halves of all vector registers zero. Else every instruction of code for the first x86-64 that writes half
// a register, or a quarter, waits for what the other part held, on Intel's processors: for what the kernel has loaded last. The
// compiler forgets to zero them before it calls a function that it knows, as the last one of a kernel is.
#pragma once

#include <type_traits>

#include "kernels/contract.hpp"

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace dnnmove {
namespace {

template <class T>
using Passed = std::conditional_t<std::is_same_v<T, KernelLoop>, const KernelLoop&, T>;

template <class T>
inline T by_words(Passed<T> argument) {
    if constexpr (std::is_same_v<T, KernelLoop>) {
        const volatile KernelLoop& words = argument;
        return {words.extent, words.src_stride, words.dst_stride, words.src_rows};
    } else if constexpr (std::is_same_v<T, Cells>) {
        const volatile Cells& words = argument;
        return {words.width, words.cell, words.permutes};
    } else {
        return static_cast<T>(argument);
    }
}

struct ZeroesUpperHalves {
    ~ZeroesUpperHalves() {
#if defined(__AVX__)
        _mm256_zeroupper();
#endif
    }
};

template <auto kernel, class Result, class... Arguments>
struct Entry {
    static Result run(Passed<Arguments>... arguments) noexcept {
        [[maybe_unused]] const ZeroesUpperHalves leaving;
        return kernel(by_words<Arguments>(arguments)...);
    }
};

template <auto kernel, class Result, class... Arguments>
constexpr auto entry_of(Result (*)(Arguments...)) {
    return &Entry<kernel, Result, Arguments...>::run;
}

template <auto kernel>
inline constexpr auto entry = entry_of<kernel>(kernel);

}  // namespace
}  // namespace dnnmove
