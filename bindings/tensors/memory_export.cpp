// How a Memory shows itself to other libraries: NumPy's protocol, the buffer protocol, DLPack, and the garbage collector.
#include <algorithm>
#include <utility>

#include "arguments/dlpack_types.hpp"
#include "arguments/dtype.hpp"
#include "python/errors.hpp"
#include "reference/memory.hpp"
#include "tensors/dlpack_exchange.hpp"
#include "tensors/dlpack_export.hpp"
#include "tensors/memory.hpp"
#include "tensors/memory_owner.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

// The C++ object, for slots that may be called before it is there; null then.
Memory* memory_in(PyObject* self) noexcept {  // NOLINT(bugprone-exception-escape): the one value is found
    auto* instance = reinterpret_cast<py::detail::instance*>(self);
    if (!instance->simple_layout && instance->nonsimple.values_and_holders == nullptr) return nullptr;
    const py::detail::value_and_holder held = instance->get_value_and_holder();
    return held.holder_constructed() ? static_cast<Memory*>(held.value_ptr()) : nullptr;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (const Memory* memory = memory_in(self)) Py_VISIT(memory->owner.ptr());
    return 0;
}

int clear(PyObject* self) {
    if (Memory* memory = memory_in(self)) {
        memory->data = memory->first = nullptr;
        memory->bytes = 0;
        const py::object owner = std::exchange(memory->owner, py::object());
    }
    return 0;
}

[[noreturn]] void refuse_blocked(const Memory& memory, const char* what) {
    throw py::buffer_error(std::string(what) + " needs a plain layout, this memory is " + memory.desc.repr() +
                           ": reorder it first, or take its raw .bytes");
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
    view->obj = nullptr;
    try {
        const auto& memory = py::handle(self).cast<const Memory&>();
        if (memory.desc.layout.blocked()) refuse_blocked(memory, "the buffer protocol");
        if (memory.readonly && (flags & PyBUF_WRITABLE) != 0) throw py::buffer_error("this memory is read-only");
        // A typed memory is never reinterpreted: torch.asarray, for one, would read whatever bytes it gets as float32.
        if ((flags & PyBUF_FORMAT) == 0) {
            throw py::buffer_error("this memory's bytes were asked for without their type, " + name_of(memory.desc.dtype) +
                                   ": take numpy(), or the raw .bytes");
        }
        // The array of the same elements is what exports them. Not structs and raw bytes: NumPy reads its own format of
        // some of them back as another dtype, or not at all.
        const py::array array = memory.numpy();
        std::string why = "it has no format for such elements";
        if (memory.desc.dtype.kind() != 'V') {
            if (PyObject_GetBuffer(array.ptr(), view, flags) == 0) return 0;
            if (PyErr_ExceptionMatches(PyExc_ValueError) == 0) return -1;
            why = py::str(py::error_already_set().value()).cast<std::string>();
        }
        throw py::buffer_error("the buffer protocol cannot export " + memory.desc.repr() + " so (" + why +
                               "): take numpy(), or the raw .bytes");
    } catch (...) {
        set_python_error();
        return -1;
    }
}

py::object to_numpy(const Memory& memory, const py::object& dtype, const py::object& copy) {
    py::array view = memory.numpy();
    const bool never = !copy.is_none() && !py::bool_(copy);
    if (!dtype.is_none()) {
        const auto wanted = py::dtype::from_args(dtype);
        if (!wanted.equal(memory.desc.dtype)) {
            if (never) {
                throw ValueError("copy=False, but dtype " + name_of(wanted) + " needs a copy of this memory of " +
                                 name_of(memory.desc.dtype));
            }
            return view.attr("astype")(wanted);
        }
    }
    if (!copy.is_none() && !never) return view.attr("copy")(py::arg("order") = "K");
    return view;
}

