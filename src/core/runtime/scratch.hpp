// Room for stages that are too large for the stacks of some threads.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace dnnmove {

// This thread's room, or new one where there is none or it is in use already; the thread keeps the last one for its next stage.
class Scratch {
public:
    static constexpr std::size_t kBytes = 192 * 1024;

    Scratch() noexcept : room_(std::exchange(kept_, nullptr)) {
        if (room_ == nullptr) room_ = ::operator new(kBytes, std::align_val_t{64}, std::nothrow);
    }
    ~Scratch() {
        if (ended_ || kept_ != nullptr) {
            drop(room_);
        } else {
            keeper_.begin();
            kept_ = room_;
        }
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    void* data() const noexcept { return room_; }  // null where there is no memory

private:
    static void drop(void* room) noexcept { ::operator delete(room, std::align_val_t{64}); }

    // Drops what the thread keeps at its end. Calls may come later still, from exit handlers: those find no room that is kept.
    struct Keeper {
        void begin() noexcept {}  // from its first use on the thread has this destructor
        ~Keeper() {
            drop(std::exchange(kept_, nullptr));
            ended_ = true;
        }
    };
    static inline constinit thread_local void* kept_ = nullptr;
    static inline constinit thread_local bool ended_ = false;
    static inline thread_local Keeper keeper_;
    void* room_;
};

// The stack's turn where there is no memory: a run cannot fail.
template <class Stage, class Body, class... Arguments>
[[gnu::noinline]] void with_stage_on_stack(const Body& body, const Arguments&... arguments) noexcept {
    if constexpr (sizeof...(Arguments) == 0) {
        Stage stage;
        body(stage);
    } else {
        Stage stage(arguments...);
        body(stage);
    }
}

// body(stage) with a Stage of these arguments, which is not filled with anything else.
template <class Stage, class Body, class... Arguments>
void with_stage(const Body& body, const Arguments&... arguments) noexcept {
    static_assert(sizeof(Stage) <= Scratch::kBytes && alignof(Stage) <= 64 && std::is_trivially_destructible_v<Stage>);
    const Scratch scratch;
    if (scratch.data() == nullptr) return with_stage_on_stack<Stage>(body, arguments...);
    if constexpr (sizeof...(Arguments) == 0) {
        body(*new (scratch.data()) Stage);
    } else {
        body(*new (scratch.data()) Stage(arguments...));
    }
}

}  // namespace dnnmove
