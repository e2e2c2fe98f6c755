// The main function of every test program, and what test.hpp declares.
//
// Its arguments are doctest's (--help lists them), a test's own, how names of test cases begin, with underscores for
// spaces (several_transfers), and two numbers: how many rounds each random test runs, and from which seed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

// The sanitizers report signals themselves, and say more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS
#endif
#define DOCTEST_CONFIG_IMPLEMENT
#include "test.hpp"

namespace {

std::vector<std::string> arguments;

const char* const kRounds = "DNNMOVE_TEST_ROUNDS";
const char* const kSeed = "DNNMOVE_TEST_SEED";
const char* const kRound = "DNNMOVE_TEST_ROUND";

// A number from the environment; what is no number ends the program, since other rounds than those asked for say nothing.
unsigned from_environment(const char* name, unsigned otherwise) {
    const char* const text = std::getenv(name);
    if (text == nullptr) return otherwise;
    std::istringstream stream(text);
    unsigned number = 0;
    if (!(stream >> number) || !stream.eof()) {
        std::fprintf(stderr, "%s must be a number, not '%s'\n", name, text);
        std::exit(EXIT_FAILURE);
    }
    return number;
}

// Notes the test cases that run: none, or none of a name that was asked for, must not look like success.
struct Notes : doctest::IReporter {
    static inline std::vector<std::string> run;
    explicit Notes(const doctest::ContextOptions&) {}
    void test_case_start(const doctest::TestCaseData& test) override { run.emplace_back(test.m_name); }
    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats&) override {}
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_end(const doctest::CurrentTestCaseStats&) override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}
};
DOCTEST_REGISTER_LISTENER("notes", 1, Notes);

bool begins(std::string name, const std::string& word) {
    std::replace(name.begin(), name.end(), ' ', '_');
    return name.starts_with(word);
}

bool is_number(const std::string& text) { return text.find_first_not_of("0123456789") == std::string::npos; }

}  // namespace

namespace testing {

bool has_argument(std::string_view argument) {
    return std::find(arguments.begin(), arguments.end(), argument) != arguments.end();
}

Rounds rounds_asked_for(int rounds, unsigned seed) {
    const unsigned chosen = from_environment(kSeed, seed);
    if (std::getenv(kRound) != nullptr) {
        const auto round = static_cast<int>(from_environment(kRound, 0));
        return {round, round + 1, chosen};
    }
    return {0, static_cast<int>(from_environment(kRounds, static_cast<unsigned>(rounds))), chosen};
}

std::string command_for_round(unsigned seed, int round) {
    const doctest::ContextOptions& options = *doctest::getContextOptions();
    std::ostringstream text;
    text << kSeed << "=" << seed << " " << kRound << "=" << round;
    for (const char* name : {"DNNMOVE_ISA", "OMP_NUM_THREADS"}) {
        if (const char* const value = std::getenv(name)) text << " " << name << "=" << value;
    }
    text << " " << options.binary_name << " -tc=\"" << options.currentTest->m_name << "\"";
    return text.str();
}

Bytes random_bytes(std::size_t size, std::mt19937& random) {
    Bytes bytes(size);
    // One draw seeds a generator that is quick in builds that are not optimised, too (splitmix64).
    std::uint64_t state = random();
    for (std::size_t at = 0; at < size; at += 8) {
        std::uint64_t word = state += 0x9E3779B97F4A7C15;
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9;
        word = (word ^ word >> 27) * 0x94D049BB133111EB;
        word ^= word >> 31;
        std::memcpy(&bytes[at], &word, std::min<std::size_t>(8, size - at));
    }
    return bytes;
}

std::string difference(const Bytes& bytes, const Bytes& expected) {
    // A vector of bytes compares itself one by one: sanitized, most of a test's time.
    if (bytes.size() == expected.size() && (bytes.empty() || std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0)) {
        return "";
    }
    std::ostringstream text;
    if (bytes.size() != expected.size()) {
        text << bytes.size() << " bytes, not " << expected.size();
        return text.str();
    }
    const auto [at, wanted] = std::mismatch(bytes.begin(), bytes.end(), expected.begin());
    text << "byte " << at - bytes.begin() << " of " << bytes.size() << " is " << std::to_integer<int>(*at) << ", not "
         << std::to_integer<int>(*wanted);
    return text.str();
}

}  // namespace testing

int main(int count, char** values) {
    arguments.assign(values + 1, values + count);
    doctest::Context context;
    context.setOption("abort-after", 20);  // a broken kernel fails everywhere
    std::vector<std::string> words;
    std::vector<std::string> numbers;
    for (const std::string& argument : arguments) {
        if (argument.empty() || argument[0] == '-') continue;
        if (is_number(argument)) {
            numbers.push_back(argument);
            continue;
        }
        words.push_back(argument);
        std::string filter = argument + "*";
        std::replace(filter.begin(), filter.end(), '_', '?');
        context.addFilter("test-case", filter.c_str());
    }
    if (!numbers.empty()) setenv(kRounds, numbers[0].c_str(), 1);
    if (numbers.size() > 1) setenv(kSeed, numbers[1].c_str(), 1);
    context.applyCommandLine(count, values);
    const int result = context.run();
    if (context.shouldExit()) return result;  // it was only asked what there is
    const bool found = !Notes::run.empty() && std::all_of(words.begin(), words.end(), [](const std::string& word) {
        return std::any_of(Notes::run.begin(), Notes::run.end(), [&](const std::string& name) { return begins(name, word); });
    });
    if (!found) std::fprintf(stderr, "some of the test cases asked for do not exist; --list-test-cases lists them\n");
    return found ? result : EXIT_FAILURE;
}
