// How every call runs: no output may share bytes, new arrays are made, the copy runs, the results are handed out.
//
// What is to be done comes as a `Work`: a plan of an eager function, a primitive, a built chain. To run one takes
//
//     std::int64_t bytes() const                     how much is written
//     bool tunes(dsts) const                         does it measure first? That takes long, however little it writes
//     void copy(srcs, dsts, trace::Call*) const      does it, without the GIL or with it; by the trace unless that is null
//     trace::Call watch() const                      for those who watch: what it is, and its arrays
//
// and run_call also needs
//
//     void check_overlap() const                     ValueError where an output given shares bytes
//     bool make(NewArray&, std::size_t i) const      an output: see NewArray::make
//     void fetch_again(std::size_t i) const          an input, where making new arrays may have run Python code
#pragma once

#include "python/numpy_api.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "arguments/torch_tensors.hpp"
#include "array/disjoint.hpp"
#include "calls/call_arrays.hpp"
#include "calls/new_array.hpp"
#include "calls/trace.hpp"
#include "python/gil.hpp"

namespace dnnmove {

// An output that shares bytes with an input, or with an output before it.
struct Overlap {
    std::size_t out;
    std::size_t other;
    bool with_input;
};

// Of so few arrays all pairs are looked at, which takes no memory.
inline constexpr std::size_t kFewPairs = 32;

// `input` and `output` give the Region of one.
template <class Input, class Output>
std::optional<Overlap> find_overlap(std::size_t inputs, const Input& input, std::size_t outs, const Output& output) {
    if ((inputs + outs) * outs <= kFewPairs) {
        const auto meet = [](const Region& a, const Region& b) {
            const std::int64_t low = std::max(a.low, b.low);
            return low < a.high && low < b.high && overlap(a.footprint, b.footprint);
        };
        for (std::size_t k = 0; k < outs; ++k) {
            const Region written = output(k);
            for (std::size_t i = 0; i < inputs; ++i) {
                if (meet(input(i), written)) return Overlap{k, i, true};
            }
            for (std::size_t i = 0; i < k; ++i) {
                if (meet(output(i), written)) return Overlap{k, i, false};
            }
        }
        return std::nullopt;
    }
    const auto all = [](std::size_t count, const auto& region) {
        std::vector<Region> regions;
        regions.reserve(count);
        for (std::size_t i = 0; i < count; ++i) regions.push_back(region(i));
        return regions;
    };
    const std::vector<Region> written = all(outs, output);
    if (const auto found = find_shared(all(inputs, input), written)) return Overlap{found->second, found->first, true};
    if (const auto found = find_shared(written)) return Overlap{found->second, found->first, false};
    return std::nullopt;
}

template <class Work>
[[gnu::cold, gnu::noinline]] void run_watched(const Work& work, bool torch, const std::byte* const* srcs,
                                              std::byte* const* dsts) {
    trace::Call call = work.watch();
    {
        const torch_tensors::OnItsThreads team(torch);
        const ReleasedGil released;
        work.copy(srcs, dsts, &call);
    }
    call.finish();
}

// Copies; lets go of the GIL where the work is large. The pointers are the arrays' first elements. `torch`: they are
// torch's tensors.
template <class Work>
void run_work(const Work& work, bool torch, const std::byte* const* srcs, std::byte* const* dsts) {
    if (work.bytes() == 0) return;
    if (trace::on()) [[unlikely]] {
        run_watched(work, torch, srcs, dsts);
    } else if (work.bytes() <= kKeepGil && !work.tunes(dsts)) {
        work.copy(srcs, dsts, nullptr);
    } else {
        const torch_tensors::OnItsThreads team(torch);
        const ReleasedGil released;
        work.copy(srcs, dsts, nullptr);
    }
}

// On arrays that are read and checked, and as many outputs as `work` has: returns the outputs' objects, or new arrays of
// the kind of the first input.
template <class Work, class In, class Out>
PyRef run_call(const Work& work, CallArrays<In, Out>& arrays, std::size_t count = 1) {
    const bool into = arrays.into();
    auto& inputs = arrays.inputs;
    typename Out::template List<NewArray> results(into ? 0 : count);
    typename Out::template List<std::byte*> dsts(count);
    const std::size_t outputs = Out::kList ? count : 1;
    if (into) {
        work.check_overlap();
        for (std::size_t i = 0; i < outputs; ++i) dsts[i] = arrays.outs[i].data();
    } else {
        bool ran_python = false;
        for (std::size_t i = 0; i < outputs; ++i) {
            ran_python = work.make(results[i], i) || ran_python;
            dsts[i] = results[i].data();
        }
        for (std::size_t i = 0; ran_python && i < inputs.size(); ++i) work.fetch_again(i);
    }
    typename In::template List<const std::byte*> srcs(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) srcs[i] = inputs[i].data();
    run_work(work, inputs[0].kind() == Operand::Kind::torch, srcs.data(), dsts.data());
    for (std::size_t i = 0; into && i < outputs; ++i) arrays.outs[i].written();
    const auto result = [&](std::size_t i) {
        return into ? PyRef::share(arrays.outs[i].object()) : results[i].finish(inputs[0]);
    };
    if constexpr (!Out::kList) {
        return result(0);
    } else {
        PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(outputs)));
        for (std::size_t i = 0; i < outputs; ++i) {
            PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), result(i).release());
        }
        return tuple;
    }
}

}  // namespace dnnmove
