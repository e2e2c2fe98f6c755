// Memory: a tensor in memory, as oneDNN's memory: owned, or zero copy over somebody's buffer.
#include "tensors/memory.hpp"

#include <algorithm>
#include <new>

#include "arguments/dtype.hpp"
#include "arguments/function.hpp"
#include "python/errors.hpp"
#include "python/objects.hpp"
#include "reference/memory.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/error.hpp"
#include "tensors/memory_owner.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

std::string describe(const Operand& array) {
    const Dims shape(array.shape().begin(), array.shape().end());
    const Dims strides(array.strides().begin(), array.strides().end());
    return "an array of dtype " + array.dtype_name() + ", shape " + to_string(shape) + " and strides " + to_string(strides) +
           " bytes";
}

Memory raw(MemoryDesc desc, py::object owner, void* bytes, bool readonly) {
    const std::int64_t size = desc.layout.size();
    Memory memory{std::move(desc), nullptr, nullptr, static_cast<std::byte*>(bytes), size, readonly, std::move(owner)};
    memory.data = memory.first + memory.desc.layout.origin();
    return memory;
}

// What to do with an array that differs from the descriptor in its strides alone.
std::string way_out(const MemoryDesc& desc, const Operand& array) {
    const auto shape = array.shape();
    if (desc.layout.blocked() || array.blocked() || !array.has_dtype(reinterpret_cast<PyArray_Descr*>(desc.dtype.ptr())) ||
        !std::equal(shape.begin(), shape.end(), desc.layout.dims.begin(), desc.layout.dims.end())) {
        return "";
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::int64_t stride = array.strides()[axis];
        if (shape[axis] > 1 && stride % array.itemsize() != 0) {
            return "; " + not_whole("buffer", axis, stride, array.itemsize()) + ": give np.ascontiguousarray(buffer)";
        }
    }
    return "; MemoryDesc.of(buffer) describes the array as it lies";
}

[[noreturn]] void refuse(const MemoryDesc& desc, const Operand& array) {
    std::string expected = "an array of dtype " + name_of(desc.dtype) + ", shape " + to_string(desc.layout.dims);
    expected += desc.layout.blocked() ? "" : " and strides " + to_string(desc.layout.strides) + " bytes";
    if (desc.layout.blocked()) expected.clear();
    throw ValueError("buffer (" + describe(array) + ") must be " + expected + (expected.empty() ? "" : ", or ") +
                     "flat raw bytes of exactly " + std::to_string(desc.layout.size()) + " bytes, for " + desc.repr() +
                     way_out(desc, array));
}

}  // namespace

Memory Memory::allocate(MemoryDesc desc, const std::shared_ptr<onednn::Engine>& engine) {
    const auto size = static_cast<std::size_t>(desc.layout.size());
    void* const block = allocate_zeroed_buffer(size);
    if (block == nullptr) {
        PyErr_Format(PyExc_MemoryError, "unable to allocate %zu bytes for a Memory of %s", size, desc.repr().c_str());
        throw PythonError{};
    }
    Memory memory = raw(std::move(desc), own_block(block), block, false);
    memory.engine = engine ? engine : onednn::Engine::cpu();
    return memory;
}

Memory Memory::of_array(const MemoryDesc& desc, py::handle array, const std::string& name, py::object keeper) {
    auto held = std::make_unique<Operand>();
    held->read_to_keep(array.ptr(), name);
    const Operand& operand = *held;
    if (!desc.matches(operand))
        throw ValueError(name + " is " + describe(operand) + " but must be as " + desc.repr() + " says");
    Memory memory{desc, onednn::Engine::cpu(), operand.data(), nullptr, desc.layout.span(), !operand.writeable(), {}};
    memory.first = memory.data + desc.layout.lowest();
    if (!keeper) keeper = py::reinterpret_borrow<py::object>(array);
    // Another Memory's owner is shared: that Memory may be given other bytes later.
    if (operand.memory() != nullptr) {
        memory.owner = operand.memory()->owner;
    } else {
        memory.owner = own_array(std::move(keeper), std::move(held));
    }
    return memory;
}

Memory Memory::over(const MemoryDesc& desc, py::handle buffer, const std::shared_ptr<onednn::Engine>& engine) {
    const auto finish = [&engine](Memory memory) {
        memory.engine = engine ? engine : onednn::Engine::cpu();
        return memory;
    };
    py::object array = py::reinterpret_borrow<py::object>(buffer);
    py::object keeper;
    if (!is_array(buffer.ptr())) {
        if (PyObject_CheckBuffer(buffer.ptr()) == 0) {
            throw py::type_error("buffer (" + type_name(buffer.ptr()) +
                                 ") must be an array or an object with the buffer protocol");
        }
        // The memoryview keeps the exporter's buffer open, and the garbage collector sees through it.
        keeper = py::memoryview(array);
        array = py::module_::import("numpy").attr("asarray")(keeper);
    }
    Operand operand;
    operand.read(array.ptr(), "buffer", Access::write);
    if (desc.matches(operand)) return finish(of_array(desc, array, "buffer", std::move(keeper)));
    const bool bytes = operand.ndim() == 1 && dtype_of(operand).equal(py::dtype::of<std::uint8_t>());
    if (!bytes || operand.shape()[0] != desc.layout.size() || (operand.shape()[0] > 1 && operand.strides()[0] != 1)) {
        refuse(desc, operand);
    }
    const Memory memory = of_array(MemoryDesc::of(operand), array, "buffer", std::move(keeper));
    return finish(raw(desc, memory.owner, memory.data, memory.readonly));
}

