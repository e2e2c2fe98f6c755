// What keeps the bytes of a Memory: the Memory, its views and whatever was exported from it hold it.
#include "tensors/memory_owner.hpp"

#include <utility>

#include "arguments/torch_tensors.hpp"
#include "python/errors.hpp"
#include "runtime/buffer_pool.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

// Of an array.
struct Owner {
    PyObject_HEAD
    PyObject* object;  // owned: an array, a tensor or a memoryview
    Operand* operand;  // owned: what was read from the array, and the DLPack tensor that it gave
};

// Of bytes that refer to no object, or to none that can be seen: the garbage collector has no business with it.
struct Block {
    PyObject_HEAD
    void* buffer;                      // owned: of the pool
    DLManagedTensorVersioned* tensor;  // owned
};

Owner* cast(PyObject* self) { return reinterpret_cast<Owner*>(self); }

int traverse_owner(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(cast(self)->object);
    return 0;
}

void deallocate(PyObject* self) {
    PyTypeObject* const type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    // An owner may keep a view that keeps an owner, and so on, as often as somebody likes.
    Py_TRASHCAN_BEGIN(self, deallocate) {
        const KeptException kept;
        Owner* const owner = cast(self);
        delete owner->operand;
        Py_XDECREF(owner->object);
    }
    type->tp_free(self);
    Py_DECREF(type);
    Py_TRASHCAN_END
}

PyTypeObject* owner_type() {
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                                  {Py_tp_traverse, reinterpret_cast<void*>(traverse_owner)},
                                  {Py_tp_doc, const_cast<char*>("What keeps the bytes of a Memory.")},
                                  {0, nullptr}};
    static PyType_Spec spec{
        "dnnmove._core.MemoryOwner", sizeof(Owner), 0,
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};
    static auto* const type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
    return type;
}

void deallocate_block(PyObject* self) {
    PyTypeObject* const type = Py_TYPE(self);
    const Block* const block = reinterpret_cast<Block*>(self);
    free_buffer(block->buffer);
    if (block->tensor != nullptr && block->tensor->deleter != nullptr) {
        const KeptException kept;
        block->tensor->deleter(block->tensor);
    }
    type->tp_free(self);
    Py_DECREF(type);
}

PyTypeObject* block_type() {
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(deallocate_block)},
                                  {Py_tp_doc, const_cast<char*>("What keeps the bytes of a Memory.")},
                                  {0, nullptr}};
    static PyType_Spec spec{"dnnmove._core.MemoryBlock", sizeof(Block), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};
    static auto* const type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
    return type;
}

py::object make(PyTypeObject* type) { return py::reinterpret_steal<py::object>(checked(type->tp_alloc(type, 0)).release()); }

}  // namespace

py::object own_block(void* block) {
    std::unique_ptr<void, void (*)(void*)> held(block, &free_buffer);
    py::object owner = make(block_type());
    reinterpret_cast<Block*>(owner.ptr())->buffer = held.release();
    return owner;
}

py::object own_array(py::object object, std::unique_ptr<Operand> operand) {
    py::object owner = make(owner_type());
    cast(owner.ptr())->object = object.release().ptr();
    cast(owner.ptr())->operand = operand.release();
    return owner;
}

py::object own_tensor(DLManagedTensorVersioned* tensor) {
    const auto drop = [](DLManagedTensorVersioned* held) {
        if (held->deleter != nullptr) held->deleter(held);
    };
    std::unique_ptr<DLManagedTensorVersioned, decltype(drop)> held(tensor, drop);
    py::object owner = make(block_type());
    reinterpret_cast<Block*>(owner.ptr())->tensor = held.release();
    return owner;
}

void tell_written(PyObject* owner) {
    if (Py_TYPE(owner) != owner_type()) return;
    const Operand* const operand = cast(owner)->operand;
    if (operand != nullptr && operand->kind() == Operand::Kind::torch) {
        torch_tensors::increment_version(cast(owner)->object);
    }
}

}  // namespace dnnmove::python
