// How errors cross between C++ and Python.
#include "python/errors.hpp"

#include <pybind11/pybind11.h>

#include <new>
#include <string_view>

#include "onednn/onednn_errors.hpp"

namespace py = pybind11;

namespace dnnmove {
namespace {

// numpy.exceptions.AxisError, or numpy.AxisError before NumPy 1.25; kept for the life of the process.
PyObject* axis_error_type() noexcept {
    static PyObject* type = nullptr;
    if (type == nullptr) {
        PyRef module = PyRef::steal(PyImport_ImportModule("numpy.exceptions"));
        if (!module) {
            PyErr_Clear();
            module = PyRef::steal(PyImport_ImportModule("numpy"));
        }
        if (module) type = PyObject_GetAttrString(module.get(), "AxisError");
        if (type == nullptr) {
            PyErr_Clear();
            return PyExc_ValueError;
        }
    }
    return type;
}

}  // namespace

std::string ArgumentName::text() const {
    std::string text(name_);
    if (position_ >= 0) text.append("[").append(std::to_string(position_)).append("]");
    return text;
}

PyRef checked(PyObject* object) {
    if (object == nullptr) throw PythonError{};
    return PyRef::steal(object);
}

namespace {

// Whoever threw PythonError has set Python's exception; but some functions of the C API fail without one where there is
// no memory for it.
void confirm_python_error() noexcept {
    if (PyErr_Occurred() == nullptr) PyErr_NoMemory();
}

}  // namespace

void drop_failed_attempt() {
    if (PyErr_Occurred() == nullptr) return;
    if (PyErr_ExceptionMatches(PyExc_MemoryError) != 0) throw PythonError{};
    PyErr_Clear();
}

PyObject* set_python_error() noexcept {
    try {
        throw;
    } catch (const PythonError&) {
        confirm_python_error();
    } catch (const AxisError& error) {
        PyErr_SetString(axis_error_type(), error.what());
    } catch (const IndexError& error) {
        PyErr_SetString(PyExc_IndexError, error.what());
    } catch (const TypeError& error) {
        PyErr_SetString(PyExc_TypeError, error.what());
    } catch (const ValueError& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const python::OneDnnError& error) {
        python::set_onednn_error(error);
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (py::error_already_set& error) {
        error.restore();
    } catch (const py::builtin_exception& error) {
        error.set_error();
    } catch (const std::length_error& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::exception& error) {
        const std::string_view text = error.what();
        // pybind11's word for a tuple, list, dict or string that found no memory.
        if (text.substr(0, 18) == "Could not allocate") return PyErr_NoMemory();
        PyErr_SetString(PyExc_RuntimeError, abbreviated(text).c_str());
    } catch (...) {
        PyErr_SetString(PyExc_RuntimeError, "dnnmove failed for an unknown reason");
    }
    return nullptr;
}

std::string type_name(PyObject* object) {
    const PyRef type = PyRef::share(reinterpret_cast<PyObject*>(Py_TYPE(object)));
    const PyRef name = PyRef::steal(PyObject_GetAttrString(type.get(), "__qualname__"));
    const PyRef module = PyRef::steal(PyObject_GetAttrString(type.get(), "__module__"));
    const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
    const char* room = module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8(module.get()) : nullptr;
    if (text == nullptr || room == nullptr) {
        PyErr_Clear();
        return abbreviated(Py_TYPE(object)->tp_name, kMostQuoted);
    }
    const std::string prefix(room);
    return abbreviated(prefix == "builtins" ? text : prefix + "." + text, kMostQuoted);
}

std::string short_repr(PyObject* object) {
    const PyRef repr = PyRef::steal(PyObject_Repr(object));
    const char* text = repr ? PyUnicode_AsUTF8(repr.get()) : nullptr;
    if (text == nullptr) {
        PyErr_Clear();
        return type_name(object);
    }
    std::string shortened;  // on one line
    for (const char* letter = text; *letter != '\0'; ++letter) {
        const bool space = *letter == ' ' || *letter == '\n';
        if (!space) shortened += *letter;
        if (space && !shortened.empty() && shortened.back() != ' ') shortened += ' ';
    }
    if (shortened.size() > 60) {
        std::size_t end = 57;
        while (end > 0 && (static_cast<unsigned char>(shortened[end]) & 0xC0U) == 0x80U) --end;
        shortened = shortened.substr(0, end) + "...";
    }
    return shortened;
}

void register_errors() {
    py::register_local_exception_translator([](std::exception_ptr pointer) {
        try {
            if (pointer) std::rethrow_exception(pointer);
        } catch (...) {
            set_python_error();
        }
    });
}

}  // namespace dnnmove
