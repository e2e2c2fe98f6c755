// Traces of what runs: lines in the format of oneDNN's verbose output, and the records of profiles.
#include "calls/trace.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "arguments/dtype.hpp"
#include "arguments/parse.hpp"
#include "call/plan_cache.hpp"
#include "calls/element_type.hpp"
#include "layout/verbose_text.hpp"
#include "onednn/onednn.hpp"
#include "python/errors.hpp"
#include "python/gil.hpp"
#include "python/integers.hpp"
#include "reference/runtime.hpp"
#include "runtime/isa.hpp"
#include "runtime/threads.hpp"
#include "tensors/memory.hpp"
#include "tensors/memory_desc.hpp"

namespace py = pybind11;

namespace dnnmove::trace {
namespace {

constexpr const char* kVariable = "DNNMOVE_VERBOSE";
constexpr std::size_t kMostArrays = 16;  // of a call with more, a line tells so many

std::atomic<int> level{0};

// The lists of the profiles that are entered; read and written with the GIL. Never destroyed.
std::vector<PyRef>& profiles() {
    static auto* lists = new std::vector<PyRef>();
    return *lists;
}

// One line at a time, and none under way while a process forks: the child would have the lock, or half a line.
struct Printer {
    std::mutex mutex;
    bool begun = false;

    Printer() {
        pthread_atfork([] { printer().mutex.lock(); }, [] { printer().mutex.unlock(); }, [] { printer().mutex.unlock(); });
    }
    static Printer& printer() {
        static auto* made = new Printer();
        return *made;
    }

