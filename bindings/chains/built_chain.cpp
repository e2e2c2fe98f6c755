// A built chain: checks the arrays of a call, then runs the passes one after another.
#include "chains/built_chain.hpp"

#include <algorithm>
#include <new>

#include "arguments/dtype.hpp"
#include "array/overlap.hpp"
#include "calls/planned_call.hpp"
#include "chains/chain.hpp"
#include "python/errors.hpp"
#include "runtime/threads.hpp"
#include "tensors/memory.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

constexpr std::size_t kStridedPlans = 32;      // kept per chain
constexpr std::size_t kResizedChains = 16;     // kept per chain
constexpr std::int64_t kAlignment = 64;        // bytes, of every intermediate
constexpr std::int64_t kKeptBytes = 64 << 20;  // a larger scratch block is given back after the call

// Strides of axes that take no step do not matter.
bool same_strides(std::span<const std::int64_t> shape, std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] > 1 && a[axis] != b[axis]) return false;
    }
    return true;
}

}  // namespace

BuiltChain::BuiltChain(const chain::Chain& chain, std::vector<MemoryDesc> srcs, std::size_t max_nests, bool tune)
    : chain_(chain),
      max_nests_(max_nests),
      splits_(chain.splits()),
      tune_(tune),
      folded_(chain::fold(chain, max_nests)),
      strided_(kStridedPlans),
      resized_(kResizedChains) {
    const MemoryDesc src = srcs.front();
    for (MemoryDesc& desc : srcs) {
        const auto i = static_cast<int>(sources.size());
        sources.push_back(chain.joins() ? Port{onednn::kArgMultipleSrc + i, "src[" + std::to_string(i) + "]", std::move(desc)}
                                        : Port{onednn::kArgSrc, "src", std::move(desc)});
    }
    const std::vector<Dims>& outputs = chain.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        MemoryDesc desc = output_desc(src, chain, i);
        if (chain.changes_elements()) types_.push_back(ResultType::of(PyRef::share(desc.dtype.ptr())));
        destinations.push_back(
            splits_ ? Port{onednn::kArgMultipleDst + static_cast<int>(i), "dst[" + std::to_string(i) + "]", std::move(desc)}
                    : Port{onednn::kArgDst, "dst", std::move(desc)});
    }
    for (const chain::Written& written : folded_.intermediates) {
        places_.push_back(scratch_bytes_);
        scratch_bytes_ += (written.mosaic.bytes() + kAlignment - 1) / kAlignment * kAlignment;
    }
    title.name = "chain";
    for (const auto& step : chain.steps()) title.auxiliary += (title.auxiliary.empty() ? "steps:" : "+") + step->name();
    row_major_ = make_plans({});
    for (const auto& plan : *row_major_) bytes_ += plan->bytes();
}

Title BuiltChain::title_of(std::size_t pass) const {
    const std::string place = std::to_string(pass + 1) + "/" + std::to_string(folded_.passes);
    return {title.name, title.prop_kind, "pass:" + place + " " + title.auxiliary};
}

std::shared_ptr<const BuiltChain::Plans> BuiltChain::make_plans(const std::vector<Dims>& strides) const {
    const Layout& source = sources.front().desc.layout;
    std::vector<Placement> inputs;
    for (const Port& port : sources) inputs.push_back(place(port.desc.layout.dims, port.desc.layout.strides, source.itemsize));
    std::vector<Placement> outputs;
    for (std::size_t i = 0; i < destinations.size(); ++i) {
        const Layout& layout = destinations[i].desc.layout;
        outputs.push_back(place(layout.dims, strides.empty() ? layout.strides : strides[i], layout.itemsize));
    }
    for (const chain::Written& written : folded_.intermediates) {
        const Dims& shape = written.mosaic.shape();
        inputs.push_back(place(shape, dense_strides(shape, source.itemsize), source.itemsize));
        outputs.push_back(inputs.back());
    }
    auto plans = std::make_shared<Plans>();
    for (std::size_t pass = 0; pass < folded_.passes; ++pass) {
        plans->push_back(
            std::make_unique<const CallPlan>(title_of(pass), inputs, outputs, folded_.transfers(pass, strides), tune_));
    }
    return plans;
}

