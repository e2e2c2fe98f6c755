// Whether two NumPy dtypes are the same, found without running Python code.
#include "arguments/descr.hpp"

#include "python/errors.hpp"

namespace dnnmove {
namespace {

bool same_text(PyObject* a, PyObject* b) {
    return a == b || (PyUnicode_Check(a) && PyUnicode_Check(b) && PyUnicode_Compare(a, b) == 0);
}

// A dict of nothing but plain strings can be asked for one without calling anybody's __hash__ or __eq__.
bool has_plain_keys(PyObject* fields) {
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    while (PyDict_Next(fields, &position, &key, nullptr)) {
        if (!PyUnicode_CheckExact(key)) return false;
    }
    return true;
}

// The field's (dtype, offset) or (dtype, offset, title); borrowed, null where there is none.
PyObject* find_field(PyObject* fields, bool plain, PyObject* name) {
    if (plain && PyUnicode_CheckExact(name)) return PyDict_GetItemWithError(fields, name);
    Py_ssize_t position = 0;
    PyObject *key = nullptr, *field = nullptr;
    while (PyDict_Next(fields, &position, &key, &field)) {
        if (same_text(key, name)) return field;
    }
    return nullptr;
}

bool same_field(PyObject* a, PyObject* b) {
    const Py_ssize_t size = PyTuple_GET_SIZE(a);
    if (size != PyTuple_GET_SIZE(b)) return false;
    if (PyLong_AsSsize_t(PyTuple_GET_ITEM(a, 1)) != PyLong_AsSsize_t(PyTuple_GET_ITEM(b, 1))) return false;
    if (size > 2 && !same_text(PyTuple_GET_ITEM(a, 2), PyTuple_GET_ITEM(b, 2))) return false;
    return same_descr(reinterpret_cast<PyArray_Descr*>(PyTuple_GET_ITEM(a, 0)),
                      reinterpret_cast<PyArray_Descr*>(PyTuple_GET_ITEM(b, 0)));
}

bool same_fields(PyArray_Descr* a, PyArray_Descr* b) {
    PyObject* names = PyDataType_NAMES(a);
    PyObject* other_names = PyDataType_NAMES(b);
    const Py_ssize_t count = PyTuple_GET_SIZE(names);
    if (count != PyTuple_GET_SIZE(other_names)) return false;
    PyObject* fields = PyDataType_FIELDS(a);
    PyObject* other_fields = PyDataType_FIELDS(b);
    const bool plain = has_plain_keys(fields);
    const bool other_plain = has_plain_keys(other_fields);
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* name = PyTuple_GET_ITEM(names, i);
        PyObject* other_name = PyTuple_GET_ITEM(other_names, i);
        if (!same_text(name, other_name)) return false;
        PyObject* field = find_field(fields, plain, name);
        PyObject* other = find_field(other_fields, other_plain, other_name);
        if (field == nullptr || other == nullptr || !same_field(field, other)) return false;
    }
    return true;
}

}  // namespace

bool same_descr(PyArray_Descr* a, PyArray_Descr* b) {
    if (a == b) return true;
    const bool nested = PyDataType_HASFIELDS(a) || PyDataType_HASSUBARRAY(a);
    if (!nested && !PyDataType_HASFIELDS(b) && !PyDataType_HASSUBARRAY(b)) return PyArray_EquivTypes(a, b) != 0;
    if (a->type_num != b->type_num || PyDataType_ELSIZE(a) != PyDataType_ELSIZE(b)) return false;
    if (PyDataType_HASFIELDS(a) != PyDataType_HASFIELDS(b)) return false;
    if (PyDataType_HASSUBARRAY(a) != PyDataType_HASSUBARRAY(b)) return false;
    if (PyDataType_HASFIELDS(a)) return same_fields(a, b);
    const PyArray_ArrayDescr* mine = PyDataType_SUBARRAY(a);
    const PyArray_ArrayDescr* theirs = PyDataType_SUBARRAY(b);
    // Tuples of plain integers.
    const int equal = PyObject_RichCompareBool(mine->shape, theirs->shape, Py_EQ);
    if (equal < 0) throw PythonError{};
    return equal == 1 && same_descr(mine->base, theirs->base);
}

}  // namespace dnnmove
