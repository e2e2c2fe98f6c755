// The arrays of an eager call of one step: read, checked, and run through the plan of the step.
#pragma once

#include "calls/element_type.hpp"
#include "calls/planned_call.hpp"
#include "call/plan_cache.hpp"
#include "runtime/threads.hpp"

namespace dnnmove::python {

class StepArrays {
public:
    // Reading them may run Python code; what the arguments run is to run before. `out`: an array, None or null.
    StepArrays(PyObject* data, PyObject* out) : arrays_({"data", data}, {"out", none_is_null(out)}) {
        check_plain(arrays_.inputs[0], "data");
        if (arrays_.into()) check_plain(arrays_.outs[0], "out");
    }

    const Operand& data() const { return arrays_.inputs[0]; }
    CallArrays<OneArray, OneArray>& arrays() { return arrays_; }

    // `key` names the step and, where the elements change, what they are; `make` makes the step where no plan is known.
    // `type`: of the result, where its dtype is not the data's.
    template <class Make>
    PyObject* run(PlanKey& key, const Make& make, const ResultType* type = nullptr) {
        const bool into = arrays_.into();
        const Operand& out = arrays_.outs[0];
        if (type != nullptr) check_result_type(*type, data());
        if (into && type != nullptr) check_out(out, *type, "out");
        if (into && type == nullptr) check_out(out, data(), "out", "data");
        key.push(data().itemsize());
        key.push_layout(data().shape(), data().strides());
        key.push(into ? 1 : 0);
        if (into) key.push_layout(out.shape(), out.strides());
        const PlanInUse plan = cached_plan(key, [&] {
            const ArrayLayout layout = into ? layout_of(out) : ArrayLayout{};
            return plan_step(*make(), layout_of(data()), data().itemsize(), into ? &layout : nullptr);
        });
        return PlannedCall(*plan, arrays_, get_num_threads(), type).run().release();
    }

private:
    CallArrays<OneArray, OneArray> arrays_;
};

}  // namespace dnnmove::python
