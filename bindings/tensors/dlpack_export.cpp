// Memory handed over through DLPack: new memory for other libraries, capsules, and the object that gives one away.
#include "tensors/dlpack_export.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "array/dims.hpp"
#include "array/overlap.hpp"
#include "python/errors.hpp"
#include "runtime/buffer_pool.hpp"

namespace dnnmove {
namespace {

// One block of memory: both managed forms and the dims. The data are a second block, or somebody's, or few: then they
// follow the dims.
struct Block {
    DLManagedTensorVersioned versioned;
    DLManagedTensor legacy;
    void* memory;
    PyObject* owner;
    std::size_t bytes;  // of the whole block
};

constexpr std::size_t kInlineBytes = std::size_t{32} << 10;  // data up to here follow the block

// The block that this thread gave back last, for the next result of about its size: small results come and go one by
// one, and malloc would merge each with its neighbours, and look through all small chunks for more to merge.
class SpareBlock {
public:
    ~SpareBlock() {
        std::free(block_);
        block_ = nullptr;
        closed_ = true;
    }
    // Null where there is none that fits.
    Block* take(std::size_t bytes) noexcept {
        if (block_ == nullptr || block_->bytes < bytes || block_->bytes / 2 > bytes) return nullptr;
        return std::exchange(block_, nullptr);
    }
    void give(Block* block) noexcept {
        if (closed_ || block->bytes > 2 * kInlineBytes) {
            std::free(block);
        } else {
            std::free(std::exchange(block_, block));
        }
    }

private:
    Block* block_ = nullptr;
    bool closed_ = false;  // the thread ends
};

thread_local SpareBlock spare_block;

void free_block(void* context) noexcept {
    auto* block = static_cast<Block*>(context);
    free_buffer(block->memory);
    // A consumer may outlive the interpreter.
    if (block->owner != nullptr && Py_IsInitialized() != 0) {
        const PyGILState_STATE state = PyGILState_Ensure();
        {
            const KeptException kept;
            Py_DECREF(block->owner);
        }
        PyGILState_Release(state);
    }
    spare_block.give(block);
}

// Its dims follow the block: shape, then strides in elements, which the caller fills in; then `data_bytes`, aligned.
Block* make_block(std::span<const std::int64_t> shape, std::size_t data_bytes = 0) {
    const std::size_t padding = data_bytes == 0 ? 0 : kBufferAlignment;
    const std::size_t bytes = sizeof(Block) + 2 * shape.size() * sizeof(std::int64_t) + padding + data_bytes;
    Block* block = spare_block.take(bytes);
    if (block == nullptr) {
        block = static_cast<Block*>(std::malloc(bytes));
        if (block == nullptr) throw std::bad_alloc();
        block->bytes = bytes;
    }
    std::copy(shape.begin(), shape.end(), reinterpret_cast<std::int64_t*>(block + 1));
    block->memory = nullptr;
    block->owner = nullptr;
    return block;
}

DLManagedTensorVersioned* complete(Block* block, void* data, DLDataType dtype, std::size_t ndim) {
    auto* dims = reinterpret_cast<std::int64_t*>(block + 1);
    const DLTensor tensor{data, {kDLCPU, 0}, static_cast<std::int32_t>(ndim), dtype, dims, dims + ndim, 0};
    block->versioned.version = {1, 0};
    block->versioned.manager_ctx = block;
    block->versioned.deleter = [](DLManagedTensorVersioned* self) { free_block(self->manager_ctx); };
    block->versioned.flags = 0;
    block->versioned.dl_tensor = tensor;
    block->legacy.dl_tensor = tensor;
    block->legacy.manager_ctx = block;
    block->legacy.deleter = [](DLManagedTensor* self) { free_block(self->manager_ctx); };
    return &block->versioned;
}

// ---- The exporter: an object with __dlpack__ and __dlpack_device__. ----

struct Exporter {
    PyObject_HEAD
    DLManagedTensorVersioned* tensor;
};

void exporter_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    auto* tensor = reinterpret_cast<Exporter*>(self)->tensor;
    if (tensor != nullptr) tensor->deleter(tensor);
    type->tp_free(self);
    Py_DECREF(type);
}

void drop_versioned(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned") == 0) return;
    auto* tensor = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    tensor->deleter(tensor);
}

void drop_legacy(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;
    auto* tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    tensor->deleter(tensor);
}

// Null with an exception set: the tensor is still the caller's.
PyObject* new_capsule(DLManagedTensorVersioned* tensor, bool versioned) {
    if (versioned) return PyCapsule_New(tensor, "dltensor_versioned", drop_versioned);
    return PyCapsule_New(&static_cast<Block*>(tensor->manager_ctx)->legacy, "dltensor", drop_legacy);
}

PyObject* exporter_dlpack(PyObject* self, PyObject*, PyObject* keywords) {
    auto* exporter = reinterpret_cast<Exporter*>(self);
    if (exporter->tensor == nullptr) {
        PyErr_SetString(PyExc_BufferError, "the memory was given away already");
        return nullptr;
    }
    PyObject* version = keywords == nullptr ? nullptr : PyDict_GetItemString(keywords, "max_version");
    const bool versioned = version != nullptr && PyTuple_Check(version) && PyTuple_GET_SIZE(version) > 0 &&
                           PyLong_AsLong(PyTuple_GET_ITEM(version, 0)) >= 1;
    PyErr_Clear();
    PyObject* const capsule = new_capsule(exporter->tensor, versioned);
    if (capsule != nullptr) exporter->tensor = nullptr;
    return capsule;
}

PyObject* exporter_device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", static_cast<int>(kDLCPU), 0); }

PyTypeObject* exporter_type() {
    static PyTypeObject* type = nullptr;
    if (type == nullptr) {
        static PyMethodDef methods[] = {
            {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(exporter_dlpack)),
             METH_VARARGS | METH_KEYWORDS, nullptr},
            {"__dlpack_device__", exporter_device, METH_NOARGS, nullptr},
            {nullptr, nullptr, 0, nullptr}};
        static PyType_Slot slots[] = {
            {Py_tp_dealloc, reinterpret_cast<void*>(exporter_dealloc)}, {Py_tp_methods, methods}, {0, nullptr}};
        static PyType_Spec spec = {"dnnmove._core._Exporter", sizeof(Exporter), 0, Py_TPFLAGS_DEFAULT, slots};
        type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    }
    return type;
}

}  // namespace

