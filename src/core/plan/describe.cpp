// The text by which a plan describes itself; docs/explain.md says what its words mean.
#include "plan/plan.hpp"

#include <utility>

namespace dnnmove {
namespace {

const char* name_of(StoreMode stores) {
    switch (stores) {
        case StoreMode::cached: return "cached";
        case StoreMode::nontemporal: return "non-temporal";
        case StoreMode::staged: return "staged non-temporal";
    }
    return "unknown";
}

}  // namespace

KernelSummary NestPlan::summary() const {
    const StrategyWords words = strategy_->describe();
    KernelSummary summary{words.kernel, strategy_->itemsize, name_of(stores_), {}, {}, words.remark, units(), bytes_};
    for (const auto& [counts, loop] : {std::pair{words.a, &strategy_->a}, std::pair{words.b, &strategy_->b}}) {
        summary.dimensions.push_back({counts, loop->extent, loop->tile, loop->src_stride, loop->dst_stride});
    }
    for (const OuterLoop& loop : walk_.loops) {
        const char* tiles = loop.role == OuterLoop::Role::tile_a   ? words.a
                            : loop.role == OuterLoop::Role::tile_b ? words.b
                                                                   : "";
        summary.loops.push_back({loop.extent, loop.src_step, loop.dst_step, loop.table != nullptr, tiles});
    }
    return summary;
}

std::string NestPlan::describe() const {
    const KernelSummary summary = this->summary();
    std::string text = "kernel " + summary.kernel + ", element " + std::to_string(summary.element) + " B, stores " +
                       summary.stores;
    for (const KernelSummary::Dimension& dimension : summary.dimensions) {
        text += ", " + dimension.counts + " " + std::to_string(dimension.extent) + " in tiles of " +
                std::to_string(dimension.tile);
    }
    if (!summary.remark.empty()) text += ", " + summary.remark;
    text += ", loops (";
    for (const KernelSummary::Around& loop : summary.loops) {
        text += (&loop == &summary.loops.front() ? "" : ", ") + std::to_string(loop.extent);
        if (!loop.tiles_of.empty()) text += " tiles of " + loop.tiles_of;
    }
    return text + "), " + std::to_string(summary.units) + " units, " + std::to_string(summary.bytes) + " bytes";
}

}  // namespace dnnmove
