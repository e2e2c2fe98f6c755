// A built chain: checks the arrays of a call, then runs the passes one after another.
#include "chains/built_chain.hpp"

#include <algorithm>
#include <new>

#include "arguments/dtype.hpp"
#include "calls/trace.hpp"
#include "chains/chain.hpp"
#include "python/errors.hpp"
#include "python/gil.hpp"
#include "runtime/threads.hpp"
#include "tensors/memory.hpp"
#include "view/overlap.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

constexpr std::size_t kStridedPlans = 32;      // kept per chain
constexpr std::size_t kResizedChains = 16;     // kept per chain
constexpr std::int64_t kAlignment = 64;        // bytes, of every intermediate
constexpr std::int64_t kKeptBytes = 64 << 20;  // a larger scratch block is given back after the call

Dims list(std::span<const std::int64_t> span) { return {span.begin(), span.end()}; }

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
    for (const ResultType& each : types_) type_list_.push_back(&each);
    for (const chain::Written& written : folded_.intermediates) {
        places_.push_back(scratch_bytes_);
        scratch_bytes_ += (written.mosaic.bytes() + kAlignment - 1) / kAlignment * kAlignment;
    }
    title.name = "chain";
    for (const auto& step : chain.steps()) title.auxiliary += (title.auxiliary.empty() ? "steps:" : "+") + step->name();
    row_major_ = make_plans({});
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
            throw ValueError(out_name(i) + ".shape " + to_string(list(out.shape())) + " must equal the result's, " +
                             to_string(layout.dims));
        }
        row_major = row_major && same_strides(layout.dims, out.strides(), layout.strides);
    }
    if (row_major) return row_major_;

    std::vector<Dims> strides;
    for (std::size_t i = 0; i < count; ++i) strides.push_back(list(outs[i].strides()));
    if (auto known = strided_.find(strides)) return known;
    for (std::size_t i = 0; i < count; ++i) {
        if (!overlaps_itself(outs[i].shape(), outs[i].strides(), outs[i].itemsize())) continue;
        throw ValueError(out_name(i) + " has elements that share memory (strides " + to_string(strides[i]) +
                         " bytes of shape " + to_string(list(outs[i].shape())) + "): it cannot be written");
    }
    auto made = make_plans(strides);
    return strided_.insert(std::move(strides), std::move(made));
}

PyRef BuiltChain::call(PyObject* x_object, PyObject* out_object) const {
    if (chain_.joins()) return call_joined(x_object, out_object);
    Operand x;
    if (out_object == nullptr || out_object == Py_None) {
        x.read(x_object, "x");
        const auto other = for_source(x, "x");
        return (other ? *other : *this).call_new(x);
    }
    if (!splits_) {
        Operands out(1);
        x.open(x_object, "x", Access::read_out);
        const bool again = out[0].open(out_object, "out", Access::write);
        x.fetch("x", again);
        out[0].fetch("out", false);
        const auto other = for_source(x, "x");
        check_output(out[0], x, 0, "out");
        return (other ? *other : *this).call_into(x, out);
    }
    if (!PyTuple_Check(out_object) && !PyList_Check(out_object)) {
        throw TypeError("out must be a list or tuple of arrays, not " + type_name(out_object));
    }
    const PyRef items = checked(PySequence_Tuple(out_object));
    Operands outs(static_cast<std::size_t>(PyTuple_GET_SIZE(items.get())));
    if (outs.size() != destinations.size()) {
        throw ValueError("out must hold " + std::to_string(destinations.size()) + " arrays, one per branch, but holds " +
                         std::to_string(outs.size()));
    }
    x.open(x_object, "x", Access::read_out);
    const bool again = outs.open(items.get(), "out", Access::write);
    x.fetch("x", again);
    outs.fetch("out", again);
    const auto other = for_source(x, "x");
    for (std::size_t i = 0; i < outs.size(); ++i) check_output(outs[i], x, i, {"out", i});
    return outs.size() == 0 ? items : (other ? *other : *this).call_into(x, outs);
}

PyRef BuiltChain::call_new(Operand& x) const {
    const int threads = get_num_threads();
    if (folded_.passes > 1) return call_staged(*row_major_, &x, nullptr, threads);
    const CallPlan& plan = *row_major_->front();
    for (const ResultType& each : types_) check_result_type(each, x);
    return splits_ ? run_split(plan, x, nullptr, "x", threads, types()) : run_single(plan, x, nullptr, "x", threads, type(0));
}

