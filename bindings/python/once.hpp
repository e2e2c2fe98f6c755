// What is found out of Python once in a process, by its first use.
#pragma once

namespace dnnmove {

// The process's T, never destroyed. Called with the interpreter's lock, which T's constructor may give up, since it may run
// Python: threads that come meanwhile make a T of their own, and the first that is done stays. (A static variable would
// make them wait for the first, with the lock that the first needs to go on.)
template <class T>
T& once() {
    static constinit T* made = nullptr;
    if (made == nullptr) {
        T* const mine = new T();
        if (made == nullptr) made = mine;
    }
    return *made;
}

}  // namespace dnnmove
