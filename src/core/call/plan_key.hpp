// The key of a plan in the cache: numbers on the stack, compared word by word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dnnmove {

// All that decides a plan, as numbers.
class PlanKey {
public:
    PlanKey() noexcept {}  // leaves the words uninitialised
    // (Always inlined: a small call pushes some twenty words.)
    [[gnu::always_inline]] void push(std::int64_t word) {
        if (size_ < kInline) [[likely]] {
            inline_[size_++] = word;
        } else {
            push_slowly(word);
        }
    }
    void push(std::span<const std::int64_t> words) {
        if (size_ + words.size() > kInline) return push_slowly(words);
        for (const std::int64_t word : words) push(word);
    }
    // The number of an array's dimensions, then the length (elements) and the stride (bytes) of each.
    [[gnu::always_inline]] void push_layout(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
        const std::size_t ndim = shape.size();
        if (size_ + 1 + 2 * ndim > kInline) [[unlikely]] {
            push_layout_slowly(shape, strides);
            return;
        }
        std::int64_t* at = inline_ + size_;
        *at++ = static_cast<std::int64_t>(ndim);
        for (std::size_t axis = 0; axis < ndim; ++axis) {
            at[0] = shape[axis];
            at[1] = strides[axis];
            at += 2;
        }
        size_ += 1 + 2 * ndim;
    }
    // For a word that is known only later (a count).
    std::size_t reserve() {
        push(0);
        return size_ - 1;
    }
    void set(std::size_t position, std::int64_t word) noexcept { data()[position] = word; }
    void clear() noexcept {
        size_ = 0;
        heap_.clear();
    }
    std::size_t size() const noexcept { return size_; }
    std::span<const std::int64_t> words() const noexcept { return {size_ <= kInline ? inline_ : heap_.data(), size_}; }
    std::uint64_t hash() const noexcept {
        // Two words per multiplication, in two chains: a small call waits for each multiplication of a chain.
        const std::span<const std::int64_t> all = words();
        const auto word = [&](std::size_t i) { return static_cast<std::uint64_t>(all[i]); };
        std::uint64_t first = kSeed ^ size_;
        std::uint64_t second = kFactor;
        std::size_t i = 0;
        for (; i + 4 <= size_; i += 4) {
            first = mixed(first ^ word(i), kFactor ^ word(i + 1));
            second = mixed(second ^ word(i + 2), kSeed ^ word(i + 3));
        }
        for (; i < size_; ++i) first = mixed(first ^ word(i), kFactor);
        return mixed(first ^ kSeed, second ^ kFactor);
    }

private:
    static constexpr std::size_t kInline = 96;
    static constexpr std::uint64_t kSeed = 0x9E3779B97F4A7C15U;
    static constexpr std::uint64_t kFactor = 0xD6E8FEB86659FD93U;
    static std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
        const auto product = static_cast<unsigned __int128>(a) * b;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }
    std::int64_t* data() noexcept { return size_ <= kInline ? inline_ : heap_.data(); }
    [[gnu::cold]] void push_slowly(std::int64_t word);
    [[gnu::cold]] void push_slowly(std::span<const std::int64_t> words);
    [[gnu::cold]] void push_layout_slowly(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

    std::size_t size_ = 0;
    std::int64_t inline_[kInline];
    std::vector<std::int64_t> heap_;
};

struct Layout;

// All of a layout that decides where its elements and its padding lie, counted from element (0, 0, ...).
void push_layout(PlanKey& key, const Layout& layout);

}  // namespace dnnmove
