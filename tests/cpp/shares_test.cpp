// How threads share units: each once, shares about as long, rows, blocks and bands where they are one thread's.
#include "plan/shares.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "test.hpp"

using namespace dnnmove;

TEST_CASE("threads begin with rows, unless their parts would be uneven") {
    CHECK(begin_of_part(10, 2, 1, 2) == 6);  // 5 tiles: 3 and 2
    CHECK(begin_of_part(15, 5, 1, 2) == 7);  // 3 tiles: the middle one is shared
    CHECK(begin_of_part(36, 3, 1, 8) == 4);  // a tile and a half each
    CHECK(begin_of_share(18, 2, 4, 8, 2) == 10);  // 9 tiles: 5 and 4, whatever the shares
    CHECK(begin_of_share(18, 2, 1, 8, 2) == 2);
    for (const std::int64_t row_units : {1, 2, 3, 7, 64}) {
        for (const std::int64_t rows : {1, 2, 3, 5, 13, 100}) {
            for (const std::int64_t threads : {1, 2, 3, 8, 16}) {
                for (const std::int64_t each : {1, 2, 5}) {
                    INFO(rows, " rows of ", row_units, " units, ", threads, " threads, ", each, " shares each");
                    const std::int64_t units = rows * row_units;
                    const std::int64_t shares = threads * each;
                    CHECK(begin_of_share(units, row_units, 0, shares, threads) == 0);
                    CHECK(begin_of_share(units, row_units, shares, shares, threads) == units);
                    for (std::int64_t k = 0; k < shares; ++k) {
                        const std::int64_t begin = begin_of_share(units, row_units, k, shares, threads);
                        const std::int64_t share = begin_of_share(units, row_units, k + 1, shares, threads) - begin;
                        CHECK(share >= 0);
                        CHECK(5 * shares * (share - 1) <=
                              7 * units + 5 * shares);  // two fifths more than the mean, and parts of units
                        if (begin % row_units != 0 && k % each == 0) CHECK(begin == units * k / shares);
                    }
                }
            }
        }
    }
}

TEST_CASE("bands are of some units, and as many for each share") {
    for (const std::int64_t units : {6, 20, 39, 100}) {
        for (const std::int64_t band_units : {1, 2, 3, 10, 13}) {
            for (const std::int64_t shares : {1, 2, 3, 8, 14}) {
                const std::int64_t found = bands_of({.units = units / band_units * band_units, .band_units = band_units},
                                                    shares);
                CHECK(shares % found == 0);
                if (found > 1) CHECK(band_units / found >= 5);
            }
        }
    }
}

TEST_CASE("bands cover each unit once, and shares are even") {
    for (const std::int64_t band_units : {5, 10, 16, 39}) {
        for (const std::int64_t steps : {1, 3, 5, 20}) {
            for (const std::int64_t bands : {1, 2, 4}) {
                for (const std::int64_t each : {1, 2, 3}) {
                    const std::int64_t units = band_units * steps;
                    const std::int64_t shares = bands * each;
                    std::vector<int> times(static_cast<std::size_t>(units));
                    for (std::int64_t k = 0; k < shares; ++k) {
                        std::int64_t made = 0;
                        run_band(units, band_units, bands, k, shares, [&](std::int64_t begin, std::int64_t end) {
                            CHECK(begin < end);
                            CHECK(begin / band_units == (end - 1) / band_units);
                            made += end - begin;
                            for (std::int64_t unit = begin; unit < end; ++unit) ++times[static_cast<std::size_t>(unit)];
                        });
                        CHECK(made <= (band_units / bands + 1) * steps / each + 1);
                    }
                    CHECK(std::count(times.begin(), times.end(), 1) == units);
                }
            }
        }
    }
}

TEST_CASE("parts cover each unit once, and end with a block") {
    for (const Sharing& sharing : std::initializer_list<Sharing>{{.units = 1},
                                                                 {.units = 97},
                                                                 {.units = 96, .block_units = 4},
                                                                 {.units = 3 * 31, .row_units = 31},
                                                                 {.units = 5 * 40, .band_units = 40},
                                                                 {.units = 6 * 40, .band_units = 40, .banded_steps = 6},
                                                                 {.units = 60 * 40, .band_units = 40, .banded_steps = 2}}) {
        for (const std::int64_t chunks : {1, 2, 8, 24}) {
            for (const std::int64_t slices : {1, 3, 7}) {
                std::vector<int> times(static_cast<std::size_t>(sharing.units));
                Part part{.chunks = chunks, .threads = std::min<std::int64_t>(chunks, 2), .slices = slices};
                for (part.chunk = 0; part.chunk < chunks; ++part.chunk) {
                    for (part.slice = 0; part.slice < slices; ++part.slice) {
                        run_part(sharing, part, [&](std::int64_t begin, std::int64_t end) {
                            CHECK(begin % sharing.block_units == 0);
                            CHECK(end % sharing.block_units == 0);
                            for (std::int64_t unit = begin; unit < end; ++unit) ++times[static_cast<std::size_t>(unit)];
                        });
                    }
                }
                CHECK(std::count(times.begin(), times.end(), 1) == sharing.units);
            }
        }
    }
}
