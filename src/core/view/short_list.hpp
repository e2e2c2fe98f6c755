// A list whose first few elements lie in the list itself: most have no more, and none of those is an allocation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace dnnmove::view {

// Of elements that are cheap to move and have a default. As of a std::vector, pointers into it end with a change.
template <class T, std::size_t kNear>
class ShortList {
public:
    ShortList() = default;
    ~ShortList() = default;
    // What lies behind the last element is not copied.
    ShortList(const ShortList& other) : count_(other.count_) {
        std::copy_n(other.near_.begin(), count_, near_.begin());
        if (other.far_) [[unlikely]]
            far_ = std::make_unique<std::vector<T>>(*other.far_);
    }
    ShortList(ShortList&& other) noexcept : count_(std::exchange(other.count_, 0)), far_(std::move(other.far_)) {
        std::move(other.near_.begin(), other.near_.begin() + static_cast<std::ptrdiff_t>(count_), near_.begin());
    }
    ShortList& operator=(const ShortList& other) { return *this = ShortList(other); }
    ShortList& operator=(ShortList&& other) noexcept {
        near_ = std::move(other.near_);
        far_ = std::move(other.far_);
        count_ = std::exchange(other.count_, 0);
        return *this;
    }

    std::size_t size() const { return far_ ? far_->size() : count_; }
    bool empty() const { return size() == 0; }
    T* data() { return far_ ? far_->data() : near_.data(); }
    const T* data() const { return far_ ? far_->data() : near_.data(); }
    T* begin() { return data(); }
    T* end() { return data() + size(); }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size(); }
    T& operator[](std::size_t i) { return data()[i]; }
    const T& operator[](std::size_t i) const { return data()[i]; }

    void push_back(T value) {
        if (!far_ && count_ < kNear) {
            near_[count_++] = std::move(value);
            return;
        }
        if (!far_) {
            far_ = std::make_unique<std::vector<T>>();
            far_->reserve(2 * kNear);
            far_->assign(std::make_move_iterator(near_.begin()), std::make_move_iterator(near_.end()));
            near_.fill(T{});
            count_ = 0;
        }
        far_->push_back(std::move(value));
    }
    void append(const T* first, const T* last) {
        for (; first != last; ++first) push_back(*first);
    }
    // Keeps the first `size` elements, of at least as many.
    void shorten(std::size_t size) {
        if (!far_) {
            while (count_ > size) near_[--count_] = T{};
        } else if (size > kNear) {
            far_->resize(size);
        } else {
            const std::unique_ptr<std::vector<T>> all = std::move(far_);
            for (std::size_t i = 0; i < size; ++i) push_back(std::move((*all)[i]));
        }
    }
    void erase(std::size_t i) {
        std::move(begin() + i + 1, end(), begin() + i);
        shorten(size() - 1);
    }

    bool operator==(const ShortList& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

private:
    std::size_t count_ = 0;  // of those that lie here
    std::array<T, kNear> near_{};
    std::unique_ptr<std::vector<T>> far_;  // all of them, once they are more
};

}  // namespace dnnmove::view
