// Numbers of one type to another, and bytes to the other order: what sinks do with runs of elements.
#pragma once

#include <cstring>
#include <utility>

#include "kernels/entry.hpp"

namespace dnnmove {
namespace {

inline constexpr std::int64_t kGroup = 16;  // numbers

template <class Numbers, Number from, Number to, bool scaled, bool nontemporal>
inline void convert_group(const std::byte* src, std::byte* dst, std::int64_t k, const float* scale, const float* shift) {
    constexpr auto kFrom = static_cast<std::int64_t>(bytes_of(from));
    constexpr auto kTo = static_cast<std::int64_t>(bytes_of(to));
    typename Numbers::Group x;
    if constexpr (from == Number::s32 && to == Number::bf16 && !scaled) {
        x = Numbers::load_to_odd(src + k * kFrom);
    } else {
        x = Numbers::template load<from>(src + k * kFrom);
    }
    if constexpr (scaled) x = Numbers::scale_shift(x, scale, shift);
    Numbers::template store<to, nontemporal>(dst + k * kTo, x);
}

// At least a group. Of the groups at the ends, which may be no whole ones, a part is converted twice.
template <class Numbers, Number from, Number to, bool scaled>
inline void convert_groups(const std::byte* src, std::byte* dst, std::int64_t count, const float* scale, const float* shift,
                           std::int64_t step, bool nontemporal) {
    constexpr auto kTo = static_cast<std::int64_t>(bytes_of(to));
    const auto ordinary = [&](std::int64_t k) {
        convert_group<Numbers, from, to, scaled, false>(src, dst, k, scale + k * step, shift + k * step);
    };
    std::int64_t k = 0;
    const auto address = reinterpret_cast<std::uintptr_t>(dst);
    if (nontemporal && address % static_cast<std::uintptr_t>(kTo) == 0) {
        const std::int64_t head = static_cast<std::int64_t>(-address & 63) / kTo;
        for (; k < head && k + kGroup <= count; k += kGroup) ordinary(k);
        if (k >= head) {
            for (k = head; k + kGroup <= count; k += kGroup) {
                convert_group<Numbers, from, to, scaled, true>(src, dst, k, scale + k * step, shift + k * step);
            }
        }
    } else {
        for (; k + kGroup <= count; k += kGroup) ordinary(k);
    }
    if (k < count) ordinary(count - kGroup);
}

template <class Numbers, Number from, Number to, bool scaled>
inline void convert_numbers(const std::byte* src, std::byte* dst, std::int64_t count, const float* scale, const float* shift,
                            std::int64_t step, bool nontemporal) {
    if (count >= kGroup) {
        return convert_groups<Numbers, from, to, scaled>(src, dst, count, scale, shift, step, nontemporal);
    }
    alignas(64) std::byte group[kGroup * static_cast<std::int64_t>(bytes_of(from))] = {};
    alignas(64) std::byte result[kGroup * static_cast<std::int64_t>(bytes_of(to))];
    alignas(64) float scales[kGroup] = {};
    alignas(64) float shifts[kGroup] = {};
    std::memcpy(group, src, static_cast<std::size_t>(count) * bytes_of(from));
    if constexpr (scaled) {
        for (std::int64_t k = 0; k < count; ++k) {
            scales[k] = scale[k * step];
            shifts[k] = shift[k * step];
        }
    }
    convert_group<Numbers, from, to, scaled, false>(group, result, 0, scales, shifts);
    std::memcpy(dst, result, static_cast<std::size_t>(count) * bytes_of(to));
}

template <class Numbers, Number from, Number to>
void convert(const std::byte* src, std::byte* dst, std::int64_t count, const ScaleShift* with, bool nontemporal) noexcept {
    if (with == nullptr) {
        return convert_numbers<Numbers, from, to, false>(src, dst, count, nullptr, nullptr, 0, nontemporal);
    }
    if (with->step != 0) {
        return convert_numbers<Numbers, from, to, true>(src, dst, count, with->scale, with->shift, 1, nontemporal);
    }
    alignas(64) float scales[kGroup];
    alignas(64) float shifts[kGroup];
    for (std::int64_t k = 0; k < kGroup; ++k) {
        scales[k] = *with->scale;
        shifts[k] = *with->shift;
    }
    convert_numbers<Numbers, from, to, true>(src, dst, count, scales, shifts, 0, nontemporal);
}

// The other byte order of words of `bytes` bytes; `src` and `dst` are the same or apart. Where they are apart, the
// vectors at the ends overlap.
template <class Simd>
void swap_words(const std::byte* src, std::byte* dst, std::int64_t count, std::int64_t bytes, bool nontemporal) noexcept {
    constexpr std::int64_t kBytes = Simd::kBytes;
    const std::int64_t end = count * bytes;
    const auto ordinary = [&](std::int64_t at) { Simd::store(dst + at, Simd::swap_words(Simd::load(src + at), bytes)); };
    std::int64_t at = 0;
    if (src == dst || end < kBytes) {
        for (; at + kBytes <= end; at += kBytes) ordinary(at);
        if (at == end) return;
        alignas(64) std::byte rest[kBytes] = {};
        std::memcpy(rest, src + at, static_cast<std::size_t>(end - at));
        Simd::store(rest, Simd::swap_words(Simd::load(rest), bytes));
        std::memcpy(dst + at, rest, static_cast<std::size_t>(end - at));
        return;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(dst);
    if (nontemporal && address % static_cast<std::uintptr_t>(bytes) == 0) {
        const auto head = static_cast<std::int64_t>(-address & 63);
        for (; at < head && at + kBytes <= end; at += kBytes) ordinary(at);
        if (at >= head) {
            for (at = head; at + kBytes <= end; at += kBytes) {
                Simd::stream(dst + at, Simd::swap_words(Simd::load(src + at), bytes));
            }
        }
    } else {
        for (; at + kBytes <= end; at += kBytes) ordinary(at);
    }
    if (at < end) ordinary(end - kBytes);
}

template <class Numbers, std::size_t from, std::size_t... to>
constexpr void add_conversions_of(Conversions& table, std::index_sequence<to...>) {
    ((table.convert[from][to] = entry<convert<Numbers, static_cast<Number>(from), static_cast<Number>(to)>>), ...);
}

template <class Numbers, std::size_t... from>
constexpr void add_conversions(Conversions& table, std::index_sequence<from...> all) {
    (add_conversions_of<Numbers, from>(table, all), ...);
}

// The table of a vector type, and of one for numbers.
template <class Simd, class Numbers>
constexpr Conversions make_conversions() {
    Conversions table{};
    add_conversions<Numbers>(table, std::make_index_sequence<kNumbers>());
    table.swap_words = entry<swap_words<Simd>>;
    return table;
}

}  // namespace
}  // namespace dnnmove
