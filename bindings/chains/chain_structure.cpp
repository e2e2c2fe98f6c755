// A built chain as plain Python values, for the package's drawings and tables.
#include "chains/chain_structure.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <utility>

#include "chains/built_chain.hpp"
#include "plan/summary.hpp"
#include "python/integers.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

using namespace py::literals;

constexpr std::size_t kShown = 12;  // outputs, and copies of a pass

// The array that a step left, of which branch `branch` after step `step` is the same: a step passes by what it is not
// applied to.
py::object arrival(const chain::Chain& chain, std::size_t step, std::size_t branch) {
    for (; step > 0; --step) {
        const chain::Level& level = *chain.levels()[step];
        if (level.begins[level.taken.begin] <= branch && branch < level.begins[level.taken.end]) break;
        branch = static_cast<std::size_t>(std::upper_bound(level.begins.begin(), level.begins.end(), branch) -
                                          level.begins.begin()) -
                 1;
    }
    return py::make_tuple(step, branch);
}

// The same of what a step was applied to.
py::object parent(const chain::Chain& chain, std::size_t step, std::size_t branch) {
    if (step == 0) return py::none();
    const auto& begins = chain.levels()[step]->begins;
    return arrival(chain, step - 1,
                   static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), branch) - begins.begin()) - 1);
}

py::object to_python(const chain::Note& note) {
    py::list axes;
    for (const auto& axis : note.axes) {
        py::list loops;
        for (const chain::Note::Run& run : axis) {
            loops.append(py::make_tuple(run.extent, run.stride ? py::object(py::int_(*run.stride)) : py::object(py::none()),
                                        run.sources));
        }
        axes.append(loops);
    }
    return py::dict("first"_a = note.first, "last"_a = note.last, "shape"_a = to_tuple(note.shape), "axes"_a = axes,
                    "blocks"_a = note.blocks, "offset"_a = note.offset, "lies"_a = note.lies, "remark"_a = note.remark,
                    "source"_a = note.source, "written"_a = note.written);
}

py::list levels_of(const BuiltChain& built) {
    const chain::Chain& chain = built.chain();
    const chain::Folded folded = chain::fold(chain, built.max_nests(), true);
    py::list levels;
    for (std::size_t step = 0; step < folded.steps.size(); ++step) {
        const chain::StepTrace& trace = folded.steps[step];
        py::list notes;
        for (const chain::Note& note : trace.notes) {
            py::object said = to_python(note);
            said["parent"] = parent(chain, step, note.first);
            notes.append(said);
        }
        levels.append(py::dict("text"_a = trace.heading, "outputs"_a = chain.levels()[step]->shapes.size(), "notes"_a = notes,
                               "more"_a = trace.more));
    }
    return levels;
}

py::object to_python(const KernelSummary& kernel) {
    py::list dimensions;
    for (const KernelSummary::Dimension& each : kernel.dimensions) {
        dimensions.append(py::dict("counts"_a = each.counts, "extent"_a = each.extent, "tile"_a = each.tile,
                                   "read"_a = each.src_stride, "write"_a = each.dst_stride));
    }
    py::list loops;
    for (const KernelSummary::Around& each : kernel.loops) {
        py::dict loop("extent"_a = each.extent, "tiles_of"_a = each.tiles_of, "read"_a = each.src_step,
                      "write"_a = each.dst_step);
        if (each.table) loop["read"] = py::none();
        loops.append(loop);
    }
    return py::dict("name"_a = kernel.kernel, "element"_a = kernel.element, "stores"_a = kernel.stores,
                    "dimensions"_a = dimensions, "loops"_a = loops, "remark"_a = kernel.remark, "units"_a = kernel.units,
                    "bytes"_a = kernel.bytes);
}

py::list passes_of(const BuiltChain& built) {
    const chain::Folded& folded = built.folded();
    py::list passes;
    for (const ProgramSummary& pass : built.summaries(kShown)) {
        py::list copies;
        for (const CopySummary& copy : pass.copies) {
            // As notes number them: the chain's sources are one.
            const int source = copy.src < folded.sources ? std::min(copy.src, 0) : copy.src - folded.sources + 1;
            copies.append(py::dict("source"_a = source, "input"_a = copy.src, "sources"_a = copy.sources,
                                   "destination"_a = copy.dst, "text"_a = copy.text,
                                   "kernel"_a = copy.kernel ? to_python(*copy.kernel) : py::none()));
        }
        passes.append(py::dict("implementation"_a = pass.implementation, "bytes"_a = pass.bytes, "nests"_a = pass.nests,
                               "copies"_a = copies));
    }
    return passes;
}

}  // namespace

py::dict structure_of(const BuiltChain& built) {
    const chain::Folded& folded = built.folded();
    const MemoryDesc& source = built.sources.front().desc;
    py::list sources;
    sources.append(py::dict("shape"_a = to_tuple(source.layout.dims), "strides"_a = to_tuple(source.layout.strides)));
    for (const chain::Written& written : folded.intermediates) {
        const Dims& shape = written.mosaic.shape();
        sources.append(
            py::dict("shape"_a = to_tuple(shape), "strides"_a = to_tuple(dense_strides(shape, source.layout.itemsize))));
    }
    py::list outputs;
    for (std::size_t i = 0; i < std::min(kShown, folded.outputs.size()); ++i) {
        const chain::Written& output = folded.outputs[i];
        const std::vector<Nest> nests = output.mosaic.dense_nests();
        outputs.append(py::dict("shape"_a = to_tuple(output.mosaic.shape()), "pass"_a = output.pass, "copies"_a = nests.size(),
                                "plain"_a = chain::is_plain_copy(nests),
                                "parent"_a = arrival(built.chain(), output.step, output.branch)));
    }
    return py::dict("source"_a = py::cast(source), "sources"_a = sources, "splits"_a = built.splits(),
                    "levels"_a = levels_of(built), "outputs"_a = outputs, "output_count"_a = folded.outputs.size(),
                    "passes"_a = passes_of(built));
}

}  // namespace dnnmove::python
