// Memory: a tensor in memory, as oneDNN's memory: owned, or zero copy over somebody's buffer.
#include "memory.hpp"

#include <new>

#include "dtype.hpp"
#include "errors.hpp"
#include "function.hpp"
#include "objects.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/error.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

// An array argument that a Memory keeps: the object, and what was read from it.
struct HeldArray {
    py::object object;
    Operand operand;
};

std::string describe(const Operand& array) {
    const Dims shape(array.shape().begin(), array.shape().end());
    const Dims strides(array.strides().begin(), array.strides().end());
    return "an array of dtype " + array.dtype_name() + ", shape " + to_string(shape) + " and strides " +
           to_string(strides) + " bytes";
}

// A view of `bytes` bytes of `memory` from `first`.
py::array bytes_of(const py::object& self) {
    const auto& memory = self.cast<const Memory&>();
    py::array view(py::dtype::of<std::uint8_t>(), {static_cast<py::ssize_t>(memory.bytes)}, {py::ssize_t{1}}, memory.first,
                   self);
    if (memory.readonly) view.attr("setflags")(py::arg("write") = false);
    return view;
}

Memory raw(const MemoryDesc& desc, const py::object& owner, void* bytes, bool readonly) {
    Memory memory{desc, nullptr, nullptr, static_cast<std::byte*>(bytes), desc.layout.size(), readonly, owner, {}};
    memory.data = memory.first + desc.layout.origin();
    return memory;
}

[[noreturn]] void refuse(const MemoryDesc& desc, const std::string& got) {
    std::string expected = "an array of dtype " + name_of(desc.dtype) + ", shape " + to_string(desc.layout.dims);
    expected += desc.layout.blocked() ? "" : " and strides " + to_string(desc.layout.strides) + " bytes";
    if (desc.layout.blocked()) expected.clear();
    throw ValueError("buffer (" + got + ") must be " + expected + (expected.empty() ? "" : ", or ") + "flat raw bytes of exactly " +
                     std::to_string(desc.layout.size()) + " bytes, for " + desc.repr());
}

}  // namespace

Memory Memory::allocate(const MemoryDesc& desc, std::shared_ptr<onednn::Engine> engine) {
    const auto size = static_cast<std::size_t>(desc.layout.size());
    std::unique_ptr<void, void (*)(void*)> block(allocate_zeroed_buffer(size), &free_buffer);
    if (block == nullptr) throw std::bad_alloc();
    const py::capsule owner(block.get(), [](void* pointer) { free_buffer(pointer); });
    Memory memory = raw(desc, owner, block.release(), false);
    memory.engine = engine ? std::move(engine) : onednn::Engine::cpu();
    return memory;
}

Memory Memory::of_array(const MemoryDesc& desc, py::handle array, const std::string& name) {
    auto held = std::make_unique<HeldArray>();
    held->object = py::reinterpret_borrow<py::object>(array);
    held->operand.read_to_keep(array.ptr(), name);
    const Operand& operand = held->operand;
    if (!desc.matches(operand)) throw ValueError(name + " is " + describe(operand) + " but must be as " + desc.repr() + " says");
    Memory memory{desc, onednn::Engine::cpu(), operand.data(), nullptr, desc.layout.span(), !operand.writeable(), {}, {}};
    memory.first = memory.data + desc.layout.lowest();
    if (operand.kind() == Operand::Kind::torch) memory.tensor = held->object;
    memory.owner = py::capsule(held.get(), [](void* pointer) { delete static_cast<HeldArray*>(pointer); });
    held.release();
    return memory;
}

Memory Memory::over(const MemoryDesc& desc, py::handle buffer, std::shared_ptr<onednn::Engine> engine) {
    const auto finish = [&engine](Memory memory) {
        memory.engine = engine ? engine : onednn::Engine::cpu();
        return memory;
    };
    if (is_array(buffer.ptr())) {
        Operand operand;
        operand.read(buffer.ptr(), "buffer", Access::write);
        if (desc.matches(operand)) return finish(of_array(desc, buffer, "buffer"));
        const bool bytes = operand.ndim() == 1 && dtype_of(operand).equal(py::dtype::of<std::uint8_t>());
        if (!bytes || operand.shape()[0] != desc.layout.size() || (operand.shape()[0] > 1 && operand.strides()[0] != 1)) {
            refuse(desc, describe(operand));
        }
        Memory memory = of_array(MemoryDesc::of(operand), buffer, "buffer");
        Memory flat = raw(desc, memory.owner, memory.data, memory.readonly);
        flat.tensor = memory.tensor;
        return finish(std::move(flat));
    }
    if (PyObject_CheckBuffer(buffer.ptr()) == 0) {
        throw py::type_error("buffer (" + type_name(buffer.ptr()) +
                             ") must be an array or an object with the buffer protocol");
    }
    // NumPy keeps the exporter's buffer open for as long as the array lives.
    const py::object array =
        py::module_::import("numpy").attr("asarray")(py::memoryview(py::reinterpret_borrow<py::object>(buffer)));
    return over(desc, array, std::move(engine));
}