void Memory::check_alive() const {
    if (!owner) throw std::runtime_error("this Memory has no bytes any longer: the garbage collector took it");
}

py::array Memory::numpy() const {
    if (desc.layout.blocked()) {
        throw ValueError("a NumPy array needs a plain layout, this memory is " + desc.repr() +
                         ": reorder it first, or take its raw .bytes");
    }
    check_alive();
    const std::vector<py::ssize_t> shape(desc.layout.dims.begin(), desc.layout.dims.end());
    const std::vector<py::ssize_t> strides(desc.layout.strides.begin(), desc.layout.strides.end());
    py::array view(desc.dtype, shape, strides, data, owner);
    if (readonly) view.attr("setflags")(py::arg("write") = false);
    return view;
}

py::array Memory::raw_bytes() const {
    check_alive();
    py::array view(py::dtype::of<std::uint8_t>(), {static_cast<py::ssize_t>(bytes)}, {py::ssize_t{1}}, first, owner);
    if (readonly) view.attr("setflags")(py::arg("write") = false);
    return view;
}

void Memory::written() const {
    if (owner) tell_written(owner.ptr());
}

bool share_bytes(const Memory& a, const Memory& b) {
    a.check_alive();
    b.check_alive();
    if (a.desc.layout.empty() || b.desc.layout.empty()) return false;
    if (a.first + a.bytes <= b.first || b.first + b.bytes <= a.first) return false;
    const Layout::Steps a_steps = a.desc.layout.steps();
    const Layout::Steps b_steps = b.desc.layout.steps();
    return overlap(Footprint{a.data, a_steps.lengths, a_steps.strides, a.desc.layout.itemsize},
                   Footprint{b.data, b_steps.lengths, b_steps.strides, b.desc.layout.itemsize});
}

void register_memory(py::module_& module) {
    py::class_<Memory> type(module, "Memory", py::custom_type_setup(&setup_memory_type), reference::memory::kMemory);
    type.def(py::init([](const py::object& desc_object, const py::object& engine_object, const py::object& buffer) {
                 const auto& desc = to_object<MemoryDesc>(desc_object, "desc", "MemoryDesc");
                 const std::shared_ptr<onednn::Engine> engine = to_engine(engine_object);
                 if (desc.layout.ndim() > 12) {
                     throw ValueError("desc has " + std::to_string(desc.layout.ndim()) +
                                      " dimensions, oneDNN objects have at most 12");
                 }
                 return buffer.is_none() ? Memory::allocate(desc, engine) : Memory::over(desc, buffer, engine);
             }),
             py::arg("desc"), py::arg("engine") = py::none(), py::arg("buffer") = py::none(),
             "__init__(self, desc, engine=None, buffer=None)\n--\n\n")
        .def_property_readonly(
            "desc", [](const Memory& memory) { return memory.desc; }, "The MemoryDesc.")
        .def_property_readonly(
            "engine", [](const Memory& memory) { return memory.engine; }, "The Engine.")
        .def("numpy", &Memory::numpy, reference::memory::kMemoryNumpy)
        .def_property_readonly("bytes", &Memory::raw_bytes,
                               "A zero-copy uint8 view of all bytes: ``desc.size`` of them, or, over a strided array, from its "
                               "first byte to its last.")
        .def_property_readonly(
            "data_handle",
            [](const Memory& memory) {
                memory.check_alive();
                return reinterpret_cast<std::uintptr_t>(memory.first);
            },
            "The address of the first of `bytes` (oneDNN: ``get_data_handle``).")
        .def(
            "set_data_handle",
            [](const py::object& self, const py::object& buffer) {
                const auto& before = self.cast<const Memory&>();
                Memory fresh = Memory::over(before.desc, buffer, before.engine);
                 // Nothing that Python does comes between the two; what was kept is let go of last.
                auto& memory = self.cast<Memory&>();
                std::swap(memory.data, fresh.data);
                std::swap(memory.first, fresh.first);
                std::swap(memory.bytes, fresh.bytes);
                std::swap(memory.readonly, fresh.readonly);
                std::swap(memory.owner, fresh.owner);
            },
            py::arg("buffer"), reference::memory::kMemorySetDataHandle)
        .def("__repr__",
             [](const Memory& memory) { return "Memory(" + memory.desc.repr() + (memory.readonly ? ", read-only)" : ")"); });
    define_exports(type);
    define_copies(module, type);
    present(type);
}

}  // namespace dnnmove::python
