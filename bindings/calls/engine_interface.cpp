// The engine as a table of C functions, for extensions that are compiled elsewhere.
#include "calls/engine_interface.hpp"

#include <span>

#include "call/operation_call.hpp"
#include "calls/torch_direct.hpp"
#include "calls/trace.hpp"
#include "dnnmove/torch/_compiled/engine_interface.h"
#include "python/errors.hpp"
#include "python/gil.hpp"
#include "runtime/buffer_pool.hpp"

namespace dnnmove {
namespace {

bool shuffle(const DnnmoveArray& x, std::int64_t groups, bool back, DnnmoveAllocate allocate, void* context) {
    OperationCall call(back ? Op::shuffle : Op::shuffle_channels);
    call.key.push(1);
    call.key.push(groups);
    call.close();
    const auto ndim = static_cast<std::size_t>(x.ndim);
    const ArrayLayout layout{{x.shape, ndim}, {x.strides, ndim}};
    call.push_data(layout, x.itemsize);
    call.key.push(0);  // no output of the caller's
    const auto plan = call.plan(
        [&] { return plan_operation(call.op, call.parameters(), layout, x.itemsize, nullptr, "x.shape"); });
    const std::int64_t bytes = plan.get()->bytes();
    // So large a result comes from the pool, which the functions of Python take it from.
    if (static_cast<std::size_t>(bytes) >= kPooledBytes) return false;
    const Placement& placement = plan.get()->outputs()[0];
    const auto* src = static_cast<const std::byte*>(x.data);
    auto* const dst = static_cast<std::byte*>(allocate(context, placement.c_contiguous ? nullptr : placement.strides.data()));
    if (bytes == 0) return true;
    if (dst == nullptr) return false;
    plan.get()->program(&src, const_cast<std::byte**>(&dst), 1, call.threads).execute(&src, &dst, call.threads);
    return true;
}

std::int32_t shuffle_from_table(const DnnmoveArray* x, std::int64_t groups, std::int32_t back, DnnmoveAllocate allocate,
                                void* context) {
    if (trace::on() || !threads_are_settled()) return 0;
    try {
        return shuffle(*x, groups, back != 0, allocate, context) ? 1 : 0;
    } catch (...) {
        return 0;
    }
}

}  // namespace

void register_engine_interface(PyObject* module) {
    static DnnmoveEngineInterface table{DNNMOVE_ENGINE_INTERFACE_VERSION, kKeepGil, shuffle_from_table};
    const PyRef capsule = checked(PyCapsule_New(&table, DNNMOVE_ENGINE_INTERFACE, nullptr));
    if (PyModule_AddObjectRef(module, "_engine_interface", capsule.get()) != 0) throw PythonError{};
}

}  // namespace dnnmove
