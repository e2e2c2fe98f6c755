// The arrays of one call: what errors say of those that cannot be used.
#include "calls/call_arrays.hpp"

#include <string>

#include "tensors/memory.hpp"

namespace dnnmove {
namespace {

PyRef tuple_of(PyObject* object, std::string_view name, const std::string& what) {
    if (PyTuple_Check(object) || PyList_Check(object)) return checked(PySequence_Tuple(object));
    throw TypeError(std::string(name) + " must be a list or tuple of " + what + ", not " + type_name(object));
}

}  // namespace

PyRef list_of_arrays(PyObject* object, std::string_view name) { return tuple_of(object, name, "arrays"); }

PyRef list_of_arrays(PyObject* object, std::string_view name, std::size_t count, std::string_view each) {
    const std::string what = std::to_string(count) + (count == 1 ? " array, one per " : " arrays, one per ") +
                             std::string(each);
    PyRef items = tuple_of(object, name, what);
    const auto held = static_cast<std::size_t>(PyTuple_GET_SIZE(items.get()));
    if (held != count) throw ValueError(std::string(name) + " must hold " + what + ", but holds " + std::to_string(held));
    return items;
}

void refuse_read_only(const ArgumentName& name) { throw ValueError(name.text() + " is read-only: it must be writeable"); }

void refuse_blocked(const Operand& array, const ArgumentName& name) {
    throw ValueError(name.text() + " (" + array.memory()->desc.repr() +
                     ") has a blocked layout: reorder it to a plain one first");
}

void refuse_dtype(const Operand& array, const ArgumentName& name, const Operand& other, const ArgumentName& other_name) {
    // Both are held first: a dtype's text may be made by Python code.
    const PyRef held = other.keep_descr();
    const std::string own = array.dtype_name();
    throw TypeError(name.text() + ".dtype (" + own + ") must equal " + other_name.text() + ".dtype (" + other.dtype_name() +
                    ")");
}

}  // namespace dnnmove
