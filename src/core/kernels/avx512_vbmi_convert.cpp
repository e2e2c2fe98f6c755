// The conversions for AVX-512 with VBMI: those without it, but for bytes that are looked up.
#if defined(__x86_64__)
#include "kernels/look_up.hpp"
#include "kernels/tables.hpp"

namespace dnnmove {
namespace {

template <Number from, Number to>
void convert_by_table(const std::byte* src, std::byte* dst, std::int64_t count, const ScaleShift* with,
                      bool nontemporal) noexcept {
    const Convert convert = avx512_conversions().convert[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
    look_up<static_cast<std::int64_t>(bytes_of(to))>(convert, src, dst, count, with, nontemporal);
}

template <Number from>
void add_tables(Conversions& conversions) {
    auto& convert = conversions.convert[static_cast<std::size_t>(from)];
    convert[static_cast<std::size_t>(Number::u8)] = convert_by_table<from, Number::u8>;
    convert[static_cast<std::size_t>(Number::s8)] = convert_by_table<from, Number::s8>;
    convert[static_cast<std::size_t>(Number::bf16)] = convert_by_table<from, Number::bf16>;
    convert[static_cast<std::size_t>(Number::f16)] = convert_by_table<from, Number::f16>;
}

}  // namespace

const Conversions& avx512_vbmi_conversions() {
    static const Conversions table = [] {
        Conversions conversions = avx512_conversions();
        add_tables<Number::u8>(conversions);
        add_tables<Number::s8>(conversions);
        return conversions;
    }();
    return table;
}

}  // namespace dnnmove
#endif
