// The checks of debug builds: they hear of calls that break the contract, and of no others.
#include "kernels/checked.hpp"

#include <array>
#include <string>
#include <vector>

#include "test.hpp"

using namespace dnnmove;

namespace {

std::vector<std::string> heard;

// Notes violations instead of aborting, while it lives.
class Listening {
public:
    Listening() : before_(on_violation) {
        heard.clear();
        on_violation = [](const char* kernel, const char* expected) { heard.push_back(std::string(kernel) + ": " + expected); };
    }
    ~Listening() { on_violation = before_; }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

private:
    OnViolation before_;
};

}  // namespace

TEST_CASE("calls that keep the contract do what the kernels do") {
    const Listening listening;
    const Kernels& kernels = checked_kernels(kernels_for(best_isa()));
    alignas(64) std::array<std::byte, 64 * 16> src;
    alignas(64) std::array<std::byte, 64 * 16> dst;
    for (std::size_t k = 0; k < src.size(); ++k) src[k] = static_cast<std::byte>(k % 251);
    std::array<std::int64_t, 16> rows;
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<std::int64_t>(k) * 64;
    kernels.transpose[2](src.data(), rows.data(), dst.data(), rows.data(), 16, 16, {true, true}, {src.data(), rows.data()});
    kernels.fence();
    bool right = true;
    for (std::size_t i = 0; i < 16; ++i) {
        for (std::size_t j = 0; j < 64; ++j) right = right && dst[i * 64 + j] == src[j / 4 * 64 + i * 4 + j % 4];
    }
    CHECK(right);
    kernels.copy_rows(src.data(), dst.data(), 64, {16, 64, 64}, {});
    CHECK(dst == src);
    CHECK(heard.empty());
}

TEST_CASE("calls that break the contract are heard of") {
    const Listening listening;
    const Kernels& kernels = checked_kernels(kernels_for(best_isa()));
    alignas(64) std::array<std::byte, 4096> src{};
    alignas(64) std::array<std::byte, 4096> dst{};
    const std::array<std::int64_t, 2> rows{0, 64};
    // None of these moves a byte: they have no rows, or none that the kernel would take wrongly.
    kernels.transpose[2](src.data(), rows.data(), dst.data() + 4, rows.data(), 1, 0, {true, true}, {src.data(), rows.data()});
    CHECK(heard == std::vector<std::string>{"transpose: non-temporal: every row of the destination begins on a line"});
    heard.clear();
    kernels.transpose[0](src.data(), rows.data(), dst.data(), rows.data(), 0, 1, {false, true}, {src.data(), nullptr});
    CHECK(heard.size() == 1);
    heard.clear();
    kernels.copy_strips(src.data(), dst.data(), 8, {2, 4, 8}, 8, {});
    CHECK(heard == std::vector<std::string>{"copy_strips: rows do not overlap"});
    heard.clear();
    kernels.copy_runs(src.data(), dst.data(), 65, {0, 65, 65}, {0, 0, 0}, {});
    CHECK(heard == std::vector<std::string>{"copy_runs: runs of 1 to 64 bytes"});
    heard.clear();
    kernels.copy_elements[2]({}, src.data(), dst.data(), {0, 4, 4}, {}, {});
    CHECK(heard == std::vector<std::string>{"copy_elements: blocks of an element at least"});
    heard.clear();
    GatherBlock block{};
    block.loop_steps = 1;
    kernels.gather_runs(block, src.data(), dst.data(), {1, 1, 1}, {0, 0, 0, rows.data()}, nullptr, 0);
    CHECK(heard == std::vector<std::string>{"gather_runs: whole vectors and windows", "gather_runs: no table of rows",
                                            "gather_runs: a run at least"});
    heard.clear();
    const std::array<std::int64_t, 4> apart{0, 13, 26, 39};
    kernels.transpose_batch[2](src.data(), apart.data(), dst.data(), apart.data(), 4, 3, {0, 48, 48}, {}, 0);
    CHECK(heard == std::vector<std::string>{"transpose_batch: short rows of the destination follow each other"});
    heard.clear();
    kernels.transpose_batch[2](src.data(), apart.data(), dst.data(), apart.data(), 3, 3, {0, 36, 36}, {.by_tiles = true}, 0);
    CHECK(heard == std::vector<std::string>{"transpose_batch: short rows of the destination follow each other",
                                            "transpose_batch: tiles have the columns of a lane",
                                            "transpose_batch: tiles have their rows"});
    heard.clear();
    kernels.copy_rows(src.data(), dst.data(), 4, {1, 4, 4}, {.nontemporal = true, .claim = true});
    CHECK(heard == std::vector<std::string>{"copy_rows: claim: by ordinary stores"});
    heard.clear();
    kernels.fill(src.data(), dst.data(), kMaxFillBytes + 1, {0, 0, 0}, {0, 0, 0}, {});
    CHECK(heard == std::vector<std::string>{"fill: elements of 1 to kMaxFillBytes bytes"});
    heard.clear();
    kernels.join_vectors({nullptr, nullptr, nullptr, 0, 0, 64, 1, 16}, nullptr, dst.data(), 0, 0, {});
    CHECK(heard == std::vector<std::string>{"join_vectors: the records of a block at least",
                                            "join_vectors: vectors end with their block"});
    heard.clear();
    kernels.copy_rows(src.data(), dst.data(), 60, {0, 60, 60}, {.nontemporal = true, .next = src.data()});
    CHECK(heard == std::vector<std::string>{"copy_rows: what is asked for meanwhile: rows of the destination are whole lines"});
}

TEST_CASE("what an instruction set lacks stays null") {
    for (const Isa isa : available_isas()) {
        const Kernels& plain = kernels_for(isa);
        const Kernels& kernels = checked_kernels(plain);
        CHECK((plain.split_records == nullptr) == (kernels.split_records == nullptr));
        CHECK((plain.join_records == nullptr) == (kernels.join_records == nullptr));
        CHECK((plain.split_vectors == nullptr) == (kernels.split_vectors == nullptr));
        CHECK(kernels.isa == isa);
    }
}
