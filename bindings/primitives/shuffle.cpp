// The shuffle primitives: descriptors, primitive descriptors with their implementations, executables.
#include "primitives/shuffle.hpp"

#include <algorithm>
#include <cstdlib>

#include "arguments/dtype.hpp"
#include "calls/trace.hpp"
#include "layout/transfer.hpp"
#include "onednn/onednn_errors.hpp"
#include "ops/common.hpp"
#include "primitives/plan_executable.hpp"
#include "runtime/isa.hpp"
#include "runtime/threads.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

constexpr std::int64_t kTwoGiB = std::int64_t{1} << 31;
const char* const kVariable = "DNNMOVE_IMPLEMENTATION";

class OneDnnShuffle final : public Executable {
public:
    explicit OneDnnShuffle(onednn::Shuffle shuffle) : shuffle_(std::move(shuffle)) { shuffle_.prepare(get_num_threads()); }

    void run(const std::byte* const* srcs, std::byte* const* dsts, const onednn::Stream* stream,
             trace::Call* call) const override {
        const std::int64_t bytes = destinations[0].desc.layout.size();
        const auto shuffle = [&] { shuffle_.run(stream, srcs[0], dsts[0], onednn::threads_for(bytes)); };
        if (call != nullptr) {
            call->run_foreign(2 * bytes, shuffle);
        } else {
            shuffle();
        }
    }
    std::string impl_info() const override { return "onednn:" + shuffle_.info(); }
    std::string explain() const override {
        return impl_info() + ": oneDNN " + onednn::version() + "'s own shuffle primitive, " +
               std::to_string(shuffle_.scratchpad_bytes()) + " bytes of scratch memory per call\n";
    }

private:
    onednn::Shuffle shuffle_;
};

// Where oneDNN has a shuffle primitive that is known to be wrong.
bool onednn_is_wrong(const ShuffleDesc& desc, onednn::DataType type) {
    const Layout& layout = desc.data.layout;
    // f64, up to oneDNN 3.8: success, and the output is untouched.
    if (type == onednn::DataType::f64) return true;
    // Blocked with a dimension of 0: an integer division by zero.
    if (layout.empty()) return true;
    // 32-bit offsets inside an image.
    const std::int64_t images = desc.axis == 0 ? 1 : layout.dims[0];
    return layout.blocked() && layout.size() / images >= kTwoGiB;
}

const char* name_of(onednn::PropKind prop) {
    switch (prop) {
        case onednn::PropKind::forward_training: return "forward_training";
        case onednn::PropKind::forward_inference: return "forward_inference";
        case onednn::PropKind::backward_data: return "backward_data";
    }
    return "undef";
}

}  // namespace

std::string requested_implementation(const std::string& implementation) {
    if (implementation != "auto") return implementation;
    const char* value = std::getenv(kVariable);
    if (value == nullptr || *value == '\0') return implementation;
    const std::string name(value);
    if (name != "auto" && name != "native" && name != "onednn") {
        throw ValueError(std::string(kVariable) + " ('" + name + "') must be 'auto', 'native' or 'onednn'");
    }
    return name;
}

ShuffleDesc ShuffleDesc::make(onednn::PropKind prop, const MemoryDesc& data, std::int64_t axis, std::int64_t group_size,
                              const std::string& name) {
    const Layout& layout = data.layout;
    onednn::check_rank(layout, name);
    const std::size_t position = ops::normalize_axis(axis, layout.ndim());
    const std::int64_t length = layout.dims[position];
    if (length == 0) {
        throw ValueError(ops::named(name + ".dims", position, length) + " must be at least 1: there is nothing to shuffle");
    }
    ops::shuffle(layout.dims, axis, group_size, name + ".dims");
    if (layout.self_overlaps()) {
        throw ValueError(name + " (" + data.repr() + ") must not have strides that let elements share bytes");
    }
    return ShuffleDesc{prop, data, position, group_size};
}

namespace {

// The native engine first: it is ahead of oneDNN's shuffle wherever both were measured.
std::vector<Implementations<onednn::Shuffle>::Candidate> candidates_of(const ShuffleDesc& desc, const onednn::Engine& engine) {
    std::vector<Implementations<onednn::Shuffle>::Candidate> candidates;
    candidates.push_back({native_name(best_isa()), std::nullopt});
    const onednn::DataType type = to_onednn(desc.data.dtype);
    if (onednn_is_wrong(desc, type) || !onednn::can_describe(desc.data.layout, type)) return candidates;
    for (onednn::Shuffle& shuffle : onednn::shuffles(engine, desc.prop, desc.data.layout, type, desc.axis, desc.group_size)) {
        candidates.push_back({"onednn:" + shuffle.info(), std::move(shuffle)});
    }
    return candidates;
}

}  // namespace

ShufflePd::ShufflePd(ShuffleDesc desc, const std::shared_ptr<onednn::Engine>& engine, const std::string& implementation)
    : desc_(std::move(desc)),
      engine_(engine ? engine : onednn::Engine::cpu()),
      implementations_(candidates_of(desc_, *engine_), implementation, "shuffle that is right for " + desc_.data.repr()) {}

std::int64_t ShufflePd::scratchpad_bytes() const {
    const auto& shuffle = implementations_.current().onednn;
    return shuffle ? shuffle->scratchpad_bytes() : 0;
}

std::shared_ptr<const Executable> ShufflePd::build() const {
    const Layout& layout = desc_.data.layout;
    Title title{"shuffle", name_of(desc_.prop),
                "axis:" + std::to_string(desc_.axis) + " group:" + std::to_string(desc_.group_size)};
    std::shared_ptr<Executable> executable;
    if (const auto& shuffle = implementations_.current().onednn) {
        executable = std::make_shared<OneDnnShuffle>(*shuffle);
        executable->title = std::move(title);
    } else {
        const std::int64_t group = desc_.backward() ? layout.dims[desc_.axis] / desc_.group_size : desc_.group_size;
        executable = std::make_shared<PlanExecutable>(
            std::make_shared<const CallPlan>(std::move(title), std::vector<Placement>{}, std::vector<Placement>{},
                                             shuffle_transfers(layout, desc_.axis, group), desc_.tune));
    }
    if (desc_.backward()) {
        executable->sources.push_back(Port{onednn::kArgDiffDst, "diff_dst", desc_.data});
        executable->destinations.push_back(Port{onednn::kArgDiffSrc, "diff_src", desc_.data});
    } else {
        executable->sources.push_back(Port{onednn::kArgSrc, "src", desc_.data});
        executable->destinations.push_back(Port{onednn::kArgDst, "dst", desc_.data});
    }
    executable->scratchpad = MemoryDesc::dense({scratchpad_bytes()}, py::dtype::of<std::uint8_t>());
    return executable;
}

}  // namespace dnnmove::python
