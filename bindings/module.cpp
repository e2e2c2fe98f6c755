// The extension module dnnmove._core: registers what the other files define.
#define DNNMOVE_IMPORT_NUMPY_API
#include "python/numpy_api.hpp"

#include <pybind11/pybind11.h>

#include "arguments/function.hpp"
#include "calls/eager.hpp"
#include "calls/engine_interface.hpp"
#include "calls/runtime.hpp"
#include "calls/torch_direct.hpp"
#include "calls/trace.hpp"
#include "calls/tuning.hpp"
#include "chains/chain.hpp"
#include "onednn/onednn_errors.hpp"
#include "primitives/engine_stream.hpp"
#include "primitives/openvino_ops.hpp"
#include "primitives/prop_kind.hpp"
#include "primitives/reorder.hpp"
#include "primitives/reorder_primitive.hpp"
#include "primitives/shuffle.hpp"
#include "python/errors.hpp"
#include "tensors/memory.hpp"
#include "tensors/memory_desc.hpp"

namespace {

int import_numpy() {
    import_array1(-1);
    return 0;
}

}  // namespace

// The module's own initialisation; Python calls PyInit__core below.
PYBIND11_MODULE(_core_in_main, module) {
    if (import_numpy() != 0) throw pybind11::error_already_set();
    // Every docstring begins with its own signature, in the form that inspect.signature reads.
    pybind11::options docstrings;
    docstrings.disable_function_signatures();
    dnnmove::adopt_pybind11_types();
    module.attr("__version__") = DNNMOVE_VERSION;
    dnnmove::register_errors();
    dnnmove::python::register_onednn_errors(module);
    dnnmove::register_runtime(module);
    dnnmove::trace::register_trace(module);
    dnnmove::python::register_prop_kind(module);
    dnnmove::python::register_engine_stream(module);
    dnnmove::python::register_memory_desc(module);
    dnnmove::python::register_memory(module);
    dnnmove::python::register_chain(module);
    dnnmove::register_eager(module.ptr());
    dnnmove::register_openvino_ops(module);
    dnnmove::python::register_reorder(module);
    dnnmove::python::register_reorder_primitive(module);
    dnnmove::python::register_shuffle(module);
    dnnmove::register_tuning(module);
    dnnmove::register_torch_direct(module.ptr());
    dnnmove::register_engine_interface(module.ptr());
    dnnmove::present(module);
}

// pybind11 and NumPy keep what belongs to one interpreter; in another one this would wait for itself for ever.
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError,
                        "dnnmove cannot be imported in a subinterpreter: NumPy supports the main interpreter only");
        return nullptr;
    }
    return PyInit__core_in_main();
}
