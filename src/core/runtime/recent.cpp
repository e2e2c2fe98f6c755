// The locks of small caches, and what keeps them whole over a fork.
#include "runtime/recent.hpp"

#include <pthread.h>

#include <array>
#include <cstdint>

namespace dnnmove {
namespace {

// Few locks for all owners, held for moments. Never destroyed, since threads may outlive exit handlers.
struct Locks {
    std::array<std::mutex, 16> all;

    Locks() {
        pthread_atfork([] { every([](std::mutex& lock) { lock.lock(); }); },
                       [] { every([](std::mutex& lock) { lock.unlock(); }); },
                       [] { every([](std::mutex& lock) { lock.unlock(); }); });
    }
    template <class Body>
    static void every(const Body& body);
};

Locks& locks() {
    static auto* const made = new Locks();
    return *made;
}

// Made when the library is loaded, before anybody can fork.
[[maybe_unused]] Locks& locks_loaded = locks();

template <class Body>
void Locks::every(const Body& body) {
    for (std::mutex& lock : locks().all) body(lock);
}

}  // namespace

std::mutex& lock_for(const void* owner) {
    auto& all = locks().all;
    return all[reinterpret_cast<std::uintptr_t>(owner) / 64 % all.size()];
}

}  // namespace dnnmove
