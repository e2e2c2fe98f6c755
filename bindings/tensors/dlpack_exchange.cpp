// Memory in DLPack's C exchange API: the functions that C consumers call instead of __dlpack__.
#include "tensors/dlpack_exchange.hpp"

#include <exception>
#include <memory>
#include <utility>

#include "arguments/dlpack_types.hpp"
#include "arguments/dtype.hpp"
#include "python/errors.hpp"
#include "tensors/dlpack_export.hpp"
#include "tensors/memory.hpp"
#include "tensors/memory_owner.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

// As DLPack's functions return: 0, or -1 and the Python exception.
template <class Body>
int status_of(const Body& body) noexcept {
    try {
        body();
        return 0;
    } catch (...) {
        set_python_error();
        return -1;
    }
}

const Memory& memory_given(void* object) {
    const py::handle handle(static_cast<PyObject*>(object));
    if (!py::isinstance<Memory>(handle)) throw TypeError("the object must be a Memory, not " + type_name(handle.ptr()));
    return handle.cast<const Memory&>();
}

// May be called without the GIL.
int allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
             void (*set_error)(void* context, const char* kind, const char* message)) noexcept {
    try {
        const int bits = prototype->dtype.bits * prototype->dtype.lanes;
        if (prototype->device.device_type != kDLCPU) throw ValueError("dnnmove allocates on the CPU only");
        if (bits == 0 || bits % 8 != 0) throw ValueError("dnnmove allocates elements of whole bytes only");
        if (prototype->ndim < 0 || static_cast<std::size_t>(prototype->ndim) > kMaxRank)
            throw ValueError("ndim must be between 0 and 64");
        const Dims shape(prototype->shape, prototype->shape + prototype->ndim);
        Layout::dense(shape, bits / 8);  // throws for what no memory could hold
        *out = allocate_tensor(prototype->dtype, bits / 8, shape, {});
        return 0;
    } catch (const std::bad_alloc&) {
        set_error(context, "MemoryError", "out of memory");
    } catch (const std::exception& error) {
        set_error(context, "ValueError", error.what());
    }
    return -1;
}

int from_object(void* object, DLManagedTensorVersioned** out) noexcept {
    return status_of([&] { *out = export_tensor(memory_given(object)); });
}

int object_of(DLManagedTensorVersioned* tensor, void** out) noexcept {
    return status_of([&] {
        const py::object owner = own_tensor(tensor);
        const DLTensor& from = tensor->dl_tensor;
        if (tensor->version.major != DLPACK_MAJOR_VERSION) {
            throw py::buffer_error("the tensor is of DLPack version " + std::to_string(tensor->version.major) + ", not 1");
        }
        if (from.device.device_type != kDLCPU) throw py::buffer_error("the tensor lies on a device that is not the CPU");
        const auto dtype = py::reinterpret_steal<py::dtype>(descr_of(from.dtype).release());
        if (!dtype) throw py::buffer_error("NumPy has no dtype for " + dnnmove::name_of(from.dtype));
        const Dims shape(from.shape, from.shape + from.ndim);
        MemoryDesc::check_rank(shape);
        Layout layout = Layout::dense(shape, dtype.itemsize());
        if (from.strides != nullptr) {
            Dims strides(from.strides, from.strides + from.ndim);
            for (std::int64_t& stride : strides) {
                if (__builtin_mul_overflow(stride, dtype.itemsize(), &stride))
                    throw py::buffer_error("the strides are too large");
            }
            layout = Layout::strided(shape, strides, dtype.itemsize());
        }
        Memory memory{{std::move(layout), dtype, {}}, onednn::Engine::cpu(), nullptr, nullptr, 0, false, owner};
        memory.data = static_cast<std::byte*>(from.data) + from.byte_offset;
        memory.first = memory.data + memory.desc.layout.lowest();
        memory.bytes = memory.desc.layout.span();
        memory.readonly = (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
        *out = py::cast(std::move(memory)).release().ptr();
    });
}

// Borrowed: the Memory keeps shape and strides, and the caller the Memory.
int borrow(void* object, DLTensor* out) noexcept {
    return status_of([&] {
        const Memory& memory = memory_given(object);
        if (memory.readonly) throw py::buffer_error("this memory is read-only, which a borrowed tensor cannot say");
        const DLManagedTensorVersioned* const tensor = export_tensor(memory);
        const DLTensor lent = tensor->dl_tensor;
        if (memory.element_strides.size() != memory.desc.layout.ndim()) {
            memory.element_strides.assign(lent.strides, lent.strides + lent.ndim);
        }
        tensor->deleter(const_cast<DLManagedTensorVersioned*>(tensor));
        *out = lent;
        out->shape = const_cast<std::int64_t*>(memory.desc.layout.dims.data());
        out->strides = memory.element_strides.data();
    });
}

int current_stream(DLDeviceType, std::int32_t, void** out) noexcept {
    *out = nullptr;
    return 0;
}

constexpr DLPackExchangeAPI kApi{
    {{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, nullptr}, allocate, from_object, object_of, borrow, current_stream};

}  // namespace

py::object exchange_api() {
    void* const api = const_cast<DLPackExchangeAPI*>(&kApi);
    return py::reinterpret_steal<py::object>(checked(PyCapsule_New(api, "dlpack_exchange_api", nullptr)).release());
}

}  // namespace dnnmove::python