    void print(const std::string& line) {
        const std::lock_guard lock(mutex);
        if (!begun) begin();
        begun = true;
        put(line);
    }

private:
    static void put(const std::string& line) {
        const std::string whole = "dnnmove_verbose," + line + "\n";
        std::fwrite(whole.data(), 1, whole.size(), stdout);
        std::fflush(stdout);
    }
    static void begin() {
        put(std::string("info,dnnmove v" DNNMOVE_VERSION ", oneDNN v") + onednn::version());
        put("info,cpu,nthr:" + std::to_string(get_num_threads()));
        put("info,cpu,isa:" + std::string(to_string(best_isa())));
        put("info,prim_template:operation,engine,primitive,implementation,prop_kind,memory_descriptors,attributes,"
            "auxiliary,problem_desc,exec_time,bandwidth");
    }
};

// Made when the library is loaded, before anybody can fork.
[[maybe_unused]] Printer& printer_loaded = Printer::printer();

std::string number(const char* format, double value) {
    char text[32];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

// oneDNN's word for a dtype, else NumPy's name; no commas, which part the columns.
std::string word_of(const py::dtype& dtype) {
    using onednn::DataType;
    switch (python::to_onednn(dtype)) {
        case DataType::f32: return "f32";
        case DataType::f64: return "f64";
        case DataType::f16: return "f16";
        case DataType::bf16: return "bf16";
        case DataType::s32: return "s32";
        case DataType::s8: return "s8";
        case DataType::u8: return "u8";
        case DataType::f8_e4m3: return "f8_e4m3";
        case DataType::f8_e5m2: return "f8_e5m2";
        case DataType::undef: break;
    }
    const std::string name = python::name_of(dtype);
    if (name.find_first_of("|<[{") == std::string::npos) return name;
    const auto code = dtype.attr("str").cast<std::string>();
    return code.front() == '>' ? code : code.substr(1);
}

Dims list(std::span<const std::int64_t> span) { return {span.begin(), span.end()}; }

void set_level(int wanted) {
    const int before = level.exchange(wanted);
    watchers += (wanted > 0 ? 1 : 0) - (before > 0 ? 1 : 0);
}

// The level that the environment asks for. oneDNN follows, unless it is asked by a variable of its own.
void read_environment() {
    const char* value = std::getenv(kVariable);
    if (value == nullptr || *value == '\0') return;
    const std::string text(value);
    if (text != "0" && text != "1" && text != "2") {
        throw ValueError(std::string(kVariable) + " (" + text + ") must be 0, 1 or 2");
    }
    set_level(text.front() - '0');
    if (std::getenv("ONEDNN_VERBOSE") == nullptr && std::getenv("DNNL_VERBOSE") == nullptr) onednn::set_verbose(level);
}

PyRef shapes_of(const auto& sources, const auto& destinations) {
    PyRef shapes = checked(PyTuple_New(static_cast<Py_ssize_t>(sources.size() + destinations.size())));
    Py_ssize_t at = 0;
    for (const auto* arrays : {&sources, &destinations}) {
        for (const auto& array : *arrays) {
            PyTuple_SET_ITEM(shapes.get(), at++, python::to_tuple(array.layout.dims).release().ptr());
        }
    }
    return shapes;
}

}  // namespace

std::int64_t Call::now() noexcept {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

void Call::add_source(const Operand& array) {
    Layout layout = array.blocked() ? array.memory()->desc.layout
                                    : Layout::strided(list(array.shape()), list(array.strides()), array.itemsize());
    sources_.push_back({std::move(layout), array.keep_descr(), &array, {}});
}

void Call::add_source(const python::MemoryDesc& desc) {
    sources_.push_back({desc.layout, PyRef::share(desc.dtype.ptr()), nullptr, {}});
}

void Call::add_destination(const Dims& shape, const Dims& strides, const ResultType* type) {
    if (type != nullptr) {
        destinations_.push_back({Layout::strided(shape, strides, type->itemsize), type->dtype, nullptr, {}});
        return;
    }
    destinations_.push_back(sources_.front());
    destinations_.back().layout = Layout::strided(shape, strides, sources_.front().layout.itemsize);
}

void Call::add_destination(const python::MemoryDesc& desc) {
    destinations_.push_back({desc.layout, PyRef::share(desc.dtype.ptr()), nullptr, {}});
}

std::string Call::describe(const CallPlan& plan) const {
    // Of the arrays of a chain, intermediates among them, those that this pass uses.
    std::vector<bool> reads(std::max(plan.inputs().size(), sources_.size()));
    std::vector<bool> writes(std::max(plan.outputs().size(), destinations_.size()));
    for (const Transfer& transfer : plan.transfers()) {
        for (std::int64_t k = 0; transfer.src >= 0 && k < transfer.repeat.count; ++k) {
            reads[static_cast<std::size_t>(transfer.src + k * transfer.repeat.src_step)] = true;
        }
        writes[static_cast<std::size_t>(transfer.dst)] = true;
    }
    const auto layouts = [&](const std::vector<bool>& used, const std::vector<Placement>& placed,
                             const std::vector<Array>& arrays) {
        std::vector<Array> found;
        for (std::size_t k = 0; k < used.size(); ++k) {
            if (!used[k]) continue;
            const Array& known = k < arrays.size() ? arrays[k] : sources_.front();
            found.push_back(known);
            if (!placed.empty())
                found.back().layout = Layout::strided(placed[k].shape, placed[k].strides, known.layout.itemsize);
        }
        return found;
    };
    const std::vector<Array> from = layouts(reads, plan.inputs(), sources_);
    const std::vector<Array> to = layouts(writes, plan.outputs(), destinations_);
    const Title& title = plan.title();
    std::string arrays;
    std::size_t told = 0;
    const auto tell = [&](const std::string& role, const Array& array) {
        if (++told > kMostArrays) return;
        if (told > 1) arrays += ' ';
        arrays += role + array.word + verbose_text(array.layout);
    };
    // oneDNN's shuffle has one descriptor for both sides.
    const bool one = title.name == "shuffle" && from.size() == 1 && to.size() == 1 && from[0].layout == to[0].layout;
    for (const Array& array : from) tell(one ? "data_" : "src_", array);
    for (const Array& array : to) {
        if (!one) tell("dst_", array);
    }
    if (told > kMostArrays) arrays += " and " + std::to_string(told - kMostArrays) + " more";
    std::string problem;
    for (std::size_t k = 0; k < std::min(from.size(), kMostArrays); ++k) {
        if (k > 0) problem += ':';
        problem += by_x(from[k].layout.dims);
    }
    return "cpu," + title.name + "," + implementation_ + "," + title.prop_kind + "," + arrays + ",," + title.auxiliary + "," +
           problem;
}

void Call::run(const CallPlan& plan, const std::byte* const* srcs, std::byte* const* dsts, int threads) {
    const std::size_t count = std::max(plan.outputs().size(), destinations_.size());
    const bool planned = plan.planned(dsts, count, threads);
    const std::int64_t start = now();
    const Program& program = plan.program(srcs, dsts, count, threads);
    const std::int64_t ready = now();
    program.execute(srcs, dsts, threads);
    const std::int64_t end = now();
    std::int64_t bytes = plan.bytes();
    for (const Transfer& transfer : plan.transfers()) {
        if (transfer.src >= 0) bytes += bytes_read(transfer.nest) * transfer.repeat.count;
    }
    runs_.push_back({&plan, planned ? 0 : std::max<std::int64_t>(1, ready - start), end - ready, bytes});
    bytes_ += bytes;
    nanoseconds_ += end - ready;
}

void Call::finish() {
    for (auto* arrays : {&sources_, &destinations_}) {
        for (Array& array : *arrays) {
            try {
                if (!array.dtype) array.dtype = array.operand->descr();
                array.word = word_of(py::reinterpret_borrow<py::dtype>(array.dtype.get()));
            } catch (const TypeError&) {  // NumPy has no such dtype
                array.word = array.operand->dtype_name();
            }
        }
    }
    print();
    record();
}

void Call::print() const {
    const int wanted = level.load(std::memory_order_relaxed);
    if (wanted == 0 || runs_.empty()) return;
    const auto milliseconds = [](std::int64_t nanoseconds) { return number("%g", static_cast<double>(nanoseconds) * 1e-6); };
    std::vector<std::string> lines;
    for (const Run& run : runs_) {
        const std::string text = describe(*run.plan);
        if (wanted >= 2 && run.planning != 0) lines.push_back("create:cache_miss," + text + "," + milliseconds(run.planning));
        const auto taken = static_cast<double>(std::max<std::int64_t>(1, run.executing));
        lines.push_back("exec," + text + "," + milliseconds(run.executing) + "," +
                        number("%.4g", static_cast<double>(run.bytes) / taken));
    }
    const ReleasedGil released;  // whoever reads the other end of a pipe may need it
    for (const std::string& line : lines) Printer::printer().print(line);
}

void Call::record() const {
    if (profiles().empty()) return;
    std::string name = title_.name;
    if (name == "shuffle" && title_.prop_kind == "backward_data") name = "shuffle_backward";
    const PyRef shapes = shapes_of(sources_, destinations_);
    const PyRef dtype = sources_.front().dtype ? sources_.front().dtype
                                               : checked(PyUnicode_FromString(sources_.front().word.c_str()));
    // A dict for each: what becomes of one profile's the others do not see.
    const std::vector<PyRef> lists = profiles();
    for (const PyRef& records : lists) {
        const PyRef record = checked(
            Py_BuildValue("{s:s, s:s, s:O, s:n, s:O, s:L, s:d, s:n}", "name", name.c_str(), "implementation",
                          implementation_.c_str(), "shapes", shapes.get(), "inputs", static_cast<Py_ssize_t>(sources_.size()),
                          "dtype", dtype.get(), "bytes", static_cast<long long>(bytes_), "seconds",
                          static_cast<double>(nanoseconds_) * 1e-9, "passes", static_cast<Py_ssize_t>(passes_)));
        if (PyList_Append(records.get(), record.get()) != 0) throw PythonError{};
    }
}

void register_trace(py::module_& module) {
    Printer::printer();  // before anybody can fork
    read_environment();
    module.def(
        "set_verbose",
        [](const py::object& object) {
            const std::int64_t wanted = parse_integer(object.ptr(), "level");
            onednn::set_verbose(wanted);
            set_level(static_cast<int>(wanted));
        },
        py::arg("level"), reference::runtime::kSetVerbose);
    module.def(
        "_watch",
        [](const py::list& records) {
            profiles().push_back(PyRef::share(records.ptr()));
            ++watchers;
        },
        py::arg("records"), "Append a dict for each call to the list, until _unwatch.");
    module.def(
        "_unwatch",
        [](const py::list& records) {
            const auto found = std::find_if(profiles().begin(), profiles().end(),
                                            [&](const PyRef& list) { return list.get() == records.ptr(); });
            if (found == profiles().end()) return;
            profiles().erase(found);
            --watchers;
        },
        py::arg("records"), "Append no more to the list.");
}

}  // namespace dnnmove::trace
