// The Python face of the process: threads, caches, how the extension was built.
#include "calls/runtime.hpp"

#include <pybind11/pybind11.h>

#include <vector>

#include "arguments/function.hpp"
#include "arguments/parse.hpp"
#include "call/plan_cache.hpp"
#include "onednn/onednn.hpp"
#include "onednn/onednn_threads.hpp"
#include "python/errors.hpp"
#include "python/initialized.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/isa.hpp"
#include "runtime/threads.hpp"

namespace py = pybind11;

namespace dnnmove {
namespace {

// The context manager num_threads: this thread's limit while it is entered. One object may be
// entered again while it is entered.
class ThreadLimit {
public:
    using InitializedOnly = void;
    explicit ThreadLimit(int threads) : threads_(threads) {}
    void enter() { before_.push_back(exchange_thread_limit(threads_)); }
    int threads() const { return threads_; }
    void exit() {
        if (before_.empty()) throw ValueError("num_threads was not entered");
        exchange_thread_limit(before_.back());
        before_.pop_back();
    }

private:
    int threads_;
    std::vector<int> before_;  // innermost last
};

py::tuple names(const std::vector<Isa>& isas) {
    py::tuple tuple(isas.size());
    for (std::size_t i = 0; i < isas.size(); ++i) tuple[i] = std::string(to_string(isas[i]));
    return tuple;
}

// Each instruction set has its own files, and all of an architecture are compiled.
std::vector<Isa> compiled_isas() {
#if defined(__x86_64__)
    return {Isa::avx512_vbmi, Isa::avx512, Isa::avx2, Isa::scalar};
#else
    return {Isa::scalar};
#endif
}

py::dict build_info() {
    py::dict info;
    info["version"] = DNNMOVE_VERSION;
#if defined(__clang__)
    info["compiler"] = "Clang " __clang_version__;
#else
    info["compiler"] = "GCC " __VERSION__;
#endif
    info["cxx_standard"] = static_cast<long>(__cplusplus);
    info["isa"] = std::string(to_string(best_isa()));
    info["isas_compiled"] = names(compiled_isas());
    info["isas_available"] = names(available_isas());
    info["threads"] = "dnnmove's own pool";
    const std::string openmp = onednn::openmp_library();
    info["openmp"] = openmp.empty() ? py::object(py::none()) : py::object(py::str(openmp));
    info["onednn_version"] = onednn::version();
    info["onednn_hash"] = onednn::version_hash();
    info["onednn_runtime"] = onednn::cpu_runtime();
    return info;
}

// For tests.
py::object buffer_pool() {
    const BufferPool* pool = process_pool();
    if (pool == nullptr) return py::none();
    const BufferPool::State state = pool->state();
    py::dict info;
    info["limit"] = state.limit;
    info["idle_bytes"] = state.idle_bytes;
    info["idle_buffers"] = state.idle_buffers;
    info["live_buffers"] = state.live_buffers;
    return info;
}

}  // namespace

void register_runtime(py::module_& module) {
    best_isa();  // a wrong DNNMOVE_ISA fails the import, not a later call
    check_thread_environment();

    module.def("build_info", build_info,
               "build_info()\n--\n\nReturn how the extension was built and what it runs on.\n\n"
               "Returns\n-------\ndict\n    version, compiler, cxx_standard, isa (in use), isas_compiled,\n"
               "    isas_available, threads (whose the native engine uses), openmp (file name of\n"
               "    the OpenMP library that oneDNN uses, None without), onednn_version,\n"
               "    onednn_hash, onednn_runtime (what its threads are).\n\n"
               "Examples\n--------\n>>> import dnnmove as dm\n"
               ">>> dm.build_info()[\"isa\"] in dm.build_info()[\"isas_available\"]\nTrue");
    module.def(
        "set_num_threads", [](py::handle n) { set_num_threads(parse_threads(n.ptr(), "n")); }, py::arg("n"),
        R"doc(set_num_threads(n)
--

Set how many threads a call of this process may use, for dnnmove only.

Parameters
----------
n : int
    In [1, 4096]. No more run than the affinity mask of the process has CPUs.

Notes
-----
At the start it is the environment variable DNNMOVE_NUM_THREADS, else OMP_NUM_THREADS, else the CPUs that affinity
mask and cgroup quota leave to the process. The threads form one pool, made when work first needs them, by a forked
child anew; small calls stay on the caller's thread, and a call never waits for a thread that has not begun.

Examples
--------
>>> import dnnmove as dm
>>> before = dm.get_num_threads()
>>> dm.set_num_threads(1)
>>> dm.set_num_threads(before)
)doc");
    module.def("get_num_threads", &get_num_threads,
               "get_num_threads()\n--\n\nReturn how many threads a call on this thread may use.\n\nReturns\n-------\nint\n\n"
               "Examples\n--------\n>>> import dnnmove as dm\n>>> dm.get_num_threads() >= 1\nTrue");
    process_pool();  // and so does a wrong DNNMOVE_POOL
    module.def(
        "clear_caches",
        [] {
            clear_plans();
            if (BufferPool* pool = process_pool()) pool->clear();
        },
        "clear_caches()\n--\n\nForget all plans, and return the memory kept for new results.");
    module.def(
        "_abbreviated", [](const std::string& text) { return abbreviated(text); }, py::arg("text"),
        "Return the text, its middle left out where it is longer than any message or repr is.");
    module.def("_buffer_pool", buffer_pool, "Return the state of the pool of result buffers, None where it is off.");
    module.def("_cached_plans", [] { return cached_plans().plans; }, "Return the number of plans in the shared cache.");
    module.def("_cached_plan_bytes", [] { return cached_plans().bytes; }, "Return the bytes that the shared cache holds.");
    py::class_<ThreadLimit> limit(module, "num_threads",
                                  "Context manager: calls of this thread use at most `n` threads inside.\n\n"
                                  "Parameters\n----------\nn : int\n    In [1, 4096].\n\n"
                                  "Examples\n--------\n>>> import dnnmove as dm\n>>> with dm.num_threads(1):\n"
                                  "...     dm.get_num_threads()\n1");
    limit
        .def(py::init([](py::handle n) { return ThreadLimit(parse_threads(n.ptr(), "n")); }), py::arg("n"),
             "__init__(self, n)\n--\n\n")
        .def("__enter__",
             [](py::object self) {
                 self.cast<ThreadLimit&>().enter();
                 return self;
             })
        .def("__exit__", [](ThreadLimit& self, const py::args&) { self.exit(); })
        .def("__repr__", [](const ThreadLimit& self) { return "num_threads(" + std::to_string(self.threads()) + ")"; });
    present(limit);
}

}  // namespace dnnmove
