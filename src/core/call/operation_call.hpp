// A call of one operation: the key of its plan, as the arguments become known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "call/plan_cache.hpp"
#include "call/operation.hpp"
#include "runtime/threads.hpp"

namespace dnnmove {

// One operation about to run: its key starts with the operation and its parameters.
struct OperationCall {
    PlanKey key;
    Op op;
    std::size_t count_position;
    int threads = get_num_threads();

    explicit OperationCall(Op operation) : op(operation) {
        key.push(static_cast<std::int64_t>(operation));
        count_position = key.reserve();
    }
    // After the last parameter.
    void close() { key.set(count_position, static_cast<std::int64_t>(key.size() - count_position - 1)); }
    std::span<const std::int64_t> parameters() const {
        const auto words = key.words();
        return words.subspan(count_position + 1, static_cast<std::size_t>(words[count_position]));
    }

    void push_layout(const ArrayLayout& array) { key.push_layout(array.shape, array.strides); }
    void push_data(const ArrayLayout& data, std::int64_t itemsize) {
        key.push(itemsize);
        push_layout(data);
    }

    template <class Build>
    PlanInUse plan(const Build& build) {
        return cached_plan(key, build);
    }
};

}  // namespace dnnmove
