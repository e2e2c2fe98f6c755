// Runs a plan on the arrays of one call: checks, result arrays, threads, the GIL.
#include "calls/call.hpp"

#include <algorithm>
#include <stdexcept>

#include "python/errors.hpp"
#include "python/gil.hpp"
#include "view/disjoint.hpp"

namespace dnnmove {
namespace {

std::int64_t address_of(const Operand& array) noexcept {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(array.data()));
}

// The bytes between which the array lies, as addresses.
Extent absolute(const Operand& array, const Placement& placement) noexcept {
    const std::int64_t base = address_of(array);
    return {base + placement.extent.low, base + placement.extent.high};
}

bool apart(const Extent& a, const Extent& b) noexcept { return a.high <= b.low || b.high <= a.low; }

std::string numbered(std::string_view name, std::size_t i, std::size_t count) {
    return count == 1 ? std::string(name) : std::string(name) + "[" + std::to_string(i) + "]";
}

[[noreturn]] void fail_overlap(const std::string& out, const std::string& other) {
    throw ValueError(out + " shares memory with " + other + ": the copy must not overlap what it reads or writes twice");
}

// See NewArray::make.
bool make_result(NewArray& result, const Operand& data, const Placement& placement, const ResultType* type) {
    return result.make(data, placement.shape, placement.c_contiguous ? std::span<const std::int64_t>{} : placement.strides,
                       type);
}

}  // namespace

void refuse_read_only(const ArgumentName& name) { throw ValueError(name.text() + " is read-only: it must be writeable"); }

void refuse_dtype(const Operand& array, const ArgumentName& name, const Operand& other, const ArgumentName& other_name) {
    // Both are held first: a dtype's text may be made by Python code.
    const PyRef held = other.keep_descr();
    const std::string own = array.dtype_name();
    throw TypeError(name.text() + ".dtype (" + own + ") must equal " + other_name.text() + ".dtype (" + other.dtype_name() +
                    ")");
}

void fetch_again(Operand& array, const Placement& planned, const ArgumentName& name) {
    const std::int64_t itemsize = array.itemsize();
    array.fetch(name, true);
    const auto shape = array.shape();
    bool same = array.itemsize() == itemsize &&
                std::equal(shape.begin(), shape.end(), planned.shape.begin(), planned.shape.end());
    for (std::size_t axis = 0; same && axis < shape.size(); ++axis) {
        same = shape[axis] <= 1 || array.strides()[axis] == planned.strides[axis];
    }
    if (!same) {
        throw std::runtime_error(name.text() +
                                 " was given another shape, strides or dtype by Python code that ran during the call");
    }
}

void check_overlap(const CallPlan& plan, const Operand* inputs, std::size_t input_count, std::string_view input_name,
                   const Operand* outs, std::size_t count) {
    if ((input_count + count) * count <= kFewPairs) {
        for (std::size_t k = 0; k < count; ++k) {
            const Extent out = absolute(outs[k], plan.outputs()[k]);
            for (std::size_t i = 0; i < input_count; ++i) {
                if (apart(absolute(inputs[i], plan.inputs()[i]), out)) continue;
                if (overlap(inputs[i].footprint(), outs[k].footprint())) {
                    fail_overlap(numbered("out", k, count), numbered(input_name, i, input_count));
                }
            }
            for (std::size_t i = 0; i < k; ++i) {
                if (apart(absolute(outs[i], plan.outputs()[i]), out)) continue;
                if (overlap(outs[i].footprint(), outs[k].footprint())) {
                    fail_overlap(numbered("out", k, count), numbered("out", i, count));
                }
            }
        }
        return;
    }
    const auto regions_of = [](const Operand* arrays, const std::vector<Placement>& placements, std::size_t size) {
        std::vector<Region> regions;
        regions.reserve(size);
        for (std::size_t i = 0; i < size; ++i) {
            regions.push_back(Region::of(arrays[i].footprint(), placements[i].extent));
        }
        return regions;
    };
    const std::vector<Region> written = regions_of(outs, plan.outputs(), count);
    if (const auto found = find_shared(regions_of(inputs, plan.inputs(), input_count), written)) {
        fail_overlap(numbered("out", found->second, count), numbered(input_name, found->first, input_count));
    }
    if (const auto found = find_shared(written)) {
        fail_overlap(numbered("out", found->second, count), numbered("out", found->first, count));
    }
}