std::shared_ptr<const BuiltChain::Plans> BuiltChain::plans_for(const Operand* outs, std::size_t count) const {
    const auto out_name = [this](std::size_t i) { return splits_ ? "out[" + std::to_string(i) + "]" : std::string("out"); };
    bool row_major = true;
    for (std::size_t i = 0; i < count; ++i) {
        const Layout& layout = destinations[i].desc.layout;
        const Operand& out = outs[i];
        if (out.blocked()) {
            throw ValueError(out_name(i) + " is " + out.memory()->desc.repr() + " but must have a plain layout");
        }
        if (!std::equal(out.shape().begin(), out.shape().end(), layout.dims.begin(), layout.dims.end())) {
            throw ValueError(out_name(i) + ".shape " + to_string(to_dims(out.shape())) + " must equal the result's, " +
                             to_string(layout.dims));
        }
        row_major = row_major && same_strides(layout.dims, out.strides(), layout.strides);
    }
    if (row_major) return row_major_;

    std::vector<Dims> strides;
    for (std::size_t i = 0; i < count; ++i) strides.push_back(to_dims(outs[i].strides()));
    if (auto known = strided_.find(strides)) return known;
    for (std::size_t i = 0; i < count; ++i) {
        if (!overlaps_itself(outs[i].shape(), outs[i].strides(), outs[i].itemsize())) continue;
        throw ValueError(out_name(i) + " has elements that share memory (strides " + to_string(strides[i]) +
                         " bytes of shape " + to_string(to_dims(outs[i].shape())) + "): it cannot be written");
    }
    auto made = make_plans(strides);
    return strided_.insert(std::move(strides), std::move(made));
}

// A call of the chain as run_call runs it; the arrays are checked.
template <class In, class Out>
class BuiltChain::Call {
public:
    Call(const BuiltChain& built, const Plans& plans, CallArrays<In, Out>& arrays) noexcept
        : built_(built), plans_(plans), arrays_(arrays) {}
    std::int64_t bytes() const noexcept { return built_.bytes_; }
    bool tunes(std::byte* const* dsts) const noexcept { return built_.tunes(plans_, dsts, threads_); }
    void copy(const std::byte* const* srcs, std::byte* const* dsts, trace::Call* call) const {
        built_.run_plans(plans_, srcs, dsts, threads_, call);
    }
    trace::Call watch() const {
        trace::Call call(built_.title, built_.impl_info(), built_.passes());
        for (std::size_t i = 0; i < arrays_.inputs.size(); ++i) call.add_source(arrays_.inputs[i]);
        for (std::size_t i = 0; i < built_.destinations.size(); ++i) {
            const Placement& placed = plans_.front()->outputs()[i];
            call.add_destination(placed.shape, placed.strides, built_.type(i));
        }
        return call;
    }
    void check_overlap() const { dnnmove::check_overlap(arrays_, plans_.front()->inputs(), plans_.front()->outputs()); }
    bool make(NewArray& result, std::size_t i) const {
        const ResultType* const type = built_.type(i);
        if (type != nullptr) check_result_type(*type, arrays_.inputs[0]);
        return result.make(arrays_.inputs[0], built_.destinations[i].desc.layout.dims, {}, type);
    }
    void fetch_again(std::size_t i) const {
        const ArgumentName name = arrays_.in.name_at(i);
        arrays_.inputs[i].fetch(name, true);
        if (!built_.takes(arrays_.inputs[i], i)) built_.refuse(arrays_.inputs[i], name.text(), i);
    }

private:
    const BuiltChain& built_;
    const Plans& plans_;
    CallArrays<In, Out>& arrays_;
    int threads_ = get_num_threads();
};

template <class In, class Out>
PyRef BuiltChain::call_on(const In& x, const Out& out) const {
    CallArrays<In, Out> arrays(x, out);
    std::shared_ptr<const BuiltChain> other;  // for another leading extent
    if (!takes(arrays.inputs.data())) {
        other = for_sources(arrays.inputs.data(), [&](std::size_t i) { return arrays.in.name_at(i).text(); });
    }
    const BuiltChain& built = other ? *other : *this;
    if (!arrays.into()) return run_call(Call<In, Out>(built, *built.row_major_, arrays), arrays, destinations.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        check_output(arrays.outs[i], arrays.inputs[0], i, out.name_at(i), x.name_at(0));
    }
    const auto plans = built.plans_for(arrays.outs.data(), out.size());
    return run_call(Call<In, Out>(built, *plans, arrays), arrays, destinations.size());
}

