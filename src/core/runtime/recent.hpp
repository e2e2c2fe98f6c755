// A small cache: the values used most recently, shared by all threads and whole after a fork.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace dnnmove {

// The lock of `owner`'s cache. Owners share a few locks, which a fork waits for: a child never finds one
// locked by a thread that it does not have. Hold it for moments, and take no other lock meanwhile.
std::mutex& lock_for(const void* owner);

// At most `capacity` values, found by comparing keys; the one that was used least recently goes first.
template <class Key, class Value>
class Recent {
public:
    explicit Recent(std::size_t capacity) : capacity_(capacity) {}
    Recent(const Recent&) = delete;
    Recent& operator=(const Recent&) = delete;

    // Null where there is none.
    std::shared_ptr<const Value> find(const Key& key) {
        const std::lock_guard guard(lock_for(this));
        return find_locked(key);
    }

    // Keeps `value`, unless another thread was faster: then it returns what that one made.
    std::shared_ptr<const Value> insert(Key key, std::shared_ptr<const Value> value) {
        std::shared_ptr<const Value> dropped;  // destroyed after the lock is gone
        const std::lock_guard guard(lock_for(this));
        if (auto known = find_locked(key)) return known;
        if (entries_.size() == capacity_) {
            dropped = std::move(entries_.back().second);
            entries_.pop_back();
        }
        entries_.insert(entries_.begin(), {std::move(key), value});
        return value;
    }

private:
    std::shared_ptr<const Value> find_locked(const Key& key) {
        const auto found = std::find_if(entries_.begin(), entries_.end(),
                                        [&](const auto& entry) { return entry.first == key; });
        if (found == entries_.end()) return nullptr;
        std::rotate(entries_.begin(), found, found + 1);
        return entries_.front().second;
    }

    std::size_t capacity_;
    std::vector<std::pair<Key, std::shared_ptr<const Value>>> entries_;  // the latest first
};

}  // namespace dnnmove
