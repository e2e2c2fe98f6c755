// Copies of a Memory, and how it is pickled: the copy owns bytes of its own.
#include <cstring>
#include <utility>

#include "call/call_plan.hpp"
#include "layout/transfer.hpp"
#include "python/errors.hpp"
#include "python/gil.hpp"
#include "python/objects.hpp"
#include "runtime/threads.hpp"
#include "tensors/memory.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

const Title kTitle{"copy", "undef", ""};

// How the bytes of a layout are copied and pickled. Where the elements fill their memory, block padding included, or
// share bytes with one another, that is one run of bytes; else the elements alone, since what lies between them may be
// somebody else's.
bool as_one_run(const Layout& layout) { return layout.is_dense() || layout.self_overlaps(); }

// As a plain layout without gaps, where that is how it is pickled.
bool packs(const Layout& layout) { return !layout.blocked() && !as_one_run(layout); }

// Copies without the GIL; both are kept by the caller.
void copy_elements(const Layout& from, const std::byte* src, const Layout& to, std::byte* dst) {
    if (from.empty()) return;
    const int threads = get_num_threads();
    const ReleasedGil released;
    const CallPlan plan(kTitle, {}, {}, reorder_transfers(from, to));
    plan.program(&src, &dst, 1, threads).execute(&src, &dst, threads);
}

void copy_run(const std::byte* src, std::byte* dst, std::int64_t bytes) {
    const Layout run = Layout::dense({bytes}, 1);
    copy_elements(run, src, run, dst);
}

std::byte* run_of(const Memory& memory) { return memory.data + memory.desc.layout.lowest(); }

// From the first byte of an element to the last.
py::array span_of(const Memory& memory) {
    py::array bytes(py::dtype::of<std::uint8_t>(), {static_cast<py::ssize_t>(memory.desc.layout.span())}, {py::ssize_t{1}},
                    run_of(memory), memory.owner);
    if (memory.readonly) bytes.attr("setflags")(py::arg("write") = false);
    return bytes;
}

// What pickle needs: raw bytes, zero copy where they lie as one run.
py::array payload(const Memory& memory) {
    const Layout& layout = memory.desc.layout;
    if (as_one_run(layout)) return span_of(memory);
    if (!packs(layout)) return span_of(copy_of(memory));
    Memory packed = Memory::allocate(MemoryDesc::dense(layout.dims, memory.desc.dtype), memory.engine);
    const py::object owner = memory.owner;
    copy_elements(layout, memory.data, packed.desc.layout, packed.data);
    return packed.raw_bytes();
}

// For subclasses that have attributes.
py::object attributes_of(const py::object& self) { return py::getattr(self, "__dict__", py::none()); }

py::object make(const py::handle& type, const MemoryDesc& desc, const std::shared_ptr<onednn::Engine>& engine) {
    const py::handle base = py::type::of<Memory>();
    if (type.is(base)) return py::cast(Memory::allocate(desc, engine));
    if (!PyType_Check(type.ptr()) ||
        PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()), reinterpret_cast<PyTypeObject*>(base.ptr())) == 0) {
        throw TypeError("cls (" + short_repr(type.ptr()) + ") must be Memory or a subclass");
    }
    py::object made = type.attr("__new__")(type);
    base.attr("__init__")(made, desc, engine);
    return made;
}

py::object copy(const py::object& self) {
    const auto& memory = self.cast<const Memory&>();
    py::object made = make(py::type::of(self), memory.desc, memory.engine);
    copy_into(memory, made.cast<const Memory&>());
    if (const py::object attributes = attributes_of(self); !attributes.is_none())
        made.attr("__dict__").attr("update")(attributes);
    return made;
}

py::object deep_copy(const py::object& self, const py::object& memo) {
    const auto& memory = self.cast<const Memory&>();
    py::object made = make(py::type::of(self), memory.desc, memory.engine);
    copy_into(memory, made.cast<const Memory&>());
    memo[py::int_(reinterpret_cast<std::uintptr_t>(self.ptr()))] = made;
    if (const py::object attributes = attributes_of(self); !attributes.is_none()) {
        made.attr("__dict__").attr("update")(py::module_::import("copy").attr("deepcopy")(attributes, memo));
    }
    return made;
}

py::object reduce(const py::object& self, const py::object& protocol) {
    const auto& memory = self.cast<const Memory&>();
    memory.check_alive();
    const py::array bytes = payload(memory);
    // From protocol 5 on the pickler may hand the buffer itself to its buffer_callback.
    const py::object data = protocol.cast<int>() >= 5 ? py::module_::import("pickle").attr("PickleBuffer")(bytes)
                                                      : bytes.attr("tobytes")();
    return py::make_tuple(py::module_::import("dnnmove._core").attr("_restore_memory"),
                          py::make_tuple(py::type::of(self), memory.desc, memory.engine, data), attributes_of(self));
}

py::object restore(const py::object& type, const py::object& desc_object, const py::object& engine, const py::object& data) {
    const auto& desc = to_object<MemoryDesc>(desc_object, "desc", "MemoryDesc");
    py::object made = make(type, desc, to_engine(engine));
    const auto& memory = made.cast<const Memory&>();
    const Layout& layout = memory.desc.layout;
    const Layout dense = packs(layout) ? Layout::dense(layout.dims, layout.itemsize) : layout;
    Py_buffer view;
    if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_SIMPLE) != 0) throw PythonError{};
    const std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> held(&view, &PyBuffer_Release);
    if (view.len != dense.span()) {
        throw ValueError("data has " + std::to_string(view.len) + " bytes, but must have " + std::to_string(dense.span()) +
                         " for " + desc.repr());
    }
    const auto* bytes = static_cast<const std::byte*>(view.buf);
    if (packs(layout)) {
        copy_elements(dense, bytes, layout, memory.data);
    } else {
        copy_run(bytes, run_of(memory), view.len);
    }
    return made;
}

}  // namespace

void copy_into(const Memory& from, const Memory& to) {
    from.check_alive();
    const py::object kept = from.owner;  // another thread may give it other bytes meanwhile
    const Layout& layout = from.desc.layout;
    if (as_one_run(layout)) {
        copy_run(run_of(from), run_of(to), layout.span());
    } else {
        copy_elements(layout, from.data, layout, to.data);
    }
}

Memory copy_of(const Memory& memory) {
    Memory made = Memory::allocate(memory.desc, memory.engine);
    copy_into(memory, made);
    return made;
}

void define_copies(py::module_& module, py::class_<Memory>& type) {
    type.def("__copy__", &copy)
        .def("__deepcopy__", &deep_copy, py::arg("memo"))
        .def("__reduce_ex__", &reduce, py::arg("protocol"));
    module.def("_restore_memory", &restore, py::arg("cls"), py::arg("desc"), py::arg("engine"), py::arg("data"),
               R"(_restore_memory(cls, desc, engine, data)
--

Make a Memory of its own bytes, for pickle.
)");
}

}  // namespace dnnmove::python
