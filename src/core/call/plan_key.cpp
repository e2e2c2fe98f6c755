// The key of a plan in the cache: numbers on the stack, compared word by word.
#include "call/plan_key.hpp"

#include "layout/layout.hpp"

namespace dnnmove {

void PlanKey::push_slowly(std::int64_t word) {
    if (size_ == kInline) heap_.assign(inline_, inline_ + kInline);
    if (size_ < kInline) {
        inline_[size_++] = word;
        return;
    }
    heap_.push_back(word);
    ++size_;
}

void PlanKey::push_slowly(std::span<const std::int64_t> words) {
    if (size_ <= kInline) heap_.assign(inline_, inline_ + size_);
    heap_.insert(heap_.end(), words.begin(), words.end());
    size_ += words.size();
}

void PlanKey::push_layout_slowly(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
    push(static_cast<std::int64_t>(shape.size()));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        push(shape[axis]);
        push(strides[axis]);
    }
}

void push_layout(PlanKey& key, const Layout& layout) {
    key.push(layout.itemsize);
    key.push(static_cast<std::int64_t>(layout.ndim()));
    key.push(layout.dims);
    key.push(layout.padded_dims);
    key.push(layout.strides);
    key.push(static_cast<std::int64_t>(layout.inner_blocks.size()));
    key.push(layout.inner_blocks);
    key.push(layout.inner_indices);
}

}  // namespace dnnmove
