// The arrays of an eager call of one step: read, checked, and run through the plan of the step.
#pragma once

#include <string>

#include "calls/call.hpp"
#include "calls/element_type.hpp"
#include "chains/step_methods.hpp"
#include "python/errors.hpp"
#include "runtime/threads.hpp"
#include "tensors/memory.hpp"

namespace dnnmove::python {

class StepArrays {
public:
    // Reading them may run Python code; what the arguments run is to run before.
    StepArrays(PyObject* data, PyObject* out) : into_(out != nullptr && out != Py_None) {
        data_.open(data, "data", into_ ? Access::read_out : Access::read);
        const bool again = into_ && out_.open(out, "out", Access::write);
        data_.fetch("data", again);
        if (into_) out_.fetch("out", false);
        refuse_blocked(data_, "data");
        if (into_) refuse_blocked(out_, "out");
    }

    const Operand& data() const { return data_; }

    // `key` names the step and, where the elements change, what they are; `make` makes the step where no plan is known.
    // `type`: of the result, where its dtype is not the data's.
    template <class Make>
    PyObject* run(PlanKey& key, const Make& make, const ResultType* type = nullptr) {
        if (type != nullptr) check_result_type(*type, data_);
        if (into_ && type != nullptr) check_out(out_, *type, "out");
        if (into_ && type == nullptr) check_out(out_, data_, "out", "data");
        key.push(data_.itemsize());
        key.push_layout(data_.shape(), data_.strides());
        key.push(into_ ? 1 : 0);
        if (into_) key.push_layout(out_.shape(), out_.strides());
        const PlanInUse plan = cached_plan(key, [&] {
            const ArrayLayout out = into_ ? layout_of(out_) : ArrayLayout{};
            return plan_step(*make(), layout_of(data_), data_.itemsize(), into_ ? &out : nullptr);
        });
        return run_single(*plan, data_, into_ ? &out_ : nullptr, "data", get_num_threads(), type).release();
    }

private:
    static void refuse_blocked(const Operand& array, const char* name) {
        if (!array.blocked()) return;
        throw ValueError(std::string(name) + " (" + array.memory()->desc.repr() +
                         ") has a blocked layout: reorder it to a plain one first");
    }

    Operand data_;
    Operand out_;
    bool into_;
};

}  // namespace dnnmove::python
