// A test program in one header: TEST(name) { CHECK(...); CHECK_THROWS(Type, ...); } and nothing else to link.
// Its arguments name the tests to run; without any it runs all.
#pragma once

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
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

int main(int count, char** arguments) {
    const std::vector<std::string_view> wanted(arguments + 1, arguments + count);
    std::size_t run = 0;
    for (const check::Test& test : check::tests) {
        if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), test.name) == wanted.end()) continue;
        ++run;
        const int before = check::failures;
        try {
            test.body();
        } catch (const std::exception& error) {
            check::fail(test.name, 0, std::string("threw ") + error.what());
        }
        std::printf("%s %s\n", check::failures == before ? "ok  " : "FAIL", test.name);
    }
    // A name that no test has must not look like success.
    const bool all_found = run == (wanted.empty() ? check::tests.size() : wanted.size()) && run > 0;
    if (!all_found) std::printf("FAIL some of the tests asked for do not exist\n");
    return check::failures == 0 && all_found ? 0 : 1;
}
