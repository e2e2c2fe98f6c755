// reorder: copies a tensor from one layout to another.
#include "primitives/reorder.hpp"

#include "arguments/dtype.hpp"
#include "call/operation.hpp"
#include "call/plan_cache.hpp"
#include "calls/planned_call.hpp"
#include "layout/transfer.hpp"
#include "python/objects.hpp"
#include "reference/eager.hpp"
#include "runtime/error.hpp"
#include "runtime/isa.hpp"
#include "runtime/threads.hpp"
#include "tensors/memory.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

const Title kTitle{"reorder", "undef", ""};

void check_written_once(const Layout& to, const MemoryDesc& desc) {
    if (to.self_overlaps()) throw ValueError("dst_mem has elements that share bytes: " + desc.repr());
}

PlanInUse plan_reorder(const Layout& from, const Layout& to, const MemoryDesc& to_desc) {
    PlanKey key;
    key.push(kReorderKey);
    push_layout(key, from);
    push_layout(key, to);
    return cached_plan(key, [&] {
        check_written_once(to, to_desc);
        return std::make_shared<const CallPlan>(kTitle, std::vector<Placement>{}, std::vector<Placement>{},
                                                reorder_transfers(from, to));
    });
}

class ReorderWork : public PlanWork {
public:
    ReorderWork(const CallPlan& plan, const MemoryDesc& from, const MemoryDesc& to) noexcept
        : PlanWork(plan, 1, get_num_threads()), from_(from), to_(to) {}
    trace::Call watch() const {
        trace::Call call(kTitle, native_name(best_isa()));
        call.add_source(from_);
        call.add_destination(to_);
        return call;
    }

private:
    const MemoryDesc& from_;
    const MemoryDesc& to_;
};

void reorder(const py::object& src_mem, const py::object& dst_mem, const py::object& on) {
    const auto& src = to_object<Memory>(src_mem, "src_mem", "Memory");
    const auto& dst = to_object<Memory>(dst_mem, "dst_mem", "Memory");
    if (!on.is_none()) to_object<onednn::Stream>(on, "stream", "Stream or None");
    onednn::check_rank(src.desc.layout, "src_mem");
    const Layout& from = src.desc.layout;
    const Layout& to = dst.desc.layout;
    if (from.dims != to.dims) {
        throw ValueError("dst_mem has dims " + to_string(to.dims) + " but must have src_mem's " + to_string(from.dims));
    }
    if (!src.desc.dtype.equal(dst.desc.dtype)) {
        throw ValueError("dst_mem has dtype " + name_of(dst.desc.dtype) + " but must have src_mem's " +
                         name_of(src.desc.dtype) + ": a reorder moves bits, it does not convert");
    }
    if (dst.readonly) throw ValueError("dst_mem is read-only");
    const PlanInUse plan = plan_reorder(from, to, dst.desc);
    if (share_bytes(src, dst)) throw ValueError("dst_mem shares bytes with src_mem: in-place reordering is not possible");
    const std::byte* source = src.data;
    std::byte* destination = dst.data;
    // Held here too: another thread may give a Memory other bytes meanwhile.
    const py::object source_owner = src.owner;
    const py::object destination_owner = dst.owner;
    run_work(ReorderWork(*plan, src.desc, dst.desc), false, &source, &destination);
    dst.written();
}

}  // namespace

void register_reorder(py::module_& module) {
    module.def("reorder", &reorder, py::arg("src_mem"), py::arg("dst_mem"), py::arg("stream") = py::none(),
               reference::eager::kReorder);
}

}  // namespace dnnmove::python
