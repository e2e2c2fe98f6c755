// The text by which a plan describes itself.
#include "plan/plan.hpp"

namespace dnnmove {
namespace {

const char* name_of(KernelKind kind) {
    switch (kind) {
        case KernelKind::rows: return "rows";
        case KernelKind::runs: return "runs";
        case KernelKind::fill: return "fill";
        case KernelKind::gather: return "gather";
        case KernelKind::weave: return "weave";
        case KernelKind::deal: return "deal";
        case KernelKind::transpose: return "transpose";
        case KernelKind::transpose_lines: return "transpose_lines";
        case KernelKind::transpose_cells: return "transpose_cells";
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

std::string dimension(const char* name, const TiledLoop& loop) {
    return std::string(", ") + name + " " + std::to_string(loop.extent) + " in tiles of " + std::to_string(loop.tile);
}

}  // namespace

std::string NestPlan::describe() const {
    std::string text = std::string("kernel ") + name_of(leaf_.kind) + ", element " + std::to_string(leaf_.itemsize) +
                       " B, stores " + name_of(stores_) + dimension("a", leaf_.a) + dimension("b", leaf_.b);
    if (leaf_.kind == KernelKind::gather) {
        text += ", block of " + std::to_string(leaf_.block.loop_steps) + " steps: " +
                std::to_string(leaf_.block.vectors.size()) + " vectors, " + std::to_string(leaf_.block.steps.size()) +
                " permutes";
        if (leaf_.block.network != 0) text += ", networks of " + std::to_string(1 << leaf_.block.network);
    }
    if (leaf_.turned) text += ", turned in the cache";
    if (leaf_.streams != 0) text += ", " + std::to_string(leaf_.streams) + " streams";
    text += ", loops (";
    for (const OuterLoop& loop : outer_) {
        const char* role = loop.role == OuterLoop::Role::tile_a ? "a " : loop.role == OuterLoop::Role::tile_b ? "b " : "";
        text += (&loop == &outer_.front() ? "" : ", ") + std::string(role) + std::to_string(loop.extent);
    }
    return text + "), " + std::to_string(units_) + " units, " + std::to_string(bytes_) + " bytes";
}

}  // namespace dnnmove
