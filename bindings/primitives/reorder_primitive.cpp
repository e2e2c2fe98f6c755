// Reorder as a primitive: descriptor, primitive descriptor with its implementations, executable.
#include "primitives/reorder_primitive.hpp"

#include "arguments/dtype.hpp"
#include "calls/element_type.hpp"
#include "calls/trace.hpp"
#include "chain/finish.hpp"
#include "layout/transfer.hpp"
#include "ops/common.hpp"
#include "primitives/plan_executable.hpp"
#include "runtime/isa.hpp"
#include "runtime/threads.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

class OneDnnReorder final : public Executable {
public:
    OneDnnReorder(onednn::Reorder reorder, std::vector<float> scales)
        : reorder_(std::move(reorder)), scales_(std::move(scales)) {
        reorder_.prepare(get_num_threads());
    }

    void run(const std::byte* const* srcs, std::byte* const* dsts, const onednn::Stream* stream,
             trace::Call* call) const override {
        const std::int64_t bytes = destinations[0].desc.layout.size();
        const auto reorder = [&] { reorder_.run(stream, srcs[0], dsts[0], scales_, onednn::threads_for(bytes)); };
        if (call != nullptr) {
            call->run_foreign(sources[0].desc.layout.size() + bytes, reorder);
        } else {
            reorder();
        }
    }
    std::string impl_info() const override { return "onednn:" + reorder_.info(); }
    std::string explain() const override {
        return impl_info() + ": oneDNN " + onednn::version() + "'s own reorder primitive, " +
               std::to_string(reorder_.scratchpad_bytes()) + " bytes of scratch memory per call\n";
    }

private:
    onednn::Reorder reorder_;
    std::vector<float> scales_;
};

std::vector<Implementations<onednn::Reorder>::Candidate> candidates_of(const ReorderDesc& desc, const onednn::Engine& engine) {
    std::vector<Implementations<onednn::Reorder>::Candidate> candidates;
    candidates.push_back({native_name(best_isa()), std::nullopt});
    const onednn::DataType from = to_onednn(desc.src.dtype);
    const onednn::DataType to = to_onednn(desc.dst.dtype);
    const Layout& src = desc.src.layout;
    const Layout& dst = desc.dst.layout;
    if (dst.empty() || !onednn::can_describe(src, from) || !onednn::can_describe(dst, to)) return candidates;
    const std::optional<int> mask = desc.scaled() ? std::optional(desc.scaled_along_axis() ? 1 << desc.axis : 0) : std::nullopt;
    for (onednn::Reorder& reorder : onednn::reorders(engine, src, from, dst, to, mask)) {
        candidates.push_back({"onednn:" + reorder.info(), std::move(reorder)});
    }
    return candidates;
}

}  // namespace

ReorderDesc ReorderDesc::make(const MemoryDesc& src, const MemoryDesc& dst, chain::Factor scales, std::int64_t axis) {
    onednn::check_rank(src.layout, "src_desc");
    onednn::check_rank(dst.layout, "dst_desc");
    const Dims& dims = src.layout.dims;
    if (dst.layout.dims != dims) {
        throw ValueError("dst_desc has dims " + to_string(dst.layout.dims) + " but must have src_desc's " + to_string(dims));
    }
    if (dst.layout.self_overlaps()) {
        throw ValueError("dst_desc (" + dst.repr() + ") must not have strides that let elements share bytes");
    }
    ReorderDesc desc{src, dst, std::move(scales), 0};
    if (desc.scaled() || !src.dtype.equal(dst.dtype)) {
        number_of(src.dtype, "src_desc.dtype");
        number_of(dst.dtype, "dst_desc.dtype");
    }
    if (const auto* several = std::get_if<chain::Floats>(&desc.scales)) {
        desc.axis = ops::normalize_axis(axis, dims.size());
        if (static_cast<std::int64_t>(several->size()) != dims[desc.axis]) {
            throw ValueError("scales has " + std::to_string(several->size()) + (several->size() == 1 ? " number" : " numbers") +
                             ", but must have as many as " + ops::named("src_desc.dims", desc.axis, dims[desc.axis]));
        }
    }
    return desc;
}

ReorderPd::ReorderPd(ReorderDesc desc, const std::shared_ptr<onednn::Engine>& engine, const std::string& implementation)
    : desc_(std::move(desc)),
      engine_(engine ? engine : onednn::Engine::cpu()),
      implementations_(candidates_of(desc_, *engine_), implementation,
                       "reorder from " + desc_.src.repr() + " to " + desc_.dst.repr()) {}

std::int64_t ReorderPd::scratchpad_bytes() const {
    const auto& reorder = implementations_.current().onednn;
    return reorder ? reorder->scratchpad_bytes() : 0;
}

std::shared_ptr<const Executable> ReorderPd::build() const {
    Title title{"reorder", "undef",
                desc_.scaled() ? "attr-scales:src:" + std::to_string(desc_.scaled_along_axis() ? 1 << desc_.axis : 0) : ""};
    std::shared_ptr<Executable> executable;
    if (const auto& reorder = implementations_.current().onednn) {
        std::vector<float> scales;
        if (const auto* one = std::get_if<float>(&desc_.scales)) scales = {*one};
        if (const auto* several = std::get_if<chain::Floats>(&desc_.scales)) scales = *several;
        executable = std::make_shared<OneDnnReorder>(*reorder, std::move(scales));
        executable->title = std::move(title);
    } else {
        chain::Finish finish;
        if (desc_.scaled() || !desc_.src.dtype.equal(desc_.dst.dtype)) {
            const chain::Conversion conversion{number_of(desc_.src.dtype, "src_desc.dtype"),
                                               number_of(desc_.dst.dtype, "dst_desc.dtype"),
                                               desc_.scales,
                                               {},
                                               static_cast<std::int64_t>(desc_.axis)};
            finish = chain::finish_of(nullptr, &conversion, desc_.dst.layout.ndim(), desc_.src.layout.itemsize);
        }
        executable = std::make_shared<PlanExecutable>(
            std::make_shared<const CallPlan>(std::move(title), std::vector<Placement>{}, std::vector<Placement>{},
                                             reorder_transfers(desc_.src.layout, desc_.dst.layout, finish.sink, finish.axis)));
    }
    executable->sources.push_back(Port{onednn::kArgSrc, "src", desc_.src});
    executable->destinations.push_back(Port{onednn::kArgDst, "dst", desc_.dst});
    executable->scratchpad = MemoryDesc::dense({scratchpad_bytes()}, py::dtype::of<std::uint8_t>());
    return executable;
}

}  // namespace dnnmove::python
