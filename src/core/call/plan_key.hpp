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
    void push(std::int64_t word) {
        if (size_ < kInline) {
            inline_[size_++] = word;
        } else {
            push_slowly(word);
        }
    }
    void push(std::span<const std::int64_t> words) {
        if (size_ + words.size() <= kInline) {
            for (std::size_t i = 0; i < words.size(); ++i) inline_[size_ + i] = words[i];
            size_ += words.size();
        } else {
            for (const std::int64_t word : words) push_slowly(word);
        }
    }
    // For a word that is known only later (a count).
    std::size_t reserve() {
        push(0);
        return size_ - 1;
    }
    void set(std::size_t position, std::int64_t word) noexcept { data()[position] = word; }
    std::size_t size() const noexcept { return size_; }
    std::span<const std::int64_t> words() const noexcept {
        return {size_ <= kInline ? inline_ : heap_.data(), size_};
    }
    std::uint64_t hash() const noexcept {
        std::uint64_t hash = 0x9E3779B97F4A7C15U ^ size_;
        for (const std::int64_t word : words()) {
            const std::uint64_t mixed = hash ^ static_cast<std::uint64_t>(word);
            const auto product = static_cast<unsigned __int128>(mixed) * 0xD6E8FEB86659FD93U;
            hash = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
        }
        return hash;
    }

private:
    static constexpr std::size_t kInline = 96;
    std::int64_t* data() noexcept { return size_ <= kInline ? inline_ : heap_.data(); }
    void push_slowly(std::int64_t word);

    std::size_t size_ = 0;
    std::int64_t inline_[kInline];
    std::vector<std::int64_t> heap_;
};

struct Layout;

// All of a layout that decides where its elements and its padding lie, counted from element (0, 0, ...).
void push_layout(PlanKey& key, const Layout& layout);

}  // namespace dnnmove