// (major, minor) of what the consumer reads; (0, 0) where it does not say.
DLPackVersion to_version(const py::object& value) {
    if (value.is_none()) return {0, 0};
    const auto refuse = [&] {
        throw TypeError("max_version (" + short_repr(value.ptr()) + ") must be None or a tuple of two integers");
    };
    if (!py::isinstance<py::tuple>(value) || py::len(value) != 2) refuse();
    DLPackVersion version{};
    try {
        version = {value[py::int_(0)].cast<std::uint32_t>(), value[py::int_(1)].cast<std::uint32_t>()};
    } catch (const py::cast_error&) {
        refuse();
    }
    return version;
}

// The only device here is (1, 0), the CPU; libraries write it as integers or as their own enumeration.
void check_device(const py::object& device) {
    if (device.is_none()) return;
    const bool pair = py::isinstance<py::sequence>(device) && py::len(device) == 2;
    if (!pair) throw TypeError("dl_device (" + short_repr(device.ptr()) + ") must be None or (device type, device id)");
    if (!device.equal(py::make_tuple(static_cast<int>(kDLCPU), 0))) {
        throw py::buffer_error("dl_device (" + short_repr(device.ptr()) + ") must be the CPU, (1, 0): memory lies there only");
    }
}

py::object to_dlpack(const Memory& memory, const py::object& stream, const py::object& max_version, const py::object& dl_device,
                     const py::object& copy) {
    if (!stream.is_none()) throw ValueError("stream (" + short_repr(stream.ptr()) + ") must be None: the CPU has no streams");
    const DLPackVersion version = to_version(max_version);
    check_device(dl_device);
    const bool copies = !copy.is_none() && py::bool_(copy);
    const bool versioned = version.major >= 1;
    if (memory.readonly && !versioned && !copies) {
        throw py::buffer_error(
            "this memory is read-only, which DLPack cannot say before version 1: ask for "
            "max_version=(1, 0), or for copy=True");
    }
    DLManagedTensorVersioned* const tensor = copies ? export_tensor(copy_of(memory)) : export_tensor(memory);
    if (copies) tensor->flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
    return py::reinterpret_steal<py::object>(make_capsule(tensor, versioned).release());
}

}  // namespace

DLManagedTensorVersioned* export_tensor(const Memory& memory) {
    const Layout& layout = memory.desc.layout;
    if (layout.blocked()) refuse_blocked(memory, "DLPack");
    memory.check_alive();
    const std::optional<DLDataType> type = dlpack_type_of(reinterpret_cast<PyArray_Descr*>(memory.desc.dtype.ptr()));
    if (!type) {
        throw py::buffer_error("DLPack has no data type for " + name_of(memory.desc.dtype) +
                               ": take numpy(), or the raw .bytes");
    }
    DLManagedTensorVersioned* const tensor = lend_tensor(memory.owner.ptr(), memory.data, *type, layout.itemsize, layout.dims,
                                                         layout.strides);
    // The 8-bit floats came with 1.1; all else is as old as the form.
    if (type->bits == 8 && type->code >= kDLFloat8_e3m4) tensor->version.minor = 1;
    if (memory.readonly) tensor->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    return tensor;
}

void setup_memory_type(PyHeapTypeObject* type) {
    type->ht_type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    type->ht_type.tp_traverse = traverse;
    type->ht_type.tp_clear = clear;
    type->as_buffer.bf_getbuffer = get_buffer;
    type->ht_type.tp_as_buffer = &type->as_buffer;
}

void define_exports(py::class_<Memory>& type) {
    type.def("__array__", &to_numpy, py::arg("dtype") = py::none(), py::arg("copy") = py::none(),
             reference::memory::kMemoryArray)
        .def("__dlpack__", &to_dlpack, py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
             py::arg("dl_device") = py::none(), py::arg("copy") = py::none(), reference::memory::kMemoryDlpack)
        .def(
            "__dlpack_device__", [](const Memory&) { return py::make_tuple(static_cast<int>(kDLCPU), 0); },
            reference::memory::kMemoryDlpackDevice);
    type.attr("__dlpack_c_exchange_api__") = exchange_api();
}

}  // namespace dnnmove::python
