// What every test of the core includes: doctest, rounds of random tests that can be run again one by one, and texts
// for what a failure prints.
#pragma once

#define DOCTEST_CONFIG_USE_STD_HEADERS
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "array/dims.hpp"
#include "doctest/doctest.h"

// Shapes, strides and offsets, as messages of the core print them.
template <>
struct doctest::StringMaker<dnnmove::Dims> {
    static String convert(const dnnmove::Dims& dims) { return dnnmove::to_string(dims).c_str(); }
};

namespace testing {

// Whether the program was called with `argument`, one of its own (doctest knows nothing of it).
bool has_argument(std::string_view argument);

// The rounds that a random test runs: those that it says, unless the environment asks for others.
struct Rounds {
    int first;
    int last;  // exclusive
    unsigned seed;
};
Rounds rounds_asked_for(int rounds, unsigned seed);

// The command that runs one round of the test case that is running.
std::string command_for_round(unsigned seed, int round);

// Calls body(random, round). Each round has a generator of its own, so that it does the same without those before it.
// Whether all rounds were run, not one alone that failed before: else a sum over them says nothing.
template <typename Body>
bool each_round(int rounds, unsigned seed, const Body& body) {
    const Rounds asked = rounds_asked_for(rounds, seed);
    for (int round = asked.first; round < asked.last; ++round) {
        INFO("round ", round, ", seed ", asked.seed, "; it alone: ", command_for_round(asked.seed, round));
        std::seed_seq words{asked.seed, static_cast<unsigned>(round)};
        std::mt19937 random(words);
        body(random, round);
    }
    return asked.last - asked.first >= rounds;
}

using Bytes = std::vector<std::byte>;
Bytes random_bytes(std::size_t size, std::mt19937& random);

// Where two buffers differ first, as in "byte 17 of 400 is 90, not 171"; empty where they are the same. One check of it
// takes the place of one per byte.
std::string difference(const Bytes& bytes, const Bytes& expected);

}  // namespace testing
