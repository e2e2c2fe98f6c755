// The text by which a plan describes itself; docs/explain.md says what its words mean.
#include "plan/plan.hpp"

#include <utility>

namespace dnnmove {
namespace {

const char* name_of(KernelKind kind) {
    switch (kind) {
        case KernelKind::rows: return "rows";
        case KernelKind::runs: return "strided elements";
        case KernelKind::fill: return "fill";
        case KernelKind::gather: return "gather";
        case KernelKind::weave: return "interleave";
        case KernelKind::deal: return "deinterleave";
        case KernelKind::transpose: return "transpose";
        case KernelKind::transpose_lines: return "transpose by whole lines";
        case KernelKind::transpose_cells: return "transpose of strided elements";
        case KernelKind::transpose_rows: return "transpose of rows";
    }
    return "unknown";
}

const char* name_of(StoreMode stores) {
    switch (stores) {
        case StoreMode::cached: return "cached";
        case StoreMode::nontemporal: return "non-temporal";
        case StoreMode::staged: return "staged non-temporal";
    }
    return "unknown";
}

// What the two dimensions of a kernel count.
struct Counted {
    const char* a;
    const char* b;
};

Counted counted_by(KernelKind kind) {
    switch (kind) {
        case KernelKind::rows: return {"row bytes", "rows"};
        case KernelKind::gather: return {"blocks", "rows"};
        case KernelKind::runs:
        case KernelKind::fill:
        case KernelKind::weave:
        case KernelKind::deal: return {"elements", "rows"};
        default: return {"destination rows", "source rows"};
    }
}

std::string remark_on(const Leaf& leaf) {
    std::string text;
    if (leaf.kind == KernelKind::gather) {
        text += ", block of " + std::to_string(leaf.block.loop_steps) + " steps: " +
                std::to_string(leaf.block.vectors.size()) + " vectors, " + std::to_string(leaf.block.steps.size()) +
                " permutes";
        if (leaf.block.network != 0) text += ", networks of " + std::to_string(1 << leaf.block.network);
    }
    if (leaf.turned) text += ", blocked transpose in the first-level cache";
    if (leaf.b_group != 0) text += ", source rows in groups of " + std::to_string(leaf.b_group);
    if (leaf.streams != 0) text += ", " + std::to_string(leaf.streams) + " streams";
    return text.empty() ? text : text.substr(2);
}

}  // namespace

KernelSummary NestPlan::summary() const {
    const Counted counted = counted_by(leaf_.kind);
    KernelSummary summary{name_of(leaf_.kind), leaf_.itemsize, name_of(stores_), {}, {}, remark_on(leaf_), units_, bytes_};
    for (const auto& [counts, loop] : {std::pair{counted.a, &leaf_.a}, std::pair{counted.b, &leaf_.b}}) {
        summary.dimensions.push_back({counts, loop->extent, loop->tile, loop->src_stride, loop->dst_stride});
    }
    for (const OuterLoop& loop : outer_) {
        const char* tiles = loop.role == OuterLoop::Role::tile_a   ? counted.a
                            : loop.role == OuterLoop::Role::tile_b ? counted.b
                                                                   : "";
        summary.loops.push_back({loop.extent, loop.src_step, loop.dst_step, loop.table != nullptr, tiles});
    }
    return summary;
}

std::string NestPlan::describe() const {
    const KernelSummary summary = this->summary();
    std::string text = "kernel " + summary.kernel + ", element " + std::to_string(summary.element) + " B, stores " + summary.stores;
    for (const KernelSummary::Dimension& dimension : summary.dimensions) {
        text += ", " + dimension.counts + " " + std::to_string(dimension.extent) + " in tiles of " + std::to_string(dimension.tile);
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
