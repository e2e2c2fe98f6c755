// Work of other libraries that a fork waits for, since it would leave their locks held in the child.
#include "runtime/fork_gate.hpp"

#include <pthread.h>

namespace dnnmove {
namespace {

// Many readers, who work, and one writer, who forks and goes first. Never destroyed, since threads may outlive exit
// handlers.
struct Gate {
    pthread_rwlock_t lock;

    Gate() {
        open();
        pthread_atfork([] { pthread_rwlock_wrlock(&gate().lock); }, [] { pthread_rwlock_unlock(&gate().lock); },
                       [] { gate().open(); });
    }
    // In a child, too: those who waited in the parent are not there.
    void open() {
        pthread_rwlockattr_t attributes;
        pthread_rwlockattr_init(&attributes);
#ifdef PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
        pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
        pthread_rwlock_init(&lock, &attributes);
        pthread_rwlockattr_destroy(&attributes);
    }
    static Gate& gate() {
        static auto* const made = new Gate();
        return *made;
    }
};

// Made when the library is loaded, before anybody can fork.
[[maybe_unused]] Gate& gate_loaded = Gate::gate();

}  // namespace

HeldFork::HeldFork() noexcept { pthread_rwlock_rdlock(&Gate::gate().lock); }
HeldFork::~HeldFork() { pthread_rwlock_unlock(&Gate::gate().lock); }

}  // namespace dnnmove
