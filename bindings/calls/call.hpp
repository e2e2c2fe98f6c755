// Runs a plan on the arrays of one call: checks, result arrays, threads, the GIL.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "arguments/operand.hpp"
#include "call/operation.hpp"
#include "call/plan_cache.hpp"
#include "calls/new_array.hpp"
#include "calls/trace.hpp"

namespace dnnmove {

struct ResultType;

inline ArrayLayout layout_of(const Operand& array) { return {array.shape(), array.strides()}; }

// Operands of one call that has a variable number of them.
class Operands {
public:
    explicit Operands(std::size_t count) : size_(count) {
        if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(Operand)) throw std::bad_alloc();
        if (count > 0) items_.reset(new Operand[count]);
    }
    Operand& operator[](std::size_t i) noexcept { return items_[i]; }
    const Operand& operator[](std::size_t i) const noexcept { return items_[i]; }
    std::size_t size() const noexcept { return size_; }

    // Operand::open on the items of a tuple of this size; whether any may have run Python code.
    bool open(PyObject* items, std::string_view name, Access access) {
        bool ran_python = false;
        for (std::size_t i = 0; i < size_; ++i) {
            PyObject* const item = PyTuple_GET_ITEM(items, static_cast<Py_ssize_t>(i));
            ran_python = items_[i].open(item, {name, i}, access) || ran_python;
        }
        return ran_python;
    }
    void fetch(std::string_view name, bool again) {
        for (std::size_t i = 0; i < size_; ++i) items_[i].fetch({name, i}, again);
    }

private:
    std::unique_ptr<Operand[]> items_;
    std::size_t size_;
};

[[noreturn]] void refuse_read_only(const ArgumentName& name);
// TypeError: the two dtypes, which are not the same, must be.
[[noreturn]] void refuse_dtype(const Operand& array, const ArgumentName& name, const Operand& other,
                               const ArgumentName& other_name);

// Writeable, of the data's dtype: what every `out` must be before anything is planned.
inline void check_out(const Operand& out, const Operand& data, const ArgumentName& out_name, const ArgumentName& data_name) {
    if (!out.writeable()) refuse_read_only(out_name);
    if (!out.same_dtype(data)) refuse_dtype(out, out_name, data, data_name);
}

// Fetches the array again, after Python code ran that may have changed it; RuntimeError where it does not lie as
// planned any longer.
void fetch_again(Operand& array, const Placement& planned, const ArgumentName& name);

// Of so few arrays all pairs are looked at, which takes no memory.
inline constexpr std::size_t kFewPairs = 32;

// ValueError where an output shares bytes with an input or with another output. `count` outputs.
void check_overlap(const CallPlan& plan, const Operand* inputs, std::size_t input_count, std::string_view input_name,
                   const Operand* outs, std::size_t count);

// Copies; releases the GIL where the work is large. The pointers are the arrays' first elements. `torch`: they are
// torch's tensors.
void execute_untraced(const CallPlan& plan, bool torch, const std::byte* const* srcs, std::byte* const* dsts,
                      std::size_t dst_count, int threads);
// The same for those who watch (trace.hpp), who are told the inputs.
[[gnu::cold]] void execute_traced(const CallPlan& plan, const Operand* inputs, std::size_t input_count,
                                  const std::byte* const* srcs, std::byte* const* dsts, int threads,
                                  const ResultType* const* types);
inline void execute(const CallPlan& plan, const Operand* inputs, std::size_t input_count, const std::byte* const* srcs,
                    std::byte* const* dsts, std::size_t dst_count, int threads, const ResultType* const* types = nullptr) {
    if (trace::on()) [[unlikely]] {
        execute_traced(plan, inputs, input_count, srcs, dsts, threads, types);
    } else {
        execute_untraced(plan, inputs[0].kind() == Operand::Kind::torch, srcs, dsts, dst_count, threads);
    }
}

// One input, one output. Returns `out`'s object, or a new array where `out` is null. `type`: see NewArray::make.
PyRef run_single(const CallPlan& plan, Operand& data, const Operand* out, std::string_view data_name, int threads,
                 const ResultType* type = nullptr);
// One input, any number of outputs: a tuple. `types`: of all outputs, null where they are the input's.
PyRef run_split(const CallPlan& plan, Operand& data, const Operands* outs, std::string_view data_name, int threads,
                const ResultType* const* types = nullptr);
// Any number of inputs, one output.
PyRef run_join(const CallPlan& plan, Operands& arrays, const Operand* out, int threads);

}  // namespace dnnmove
