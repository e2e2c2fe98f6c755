// A layout as oneDNN's verbose output writes it.
#include "layout/verbose_text.hpp"

#include <algorithm>
#include <numeric>

namespace dnnmove {
namespace {

constexpr std::size_t kLetters = 26;

// Strides that decide nothing, of axes that take no step, as row-major ones: oneDNN is given these.
Dims ordinary_strides(const Layout& layout) {
    Dims strides = layout.strides;
    if (layout.blocked()) return strides;
    for (std::size_t axis = layout.ndim(); axis-- > 0;) {
        if (!layout.empty() && layout.dims[axis] > 1) continue;
        const bool last = axis + 1 == layout.ndim();
        strides[axis] = last ? layout.itemsize : strides[axis + 1] * std::max<std::int64_t>(1, layout.dims[axis + 1]);
    }
    return strides;
}

// Letters of the axes, the outermost first, capital where an axis is blocked; then the inner blocks.
std::string tag_of(const Layout& layout, const Dims& strides) {
    const std::size_t ndim = layout.ndim();
    if (ndim > kLetters) return "*";
    std::vector<std::size_t> order(ndim);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto steps = [&](std::size_t axis) { return layout.padded_dims[axis] / layout.block(axis); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return strides[a] != strides[b] ? strides[a] > strides[b] : steps(a) > steps(b);
    });
    std::string tag;
    for (const std::size_t axis : order)
        tag += static_cast<char>((layout.block(axis) == 1 ? 'a' : 'A') + static_cast<int>(axis));
    for (std::size_t k = 0; k < layout.inner_blocks.size(); ++k) {
        tag += std::to_string(layout.inner_blocks[k]) + static_cast<char>('a' + layout.inner_indices[k]);
    }
    return tag;
}

}  // namespace

std::string by_x(const Dims& dims) {
    std::string text;
    for (const std::int64_t length : dims) text += (text.empty() ? "" : "x") + std::to_string(length);
    return text;
}

std::string verbose_text(const Layout& layout) {
    const Dims strides = ordinary_strides(layout);
    std::string text = std::string(layout.padded() ? ":p" : ":") + ":blocked:" + tag_of(layout, strides) + ":";
    const bool backwards = std::any_of(strides.begin(), strides.end(), [](std::int64_t stride) { return stride < 0; });
    if (backwards || !layout.is_dense()) {
        const bool whole = layout.itemsize > 0 && std::all_of(strides.begin(), strides.end(), [&](std::int64_t stride) {
                               return stride % layout.itemsize == 0;
                           });
        for (std::size_t axis = 0; axis < strides.size(); ++axis) {
            if (axis > 0) text += 'x';
            text += whole ? std::to_string(strides[axis] / layout.itemsize) : std::to_string(strides[axis]) + "B";
        }
    }
    return text + ":f0";
}

}  // namespace dnnmove
