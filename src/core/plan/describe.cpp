// The text by which a plan describes itself; docs/explain.md says what its words mean.
#include "plan/plan.hpp"

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

std::string dimension(const char* name, const TiledLoop& loop) {
    return std::string(", ") + name + " " + std::to_string(loop.extent) + " in tiles of " + std::to_string(loop.tile);
}

}  // namespace

std::string NestPlan::describe() const {
    const Counted counted = counted_by(leaf_.kind);
    std::string text = std::string("kernel ") + name_of(leaf_.kind) + ", element " + std::to_string(leaf_.itemsize) +
                       " B, stores " + name_of(stores_) + dimension(counted.a, leaf_.a) + dimension(counted.b, leaf_.b);
    if (leaf_.kind == KernelKind::gather) {
        text += ", block of " + std::to_string(leaf_.block.loop_steps) + " steps: " +
                std::to_string(leaf_.block.vectors.size()) + " vectors, " + std::to_string(leaf_.block.steps.size()) +
                " permutes";
        if (leaf_.block.network != 0) text += ", networks of " + std::to_string(1 << leaf_.block.network);
    }
    if (leaf_.turned) text += ", blocked transpose in the first-level cache";
    if (leaf_.streams != 0) text += ", " + std::to_string(leaf_.streams) + " streams";
    text += ", loops (";
    for (const OuterLoop& loop : outer_) {
        const char* tiles = loop.role == OuterLoop::Role::tile_a   ? counted.a
                            : loop.role == OuterLoop::Role::tile_b ? counted.b
                                                                   : nullptr;
        text += (&loop == &outer_.front() ? "" : ", ") + std::to_string(loop.extent);
        if (tiles != nullptr) text += std::string(" tiles of ") + tiles;
    }
    return text + "), " + std::to_string(units_) + " units, " + std::to_string(bytes_) + " bytes";
}

}  // namespace dnnmove
