// Engine, Stream, the ARG_* numbers, and oneDNN's process-wide settings.
#include "primitives/engine_stream.hpp"

#include <limits>

#include "arguments/function.hpp"
#include "arguments/parse.hpp"
#include "onednn/onednn.hpp"
#include "python/gil.hpp"
#include "python/objects.hpp"
#include "reference/engine_stream.hpp"
#include "runtime/error.hpp"

namespace py = pybind11;

namespace dnnmove::python {
namespace {

std::shared_ptr<onednn::Engine> make_engine(const py::object& kind_object, const py::object& index) {
    const std::string kind(parse_text(kind_object.ptr(), "kind"));
    if (kind != "cpu") {
        throw ValueError("kind ('" + kind +
                         "') must be 'cpu': dnnmove moves data of the CPU's memory, and has no other engine");
    }
    const std::int64_t position = parse_integer(index.ptr(), "index");
    const auto count = static_cast<std::int64_t>(onednn::Engine::count());
    if (position < 0 || position >= count) {
        throw ValueError("index (" + std::to_string(position) + ") must lie in [0, " + std::to_string(count) + ")");
    }
    return onednn::Engine::cpu();
}

// oneDNN's engine::get_count.
std::size_t count_engines(const py::object& kind_object) {
    const std::string kind(parse_text(kind_object.ptr(), "kind"));
    if (kind != "cpu" && kind != "gpu") throw ValueError("kind ('" + kind + "') must be 'cpu' or 'gpu'");
    return kind == "cpu" ? onednn::Engine::count() : 0;
}

int to_positive(const py::object& value, const char* argument) {
    const std::int64_t number = parse_integer(value.ptr(), argument);
    if (number < 0 || number > std::numeric_limits<int>::max()) {
        throw ValueError(std::string(argument) + " (" + std::to_string(number) + ") must be 0 or more and fit into 31 bits");
    }
    return static_cast<int>(number);
}

}  // namespace

void register_engine_stream(py::module_& module) {
    py::class_<onednn::Engine, std::shared_ptr<onednn::Engine>> engine(module, "Engine", reference::engine_stream::kEngine);
    engine
        .def(py::init(&make_engine), py::arg("kind") = "cpu", py::arg("index") = 0,
             "__init__(self, kind='cpu', index=0)\n--\n\n")
        .def_static("count", &count_engines, py::arg("kind") = "cpu", reference::engine_stream::kEngineCount)
        .def_property_readonly(
            "kind", [](const onednn::Engine&) { return "cpu"; }, "The kind of engine: \"cpu\".")
        .def_property_readonly(
            "index", [](const onednn::Engine&) { return 0; }, "The engine's position among those of its kind: 0.")
        .def("__reduce__", [](const py::object& self) { return py::make_tuple(py::type::of(self), py::make_tuple("cpu", 0)); })
        .def("__eq__",
             [](const onednn::Engine&, const py::object& other) -> py::object {
                 if (!py::isinstance<onednn::Engine>(other)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
                 return py::bool_(true);
             })
        .def("__hash__", [](const onednn::Engine&) { return 1; })
        .def("__repr__", [](const onednn::Engine&) { return "Engine('cpu', 0)"; });
    present(engine);

    py::class_<onednn::Stream, std::shared_ptr<onednn::Stream>> stream(module, "Stream", reference::engine_stream::kStream);
    stream
        .def(py::init([](const py::object& on) { return std::make_shared<onednn::Stream>(to_engine(on)); }),
             py::arg("engine") = py::none(), "__init__(self, engine=None)\n--\n\n")
        .def_property_readonly("engine", &onednn::Stream::engine, "The Engine.")
        .def("wait", &onednn::Stream::wait, py::call_guard<ReleasedGil>(), reference::engine_stream::kStreamWait)
        .def("__reduce__",
             [](const py::object& self) { return py::make_tuple(py::type::of(self), py::make_tuple(self.attr("engine"))); })
        .def("__repr__", [](const onednn::Stream&) { return "Stream(Engine('cpu', 0))"; });
    present(stream);

    module.attr("ARG_SRC") = static_cast<int>(onednn::kArgSrc);
    module.attr("ARG_DST") = static_cast<int>(onednn::kArgDst);
    module.attr("ARG_DIFF_SRC") = static_cast<int>(onednn::kArgDiffSrc);
    module.attr("ARG_DIFF_DST") = static_cast<int>(onednn::kArgDiffDst);
    module.attr("ARG_SCRATCHPAD") = static_cast<int>(onednn::kArgScratchpad);
    module.attr("ARG_MULTIPLE_SRC") = static_cast<int>(onednn::kArgMultipleSrc);
    module.attr("ARG_MULTIPLE_DST") = static_cast<int>(onednn::kArgMultipleDst);

    module.def("onednn_version", &onednn::version, reference::engine_stream::kOnednnVersion);
    module.def(
        "set_primitive_cache_capacity", [](const py::object& n) { onednn::set_primitive_cache_capacity(to_positive(n, "n")); },
        py::arg("n"), reference::engine_stream::kSetPrimitiveCacheCapacity);
    module.def("get_primitive_cache_capacity", &onednn::primitive_cache_capacity,
               reference::engine_stream::kGetPrimitiveCacheCapacity);
}

}  // namespace dnnmove::python
