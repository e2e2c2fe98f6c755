// The Python face of the process: threads, caches, how the extension was built.
#include "calls/runtime.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <vector>

#include "arguments/function.hpp"
#include "arguments/parse.hpp"
#include "call/plan_cache.hpp"
#include "call/prepare.hpp"
#include "onednn/onednn.hpp"
#include "onednn/onednn_threads.hpp"
#include "python/errors.hpp"
#include "python/initialized.hpp"
#include "reference/runtime.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/isa.hpp"
#include "runtime/threads.hpp"

namespace py = pybind11;

namespace dnnmove {
namespace {

// The context manager num_threads: this thread's limit while it is entered. One object may be entered again while it is
// entered, by other threads, too, each of which gets back its own limit. A thread that leaves what another has entered keeps
// its own.
class ThreadLimit {
public:
    using InitializedOnly = void;
    explicit ThreadLimit(int threads) : threads_(threads) {}
    void enter() { before_.push_back({this_thread(), exchange_thread_limit(threads_)}); }
    int threads() const { return threads_; }
    void exit() {
        if (before_.empty()) throw ValueError("num_threads was not entered");
        const auto own = std::find_if(before_.rbegin(), before_.rend(),
                                      [](const Before& before) { return before.thread == this_thread(); });
        if (own == before_.rend()) {
            before_.pop_back();
            return;
        }
        exchange_thread_limit(own->threads);
        before_.erase(std::next(own).base());
    }

private:
    // Unlike a std::thread::id, no other thread has it later.
    static std::uint64_t this_thread() noexcept {
        static std::atomic<std::uint64_t> next{0};
        static thread_local const std::uint64_t number = next++;
        return number;
    }
    struct Before {
        std::uint64_t thread;
        int threads;
    };
    int threads_;
    std::vector<Before> before_;  // innermost last
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
    prepare_process();  // a wrong environment variable fails the import, not a later call

    module.def("build_info", build_info, reference::runtime::kBuildInfo);
    module.def(
        "set_num_threads", [](py::handle n) { set_num_threads(parse_threads(n.ptr(), "n")); }, py::arg("n"),
        reference::runtime::kSetNumThreads);
    module.def("get_num_threads", &get_num_threads, reference::runtime::kGetNumThreads);
    module.def(
        "clear_caches",
        [] {
            clear_plans();
            if (BufferPool* pool = process_pool()) pool->clear();
        },
        reference::runtime::kClearCaches);
    module.def(
        "_abbreviated", [](const std::string& text) { return abbreviated(text); }, py::arg("text"),
        "Return the text, its middle left out where it is longer than any message or repr is.");
    module.def("_buffer_pool", buffer_pool, "Return the state of the pool of result buffers, None where it is off.");
    module.def("_cached_plans", [] { return cached_plans().plans; }, "Return the number of plans in the shared cache.");
    module.def("_cached_plan_bytes", [] { return cached_plans().bytes; }, "Return the bytes that the shared cache holds.");
    py::class_<ThreadLimit> limit(module, "num_threads", reference::runtime::kNumThreads);
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