py::array Memory::numpy(py::handle self) const {
    if (desc.layout.blocked()) {
        throw ValueError("numpy() needs a plain layout, this memory is " + desc.repr() + ": reorder it first");
    }
    const std::vector<py::ssize_t> shape(desc.layout.dims.begin(), desc.layout.dims.end());
    const std::vector<py::ssize_t> strides(desc.layout.strides.begin(), desc.layout.strides.end());
    py::array view(desc.dtype, shape, strides, data, self);
    if (readonly) view.attr("setflags")(py::arg("write") = false);
    return view;
}

void Memory::written() const {
    if (tensor) torch_tensors::increment_version(tensor.ptr());
}

bool share_bytes(const Memory& a, const Memory& b) {
    if (a.desc.layout.empty() || b.desc.layout.empty()) return false;
    if (a.first + a.bytes <= b.first || b.first + b.bytes <= a.first) return false;
    const Layout::Steps a_steps = a.desc.layout.steps();
    const Layout::Steps b_steps = b.desc.layout.steps();
    return overlap(Footprint{a.data, a_steps.lengths, a_steps.strides, a.desc.layout.itemsize},
                   Footprint{b.data, b_steps.lengths, b_steps.strides, b.desc.layout.itemsize});
}

void register_memory(py::module_& module) {
    py::class_<Memory> type(module, "Memory", R"(A tensor in memory (oneDNN: ``memory``).

Parameters
----------
desc : MemoryDesc
    What the bytes mean.
engine : Engine, optional
    The CPU engine by default.
buffer : array or bytes-like, optional
    Without it the object owns zeroed memory, aligned to 64 bytes. Otherwise zero copy over an array
    whose dtype, shape and strides are those of `desc`, or over flat raw bytes (bytearray, 1-D uint8)
    of exactly ``desc.size``. A read-only buffer gives a read-only Memory. Whoever writes raw blocked
    bytes zeroes their padding.

Raises
------
TypeError
    `buffer` is no buffer.
ValueError
    `buffer` does not match `desc`; a typed array is never reinterpreted.

Notes
-----
Source: oneDNN developer guide, "Memory".

Examples
--------
>>> import numpy as np, dnnmove as dm
>>> x = np.arange(6, dtype="f4").reshape(2, 3)
>>> mem = dm.Memory(dm.MemoryDesc.of(x), buffer=x)
>>> mem.numpy()[1, 2] = 7
>>> float(x[1, 2])
7.0
)");
    type.def(py::init([](const py::object& desc_object, const py::object& engine_object, const py::object& buffer) {
                 const auto& desc = to_object<MemoryDesc>(desc_object, "desc", "MemoryDesc");
                 std::shared_ptr<onednn::Engine> engine = to_engine(engine_object);
                 if (desc.layout.ndim() > 12) {
                     throw ValueError("desc has " + std::to_string(desc.layout.ndim()) +
                                      " dimensions, oneDNN objects have at most 12");
                 }
                 return buffer.is_none() ? Memory::allocate(desc, std::move(engine))
                                         : Memory::over(desc, buffer, std::move(engine));
             }),
             py::arg("desc"), py::arg("engine") = py::none(), py::arg("buffer") = py::none(),
             "__init__(self, desc, engine=None, buffer=None)\n--\n\n")
        .def_property_readonly("desc", [](const Memory& memory) { return memory.desc; }, "The MemoryDesc.")
        .def_property_readonly("engine", [](const Memory& memory) { return memory.engine; }, "The Engine.")
        .def("numpy", [](const py::object& self) { return self.cast<const Memory&>().numpy(self); },
             R"(numpy(self)
--

A zero-copy array over a plain layout.

Returns
-------
numpy.ndarray
    Of the descriptor's dims, dtype and strides; writeable unless the Memory is read-only.

Raises
------
ValueError
    The layout is blocked: `reorder` to a plain one first.

Examples
--------
>>> import dnnmove as dm
>>> dm.Memory(dm.MemoryDesc((2, 2), "int32")).numpy().tolist()
[[0, 0], [0, 0]]
)")
        .def_property_readonly("bytes", &bytes_of,
                               "A zero-copy uint8 view of all bytes: ``desc.size`` of them, or, over a strided array, from its "
                               "first byte to its last.")
        .def("__repr__", [](const Memory& memory) {
            return "Memory(" + memory.desc.repr() + (memory.readonly ? ", read-only)" : ")");
        });
    present(type);
}

}  // namespace dnnmove::python
