// What a transfer reads, what it is called, and its canonical form.
#include "plan/transfer.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "plan/canonical.hpp"

namespace dnnmove {
namespace {

alignas(64) const std::byte kZeros[4096] = {};

}  // namespace

void make_canonical(std::vector<Transfer>& transfers) {
    for (Transfer& transfer : transfers) {
        const auto& loops = transfer.nest.loops;
        if (std::any_of(loops.begin(), loops.end(), [](const Loop& loop) { return loop.extent == 0; })) {
            transfer.nest.itemsize = 0;
        }
        if (!transfer.empty() && !transfer.sink) transfer.nest = canonical(std::move(transfer.nest));
    }
}

const std::byte* constant_of(const Transfer& transfer) {
    return transfer.src == kZeroSource ? kZeros : transfer.src == kConstantSource ? transfer.constant->data() : nullptr;
}

std::string name_of_sources(int src, const Transfer::Repeat& repeat) {
    if (src < 0) return src == kZeroSource ? "source zeros" : "a constant";
    if (repeat.count == 1) return "source " + std::to_string(src);
    return "each of " + std::to_string(repeat.count) + " sources from " + std::to_string(src) + " on" +
           (repeat.src_step == 1 ? "" : " by " + std::to_string(repeat.src_step));
}

std::int64_t period_of(const Transfer::Repeat& repeat, std::int64_t alignment) {
    return alignment / std::gcd(alignment, std::abs(repeat.dst_pitch));
}

}  // namespace dnnmove