DLManagedTensorVersioned* allocate_tensor(DLDataType dtype, std::int64_t itemsize, std::span<const std::int64_t> shape,
                                          std::span<const std::int64_t> strides) {
    const std::size_t ndim = shape.size();
    std::int64_t count = 1;
    for (const std::int64_t length : shape) count *= length;
    const Extent extent = strides.empty() ? Extent{0, count * itemsize} : extent_of(shape, strides, itemsize);
    const auto bytes = static_cast<std::size_t>(extent.high - extent.low);
    const bool gaps = bytes != static_cast<std::size_t>(count * itemsize);
    const bool follows = bytes <= kInlineBytes && !gaps;
    Block* const block = make_block(shape, follows ? bytes : 0);
    auto* const steps = reinterpret_cast<std::int64_t*>(block + 1) + ndim;
    std::int64_t stride = 1;
    for (std::size_t axis = ndim; axis-- > 0;) {
        steps[axis] = strides.empty() ? stride : strides[axis] / itemsize;
        stride *= shape[axis] > 0 ? shape[axis] : 1;
    }
    if (bytes == 0) return complete(block, nullptr, dtype, ndim);
    if (follows) {
        const auto end = reinterpret_cast<std::uintptr_t>(steps + ndim);
        const std::uintptr_t first = (end + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
        return complete(block, reinterpret_cast<std::byte*>(first) - extent.low, dtype, ndim);
    }
    block->memory = gaps ? allocate_zeroed_buffer(bytes) : allocate_buffer(bytes);
    if (block->memory == nullptr) {
        std::free(block);
        throw std::bad_alloc();
    }
    return complete(block, static_cast<std::byte*>(block->memory) - extent.low, dtype, ndim);
}

DLManagedTensorVersioned* lend_tensor(PyObject* owner, void* data, DLDataType dtype, std::int64_t itemsize,
                                      std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
    Block* const block = make_block(shape);
    auto* steps = reinterpret_cast<std::int64_t*>(block + 1) + shape.size();
    for (const std::int64_t stride : strides) *steps++ = stride / itemsize;
    block->owner = Py_NewRef(owner);
    return complete(block, data, dtype, shape.size());
}

PyRef make_capsule(DLManagedTensorVersioned* tensor, bool versioned) {
    PyObject* const capsule = new_capsule(tensor, versioned);
    if (capsule == nullptr) {
        tensor->deleter(tensor);
        throw PythonError{};
    }
    return PyRef::steal(capsule);
}

PyRef make_exporter(DLManagedTensorVersioned* tensor) {
    PyTypeObject* type = exporter_type();
    PyObject* object = type == nullptr ? nullptr : type->tp_alloc(type, 0);
    if (object == nullptr) {
        tensor->deleter(tensor);
        throw PythonError{};
    }
    reinterpret_cast<Exporter*>(object)->tensor = tensor;
    return PyRef::steal(object);
}

}  // namespace dnnmove
