// A test program in one header: TEST(name) { CHECK(...); CHECK_THROWS(Type, ...); } and nothing else to link.
#pragma once

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace check {

struct Test {
    const char* name;
    void (*body)();
};

inline std::vector<Test> tests;
inline int failures = 0;

struct Registrar {
    Registrar(const char* name, void (*body)()) { tests.push_back({name, body}); }
};

inline void fail(const char* file, int line, const std::string& what) {
    std::printf("%s:%d: %s\n", file, line, what.c_str());
    ++failures;
}

}  // namespace check

#define TEST(name)                                             \
    static void test_##name();                                 \
    static const check::Registrar register_##name{#name, test_##name}; \
    static void test_##name()

// Reports and goes on: one run shows every failure.
#define CHECK(...)                                                             \
    do {                                                                       \
        if (!(__VA_ARGS__)) check::fail(__FILE__, __LINE__, "not true: " #__VA_ARGS__); \
    } while (false)

#define CHECK_THROWS(Type, ...)                                                     \
    do {                                                                            \
        try {                                                                       \
            static_cast<void>(__VA_ARGS__);                                         \
            check::fail(__FILE__, __LINE__, "did not throw " #Type ": " #__VA_ARGS__); \
        } catch (const Type&) {                                                     \
        }                                                                           \
    } while (false)

int main() {
    for (const check::Test& test : check::tests) {
        const int before = check::failures;
        try {
            test.body();
        } catch (const std::exception& error) {
            check::fail(test.name, 0, std::string("threw ") + error.what());
        }
        std::printf("%s %s\n", check::failures == before ? "ok  " : "FAIL", test.name);
    }
    if (check::tests.empty()) std::printf("no tests\n");
    return check::failures == 0 && !check::tests.empty() ? 0 : 1;
}