void execute_traced(const CallPlan& plan, const Operand* inputs, std::size_t input_count, const std::byte* const* srcs,
                    std::byte* const* dsts, int threads, const ResultType* const* types) {
    if (plan.bytes() == 0) return;
    trace::Call call(plan.title(), plan.impl_info());
    for (std::size_t i = 0; i < input_count; ++i) call.add_source(inputs[i]);
    for (std::size_t i = 0; i < plan.outputs().size(); ++i) {
        const Placement& placement = plan.outputs()[i];
        call.add_destination(placement.shape, placement.strides, types == nullptr ? nullptr : types[i]);
    }
    if (plan.outputs().empty()) call.add_destination_like_source();
    {
        const ReleasedGil released;
        call.run(plan, srcs, dsts, threads);
    }
    call.finish();
}

void execute_untraced(const CallPlan& plan, bool torch, const std::byte* const* srcs, std::byte* const* dsts,
                      std::size_t dst_count, int threads) {
    if (plan.bytes() == 0) return;
    const auto run = [&] { plan.program(srcs, dsts, dst_count, threads).execute(srcs, dsts, threads); };
    if (plan.bytes() <= kKeepGil && !plan.tunes(dsts, dst_count, threads)) {
        run();
        return;
    }
    const torch_tensors::OnItsThreads team(torch);
    const ReleasedGil released;
    run();
}

PyRef run_single(const CallPlan& plan, Operand& data, const Operand* out, std::string_view data_name, int threads,
                 const ResultType* type) {
    const std::byte* src = data.data();
    const ResultType* const* const types = type == nullptr ? nullptr : &type;
    if (out != nullptr) {
        check_overlap(plan, &data, 1, data_name, out, 1);
        std::byte* const dst = out->data();
        execute(plan, &data, 1, &src, &dst, 1, threads, types);
        out->written();
        return PyRef::share(out->object());
    }
    const Placement& placement = plan.outputs()[0];
    NewArray result;
    if (make_result(result, data, placement, type)) {
        fetch_again(data, plan.inputs()[0], data_name);
        src = data.data();
    }
    std::byte* const dst = result.data();
    execute(plan, &data, 1, &src, &dst, 1, threads, types);
    return result.finish(data);
}

PyRef run_split(const CallPlan& plan, Operand& data, const Operands* outs, std::string_view data_name, int threads,
                const ResultType* const* types) {
    const std::size_t count = plan.outputs().size();
    std::vector<std::byte*> dsts(count);
    const auto tuple_of = [count](const auto& item) {
        PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
        for (std::size_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item(i).release());
        return tuple;
    };
    const std::byte* src = data.data();
    if (outs != nullptr) {
        if (count > 0) check_overlap(plan, &data, 1, data_name, &(*outs)[0], count);
        for (std::size_t i = 0; i < count; ++i) dsts[i] = (*outs)[i].data();
        execute(plan, &data, 1, &src, dsts.data(), count, threads, types);
        for (std::size_t i = 0; i < count; ++i) (*outs)[i].written();
        return tuple_of([&](std::size_t i) { return PyRef::share((*outs)[i].object()); });
    }
    std::vector<NewArray> results(count);
    bool ran_python = false;
    for (std::size_t i = 0; i < count; ++i) {
        ran_python = make_result(results[i], data, plan.outputs()[i], types == nullptr ? nullptr : types[i]) || ran_python;
        dsts[i] = results[i].data();
    }
    if (ran_python) {
        fetch_again(data, plan.inputs()[0], data_name);
        src = data.data();
    }
    execute(plan, &data, 1, &src, dsts.data(), count, threads, types);
    return tuple_of([&](std::size_t i) { return results[i].finish(data); });
}

PyRef run_join(const CallPlan& plan, Operands& arrays, const Operand* out, int threads) {
    std::vector<const std::byte*> srcs(arrays.size());
    const auto take_sources = [&] {
        for (std::size_t i = 0; i < arrays.size(); ++i) srcs[i] = arrays[i].data();
    };
    if (out != nullptr) {
        check_overlap(plan, &arrays[0], arrays.size(), "arrays", out, 1);
        take_sources();
        std::byte* const dst = out->data();
        execute(plan, &arrays[0], arrays.size(), srcs.data(), &dst, 1, threads);
        out->written();
        return PyRef::share(out->object());
    }
    NewArray result;
    if (result.make(arrays[0], plan.outputs()[0].shape, {})) {
        for (std::size_t i = 0; i < arrays.size(); ++i) fetch_again(arrays[i], plan.inputs()[i], {"arrays", i});
    }
    take_sources();
    std::byte* const dst = result.data();
    execute(plan, &arrays[0], arrays.size(), srcs.data(), &dst, 1, threads);
    return result.finish(arrays[0]);
}

}  // namespace dnnmove