PyRef BuiltChain::call_into(Operand& x, const Operands& outs) const {
    const int threads = get_num_threads();
    const auto plans = plans_for(&outs[0], outs.size());
    if (folded_.passes > 1) return call_staged(*plans, &x, &outs[0], threads);
    return splits_ ? run_split(*plans->front(), x, &outs, "x", threads, types())
                   : run_single(*plans->front(), x, &outs[0], "x", threads, type(0));
}

void BuiltChain::check_output(const Operand& out, const Operand& x, std::size_t output, const ArgumentName& name,
                              const ArgumentName& x_name) const {
    if (const ResultType* const own = type(output)) return check_out(out, *own, name);
    check_out(out, x, name, x_name);
}

PyRef BuiltChain::call_staged(const Plans& plans, Operand* xs, const Operand* outs, int threads) const {
    const std::size_t count = destinations.size();
    Operand& x = xs[0];
    std::vector<std::byte*> dsts(count);
    std::vector<NewArray> results(outs == nullptr ? count : 0);
    if (outs != nullptr) check_overlap(*plans.front(), xs, sources.size(), "x", outs, count);
    bool ran_python = false;
    for (const ResultType& each : types_) check_result_type(each, x);
    for (std::size_t i = 0; i < count; ++i) {
        if (outs == nullptr) {
            ran_python = results[i].make(x, destinations[i].desc.layout.dims, {}, type(i)) || ran_python;
            dsts[i] = results[i].data();
        } else {
            dsts[i] = outs[i].data();
        }
    }
    std::vector<const std::byte*> srcs(sources.size());
    for (std::size_t i = 0; i < srcs.size(); ++i) {
        if (ran_python) {
            xs[i].fetch(source_name(i), true);
            if (!takes(xs[i], i)) refuse(xs[i], source_name(i).text(), i);
        }
        srcs[i] = xs[i].data();
    }
    std::optional<trace::Call> call;
    if (trace::on()) {
        call.emplace(title, impl_info(), passes());
        for (std::size_t i = 0; i < srcs.size(); ++i) call->add_source(xs[i]);
        const std::vector<Placement>& outputs = plans.front()->outputs();
        for (std::size_t i = 0; i < count; ++i) call->add_destination(outputs[i].shape, outputs[i].strides, type(i));
    }
    const CallPlan& first = *plans.front();
    if (!call && plans.size() == 1 && first.bytes() <= kKeepGil && !first.tunes(dsts.data(), count, threads)) {
        run_plans(plans, srcs.data(), dsts.data(), threads, nullptr);
    } else {
        const torch_tensors::OnItsThreads team(x.kind() == Operand::Kind::torch);
        const ReleasedGil released;
        run_plans(plans, srcs.data(), dsts.data(), threads, call ? &*call : nullptr);
    }
    if (call) call->finish();
    for (std::size_t i = 0; outs != nullptr && i < count; ++i) outs[i].written();
    const auto result = [&](std::size_t i) { return outs == nullptr ? results[i].finish(x) : PyRef::share(outs[i].object()); };
    if (!splits_) return result(0);
    PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (std::size_t i = 0; i < count; ++i) {
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), result(i).release());
    }
    return tuple;
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
    Scratch scratch = take_scratch();
    std::vector<const std::byte*> from(srcs, srcs + sources.size());
    std::vector<std::byte*> to(dsts, dsts + destinations.size());
    for (const std::int64_t place : places_) {
        from.push_back(scratch.get() + place);
        to.push_back(scratch.get() + place);
    }
    for (const auto& plan : plans) {
        if (plan->bytes() == 0) continue;
        if (call != nullptr) {
            call->run(*plan, from.data(), to.data(), threads);
        } else {
            plan->program(from.data(), to.data(), to.size(), threads).execute(from.data(), to.data(), threads);
        }
    }
    give_back(std::move(scratch));
}

void BuiltChain::run(const std::byte* const* srcs, std::byte* const* dsts, const onednn::Stream*, trace::Call* call) const {
    run_plans(*row_major_, srcs, dsts, get_num_threads(), call);
}

bool BuiltChain::tunes(std::byte* const* dsts) const noexcept {
    // The intermediates, where there are any, have the best alignment.
    const auto measures = [&](const auto& plan) { return plan->tunes(dsts, destinations.size(), get_num_threads()); };
    return std::any_of(row_major_->begin(), row_major_->end(), measures);
}

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
