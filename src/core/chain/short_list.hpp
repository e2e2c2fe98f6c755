// A list whose first few elements lie in the list itself: most have no more, and none of those is an allocation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace dnnmove::chain {

// Of elements that are cheap to move and have a default. As of a std::vector, pointers into it end with a change.
template <class T, std::size_t kNear>
class ShortList {
public:
    std::size_t size() const { return far_.empty() ? count_ : far_.size(); }
    bool empty() const { return size() == 0; }
    T* data() { return far_.empty() ? near_.data() : far_.data(); }
    const T* data() const { return far_.empty() ? near_.data() : far_.data(); }
    T* begin() { return data(); }
    T* end() { return data() + size(); }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size(); }
    T& operator[](std::size_t i) { return data()[i]; }
    const T& operator[](std::size_t i) const { return data()[i]; }

    void push_back(T value) {
        if (far_.empty() && count_ < kNear) {
            near_[count_++] = std::move(value);
            return;
        }
        if (far_.empty()) {
            far_.reserve(2 * kNear);
            far_.assign(std::make_move_iterator(near_.begin()), std::make_move_iterator(near_.end()));
            near_.fill(T{});
            count_ = 0;
        }
        far_.push_back(std::move(value));
    }
    void append(const T* first, const T* last) {
        for (; first != last; ++first) push_back(*first);
    }
    // Keeps the first `size` elements, of at least as many.
    void shorten(std::size_t size) {
        if (far_.empty()) {
            while (count_ > size) near_[--count_] = T{};
        } else {
            // Elements near and far never are at once: size() tells by those that are far.
            std::vector<T> kept(std::make_move_iterator(far_.begin()), std::make_move_iterator(far_.begin() + static_cast<std::ptrdiff_t>(size)));
            far_.clear();
            for (T& value : kept) push_back(std::move(value));
        }
    }
    void erase(std::size_t i) {
        std::move(begin() + i + 1, end(), begin() + i);
        shorten(size() - 1);
    }

    bool operator==(const ShortList& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

private:
    std::size_t count_ = 0;     // of those that lie here
    std::array<T, kNear> near_{};
    std::vector<T> far_;        // all of them, once they are more
};

}  // namespace dnnmove::chain
