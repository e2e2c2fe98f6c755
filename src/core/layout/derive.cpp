// New layouts of the same memory: what oneDNN's memory descriptors derive from one another.
#include "layout/derive.hpp"

#include <algorithm>
#include <numeric>

#include "ops/ops.hpp"
#include "runtime/error.hpp"

namespace dnnmove {
namespace {

constexpr std::size_t kMaxTagDims = 12;

bool blocked(const Layout& layout, std::size_t axis) { return layout.block(axis) != 1; }

// Axes [in_begin, in_end) of the old layout and [out_begin, out_end) of the new one hold the same elements.
struct Group {
    std::size_t in_begin;
    std::size_t in_end;
    std::size_t out_begin;
    std::size_t out_end;
};

[[noreturn]] void refuse_reshape(const Layout& layout, const Dims& dims, const std::string& why) {
    throw ValueError("dims " + to_string(dims) + " cannot be a reshape of " + to_string(layout.dims) +
                     " in the same memory: " + why);
}

// The axes that a reshape rearranges together, from the last to the first; as few at a time as have equal products.
std::vector<Group> groups_of(const Layout& layout, const Dims& dims) {
    std::vector<Group> groups;
    std::size_t in = layout.ndim();
    std::size_t out = dims.size();
    while (in > 0 || out > 0) {
        Group group{in, in, out, out};
        // Ones of the old layout go first, as in oneDNN: a padded one, which cannot, meets the next of the new.
        if (in > 0 && layout.dims[in - 1] == 1 && layout.padded_dims[in - 1] == 1) {
            --group.in_begin;
        } else if (in > 0 && out > 0 && layout.dims[in - 1] == dims[out - 1]) {
            --group.in_begin;
            --group.out_begin;
        } else if (out > 0 && dims[out - 1] == 1) {
            --group.out_begin;
        } else if (in > 0 && layout.dims[in - 1] == 1) {
            --group.in_begin;  // refused later: it is padded
        } else {
            std::int64_t in_count = layout.dims[--group.in_begin];
            std::int64_t out_count = dims[--group.out_begin];
            // Equal products in all: where one side is used up, the other's rest is ones.
            while (in_count != out_count) {
                if (in_count < out_count) {
                    in_count *= layout.dims[--group.in_begin];
                } else {
                    out_count *= dims[--group.out_begin];
                }
            }
        }
        in = group.in_begin;
        out = group.out_begin;
        groups.push_back(group);
    }
    return groups;
}

// The stride of what the axes of a group make together, in bytes.
std::int64_t joined_stride(const Layout& layout, const Dims& dims, const Group& group) {
    std::int64_t innermost = layout.strides[group.in_end - 1];
    std::int64_t next = 0;  // the stride that the next axis outwards must have; 0 where it may have any
    for (std::size_t axis = group.in_end; axis-- > group.in_begin;) {
        const std::string name = "axis " + std::to_string(axis);
        if (layout.padded_dims[axis] != layout.dims[axis]) refuse_reshape(layout, dims, name + " is padded");
        if (blocked(layout, axis)) refuse_reshape(layout, dims, name + " is blocked");
        if (layout.dims[axis] == 1) continue;
        const std::int64_t stride = layout.strides[axis];
        if (next == 0) innermost = stride;
        if (next != 0 && stride != next) {
            refuse_reshape(layout, dims, name + " and those behind it do not lie densely behind one another");
        }
        next = stride * layout.dims[axis];
    }
    return innermost;
}

}  // namespace

Layout permute_axes(const Layout& layout, const Dims& permutation) {
    const std::vector<std::size_t> to = ops::permutation("permutation", permutation, layout.dims, "dims");
    Layout result = layout;
    result.tag.clear();
    for (std::size_t axis = 0; axis < layout.ndim(); ++axis) {
        result.dims[to[axis]] = layout.dims[axis];
        result.padded_dims[to[axis]] = layout.padded_dims[axis];
        result.strides[to[axis]] = layout.strides[axis];
    }
    for (std::int64_t& index : result.inner_indices) {
        index = static_cast<std::int64_t>(to[static_cast<std::size_t>(index)]);
    }
    return result;
}

Layout reshape(const Layout& layout, const Dims& dims) {
    if (dims == layout.dims) return layout;
    if (std::any_of(dims.begin(), dims.end(), [](std::int64_t length) { return length < 0; })) {
        refuse_reshape(layout, dims, "lengths must not be negative");
    }
    if (element_count(dims) != element_count(layout.dims)) {
        refuse_reshape(layout, dims, "the number of elements differs");
    }
    if (layout.empty()) {
        if (layout.blocked()) refuse_reshape(layout, dims, "an empty blocked layout has no other shape");
        Layout result = Layout::dense(dims, layout.itemsize);
        result.offset = layout.offset;
        result.buffer_size = layout.buffer_size;
        return result;
    }
    Layout result = layout;
    result.tag.clear();
    result.dims = dims;
    result.padded_dims = dims;
    result.strides.assign(dims.size(), 0);
    std::vector<std::int64_t> moved(layout.ndim(), -1);  // where a kept axis is now
    for (const Group& group : groups_of(layout, dims)) {
        const bool taken = group.in_end != group.in_begin;
        if (group.in_end - group.in_begin == 1 && group.out_end - group.out_begin == 1) {
            result.padded_dims[group.out_begin] = layout.padded_dims[group.in_begin];
            result.strides[group.out_begin] = layout.strides[group.in_begin];
            moved[group.in_begin] = static_cast<std::int64_t>(group.out_begin);
            continue;
        }
        // An axis of length 1 that is added steps over what is behind it.
        std::int64_t stride = layout.itemsize;
        if (taken) {
            stride = joined_stride(layout, dims, group);
        } else if (group.out_end < dims.size()) {
            stride = result.strides[group.out_end] * dims[group.out_end];
        }
        for (std::size_t axis = group.out_end; axis-- > group.out_begin;) {
            result.strides[axis] = stride;
            stride *= dims[axis];
        }
    }
    for (std::int64_t& index : result.inner_indices) index = moved[static_cast<std::size_t>(index)];
    return result;
}

Layout submemory(const Layout& layout, const Dims& dims, const Dims& offsets) {
    const auto check_count = [&](const char* name, const Dims& values) {
        if (values.size() != layout.ndim()) {
            throw ValueError(std::string(name) + " " + to_string(values) + " must have one entry for each of dims " +
                             to_string(layout.dims));
        }
    };
    check_count("dims", dims);
    check_count("offsets", offsets);
    Layout result = layout;
    result.tag.clear();
    result.dims = result.padded_dims = dims;
    std::int64_t first = -layout.lowest() + layout.offset;  // of the part, from the buffer's first byte
    for (std::size_t axis = 0; axis < layout.ndim(); ++axis) {
        const std::string at = "[" + std::to_string(axis) + "]";
        const std::int64_t length = layout.dims[axis];
        if (offsets[axis] < 0 || offsets[axis] > length) {
            throw ValueError("offsets" + at + " (" + std::to_string(offsets[axis]) + ") must lie in [0, " +
                             std::to_string(length) + "]");
        }
        if (dims[axis] < 0 || dims[axis] > length - offsets[axis]) {
            throw ValueError("dims" + at + " (" + std::to_string(dims[axis]) + ") must lie in [0, " +
                             std::to_string(length - offsets[axis]) + "], since offsets" + at + " is " +
                             std::to_string(offsets[axis]) + " of " + std::to_string(length));
        }
        const std::int64_t block = layout.block(axis);
        const bool border = offsets[axis] + dims[axis] == length;
        if (offsets[axis] % block != 0) {
            throw ValueError("offsets" + at + " (" + std::to_string(offsets[axis]) + ") must be a multiple of the block of " +
                             std::to_string(block));
        }
        if (!border && dims[axis] % block != 0) {
            throw ValueError("dims" + at + " (" + std::to_string(dims[axis]) + ") must be a multiple of the block of " +
                             std::to_string(block) + ", or reach to the end of the axis");
        }
        if (border) result.padded_dims[axis] = layout.padded_dims[axis] - offsets[axis];
        first += offsets[axis] / block * layout.strides[axis];
    }
    result.buffer_size = result.empty() ? 0 : layout.size();
    result.offset = result.empty() ? 0 : first + result.lowest();
    return result;
}

std::string canonical_tag(const Layout& layout) {
    if (layout.ndim() < 1 || layout.ndim() > kMaxTagDims) return {};
    FormatTag tag;
    tag.inner_blocks = layout.inner_blocks;
    tag.inner_indices = layout.inner_indices;
    tag.order.resize(layout.ndim());
    std::iota(tag.order.begin(), tag.order.end(), std::size_t{0});
    const auto single = [&](std::size_t axis) { return layout.padded_dims[axis] == layout.block(axis); };
    // The order of the axes is that of their strides; those of an axis with one step do not matter, so that it is tried
    // where it is, where its stride puts it, and in front.
    const auto fits = [&] { return Layout::tagged(layout.dims, tag, layout.itemsize) == layout; };
    if (layout.offset == 0 && !fits()) {
        const auto by_stride = [&](std::size_t a, std::size_t b) { return layout.strides[a] > layout.strides[b]; };
        std::stable_sort(tag.order.begin(), tag.order.end(), by_stride);
        if (!fits()) std::stable_partition(tag.order.begin(), tag.order.end(), single);
    }
    if (!fits()) return {};
    std::string text;
    for (const std::size_t axis : tag.order) text += static_cast<char>((blocked(layout, axis) ? 'A' : 'a') + axis);
    for (std::size_t k = 0; k < tag.inner_blocks.size(); ++k) {
        text += std::to_string(tag.inner_blocks[k]) + static_cast<char>('a' + tag.inner_indices[k]);
    }
    return text;
}

}  // namespace dnnmove
