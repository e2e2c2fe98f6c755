// Checks indices, many of them by several threads.
#include "call/index_list.hpp"

#include <atomic>

#include "kernels/contract.hpp"
#include "runtime/isa.hpp"
#include "runtime/threads.hpp"

namespace dnnmove {
namespace {

// To read and compare takes a part of the time that to copy takes, for which threads are counted.
constexpr std::int64_t kPart = 4;

}  // namespace

bool IndexList::within(std::int64_t length, int threads) const noexcept {
    struct Context {
        const IndexList& list;
        std::int64_t length;
        bool (*are_indices)(const std::byte*, std::int64_t, std::int64_t) noexcept;
        std::atomic<bool> right = true;

        void check(std::int64_t begin, std::int64_t end) noexcept {
            if (!are_indices(list.data + begin * list.index_bytes, end - begin, length))
                right.store(false, std::memory_order_relaxed);
        }
    } context{*this, length, kernels_for(best_isa()).are_indices[index_width(index_bytes)]};
    const auto body = [](void* opaque, Participant& participant) noexcept {
        auto& check = *static_cast<Context*>(opaque);
        const std::int64_t all = check.list.count;
        for (std::uint32_t chunk = 0; participant.take(chunk);) {
            const std::int64_t share = all / participant.chunks();
            check.check(share * chunk, chunk + 1 == participant.chunks() ? all : share * (chunk + 1));
        }
    };
    const int useful = useful_threads(threads, bytes() / kPart);
    if (useful <= 1 || !parallel(useful, bytes() / kPart, body, &context)) context.check(0, count);
    return context.right.load(std::memory_order_relaxed);
}

}  // namespace dnnmove