PyRef BuiltChain::call(PyObject* x, PyObject* out) const {
    out = none_is_null(out);
    PyRef xs, outs;
    if (chain_.joins()) xs = list_of_arrays(x, "x", sources.size(), "source");
    if (splits_ && out != nullptr) outs = list_of_arrays(out, "out", destinations.size(), "branch");
    const OneArray one_in{"x", x};
    const OneArray one_out{"out", out};
    const ManyArrays many_in{"x", xs.get()};
    const ManyArrays many_out{"out", outs.get()};
    if (chain_.joins()) return splits_ ? call_on(many_in, many_out) : call_on(many_in, one_out);
    return splits_ ? call_on(one_in, many_out) : call_on(one_in, one_out);
}

void BuiltChain::check_output(const Operand& out, const Operand& x, std::size_t output, const ArgumentName& name,
                              const ArgumentName& x_name) const {
    if (const ResultType* const own = type(output)) return check_out(out, *own, name);
    check_out(out, x, name, x_name);
}

void BuiltChain::FreeScratch::operator()(std::byte* block) const noexcept {
    ::operator delete(block, std::align_val_t{kAlignment});
}

BuiltChain::Scratch BuiltChain::take_scratch() const {
    if (scratch_bytes_ == 0) return nullptr;
    if (std::byte* kept = spare_.exchange(nullptr)) return Scratch(kept);
    return Scratch(
        static_cast<std::byte*>(::operator new(static_cast<std::size_t>(scratch_bytes_), std::align_val_t{kAlignment})));
}

void BuiltChain::give_back(Scratch block) const noexcept {
    if (block != nullptr && scratch_bytes_ <= kKeptBytes) Scratch(spare_.exchange(block.release()));
}

BuiltChain::~BuiltChain() { Scratch(spare_.exchange(nullptr)); }

void BuiltChain::run_plans(const Plans& plans, const std::byte* const* srcs, std::byte* const* dsts, int threads,
                           trace::Call* call) const {
    const auto run = [&](const CallPlan& plan, const std::byte* const* from, std::byte* const* to, std::size_t count) {
        PlanWork work(plan, count, threads);
        if (work.bytes() > 0) work.copy(from, to, call);
    };
    if (places_.empty()) {
        for (const auto& plan : plans) run(*plan, srcs, dsts, destinations.size());
        return;
    }
    Scratch scratch = take_scratch();
    std::vector<const std::byte*> from(srcs, srcs + sources.size());
    std::vector<std::byte*> to(dsts, dsts + destinations.size());
    for (const std::int64_t place : places_) {
        from.push_back(scratch.get() + place);
        to.push_back(scratch.get() + place);
    }
    for (const auto& plan : plans) run(*plan, from.data(), to.data(), to.size());
    give_back(std::move(scratch));
}

void BuiltChain::run(const std::byte* const* srcs, std::byte* const* dsts, const onednn::Stream*, trace::Call* call) const {
    run_plans(*row_major_, srcs, dsts, get_num_threads(), call);
}

bool BuiltChain::tunes(const Plans& plans, std::byte* const* dsts, int threads) const noexcept {
    // The intermediates, where there are any, have the best alignment.
    const auto measures = [&](const auto& plan) { return plan->tunes(dsts, destinations.size(), threads); };
    return tune_ && std::any_of(plans.begin(), plans.end(), measures);
}

bool BuiltChain::tunes(std::byte* const* dsts) const noexcept { return tunes(*row_major_, dsts, get_num_threads()); }

std::string BuiltChain::impl_info() const { return row_major_->front()->impl_info(); }

std::vector<ProgramSummary> BuiltChain::summaries(std::size_t most) const {
    std::vector<ProgramSummary> all;
    for (const auto& plan : *row_major_) all.push_back(plan->summary(get_num_threads(), most));
    return all;
}

std::string BuiltChain::explain() const {
    const std::size_t steps = chain_.steps().size();
    const std::size_t others = sources.size() - 1;
    std::string text =
        "chain of " + std::to_string(steps) + (steps == 1 ? " step" : " steps") + " on " + sources.front().desc.repr() +
        (others == 0   ? ""
         : others == 1 ? " and another source"
                       : " and " + std::to_string(others) + " more sources") +
        ": " + std::to_string(folded_.passes) + (folded_.passes == 1 ? " pass\n" : " passes\n") +
        "shape: [length@stride of each axis, in bytes of what is read]; an axis of several such loops counts through "
        "them, the last one fastest\n" +
        chain::fold(chain_, max_nests_, true).trace();
    const int threads = get_num_threads();
    for (std::size_t pass = 0; pass < row_major_->size(); ++pass) {
        text += "pass " + std::to_string(pass + 1) + ", " + (*row_major_)[pass]->explain(threads);
    }
    return text;
}

}  // namespace dnnmove::python
