// Traces of what runs: lines in the format of oneDNN's verbose output, and the records of profiles.
#pragma once

#include "arguments/operand.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "call/title.hpp"
#include "layout/layout.hpp"

namespace pybind11 {
class module_;
}

namespace dnnmove {

class CallPlan;
struct ResultType;
namespace python {
struct MemoryDesc;
}

namespace trace {

// How many want to know: 1 for lines, 1 per profile.
inline std::atomic<int> watchers{0};
// All that a call that nobody watches pays for.
inline bool on() noexcept { return watchers.load(std::memory_order_relaxed) != 0; }

// A call that somebody watches. Told its arrays with the GIL, without running Python code; run without the GIL;
// finished with it, where Python code may run again.
class Call {
public:
    // `title` must outlive it.
    Call(const Title& title, std::string implementation, std::size_t passes = 1)
        : title_(title), implementation_(std::move(implementation)), passes_(passes) {}

    // In the order of the pointers that run() takes. An operand must outlive the call.
    void add_source(const Operand& array);
    void add_source(const python::MemoryDesc& desc);
    // A new array of the dtype of the first source, or of `type`; strides in bytes.
    void add_destination(const Dims& shape, const Dims& strides, const ResultType* type = nullptr);
    void add_destination(const python::MemoryDesc& desc);

    // Plans if need be, and copies. The plan must outlive the call.
    void run(const CallPlan& plan, const std::byte* const* srcs, std::byte* const* dsts, int threads);
    // Work that prints lines of its own: oneDNN's. `bytes` are read and written.
    template <class Body>
    void run_foreign(std::int64_t bytes, const Body& body) {
        const std::int64_t start = now();
        body();
        nanoseconds_ += now() - start;
        bytes_ += bytes;
    }

    // Prints a line per run where lines are wanted, and adds a record to the profiles that are entered.
    void finish();

private:
    struct Array {
        Layout layout;
        PyRef dtype;
        const Operand* operand = nullptr;  // where `dtype` is null
        std::string word;                  // oneDNN's for the dtype, else NumPy's; known at the end
    };
    struct Run {
        const CallPlan* plan;
        std::int64_t planning;   // nanoseconds; 0 where it was planned before
        std::int64_t executing;  // nanoseconds
        std::int64_t bytes;      // read and written
    };
    static std::int64_t now() noexcept;  // nanoseconds
    // The columns of a line from the engine to the problem.
    std::string describe(const CallPlan& plan) const;
    void print() const;
    void record() const;

    const Title& title_;
    std::string implementation_;
    std::size_t passes_;
    std::vector<Array> sources_;
    std::vector<Array> destinations_;
    std::vector<Run> runs_;
    std::int64_t bytes_ = 0;
    std::int64_t nanoseconds_ = 0;
};

void register_trace(pybind11::module_& module);

}  // namespace trace
}  // namespace dnnmove
