// The key of a plan in the cache: numbers on the stack, compared word by word.
#include "call/plan_key.hpp"

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

}  // namespace dnnmove
