// oneDNN as the rest of the bindings see it: its engines, streams and shuffles, without dnnl.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "layout/layout.hpp"

namespace dnnmove::onednn {

enum class DataType { undef, f32, f64, f16, bf16, s32, s8, u8, f8_e4m3, f8_e5m2 };

// dnnl_unimplemented.
inline constexpr int kUnimplemented = 3;

// oneDNN's numbers.
enum Argument : int {
    kArgSrc = 1,
    kArgDst = 17,
    kArgScratchpad = 80,
    kArgDiffSrc = 129,
    kArgDiffDst = 145,
    kArgMultipleSrc = 1024,
    kArgMultipleDst = 2048,
};

enum class PropKind : int {
    forward_training = 64,
    forward_inference = 96,
    backward_data = 160,
};

// "3.2.0", of the library that is loaded.
std::string version();
// Git hash of the library, and the name of its CPU threading runtime.
std::string version_hash();
std::string cpu_runtime();
// Some address inside the library.
const void* address_in_library();
// Throw OneDnnError when oneDNN refuses.
void set_verbose(std::int64_t level);
void set_primitive_cache_capacity(int capacity);
int primitive_cache_capacity();

// dnnl::engine of the CPU; shared, immutable, thread-safe.
class Engine {
public:
    using InitializedOnly = void;
    explicit Engine(std::size_t index);
    static const std::shared_ptr<Engine>& cpu();
    static std::size_t count();
    struct Impl;
    const Impl& impl() const { return *impl_; }

private:
    std::shared_ptr<const Impl> impl_;
};

// dnnl::stream, in order.
class Stream {
public:
    using InitializedOnly = void;
    explicit Stream(std::shared_ptr<Engine> engine);
    const std::shared_ptr<Engine>& engine() const { return engine_; }
    void wait() const;
    struct Impl;
    const Impl& impl() const { return *impl_; }

private:
    std::shared_ptr<Engine> engine_;
    std::shared_ptr<const Impl> impl_;
};

// Whether oneDNN has the canonical format tag.
bool has_tag(const std::string& canonical);
// All canonical tags of the library and their numbers (dnnl_format_tag_t).
std::vector<std::pair<std::string, int>> all_tags();
// What oneDNN itself makes of a tag's number: the oracle of the format tag tests.
Layout layout_of_tag(int tag, const Dims& dims, DataType type);
// ValueError where the layout has more dimensions than oneDNN's objects may have. `name` is what the message calls it.
void check_rank(const Layout& layout, std::string_view name);
// Whether oneDNN's descriptor can hold the layout: type, rank 1 to 12, no negative stride.
bool can_describe(const Layout& layout, DataType type);
// oneDNN's own idea of the bytes that the layout needs.
std::int64_t size_of(const Layout& layout, DataType type);

// What oneDNN makes of a descriptor: the oracle of the tests of layout/derive. Empty where it refuses.
std::optional<Layout> permute_axes(const Layout& layout, DataType type, const Dims& permutation);
std::optional<Layout> reshape(const Layout& layout, DataType type, const Dims& dims);
std::optional<Layout> submemory(const Layout& layout, DataType type, const Dims& dims, const Dims& offsets);

// How many of the calling thread's threads oneDNN gets for work that writes `bytes`: one where the
// work is too small to share (waking the others costs more).
int threads_for(std::int64_t bytes);

// One implementation of one shuffle. Immutable; run may be called from many threads at once.
class Shuffle {
public:
    struct Impl;
    explicit Shuffle(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
    // oneDNN's impl_info_str.
    const std::string& info() const;
    // Bytes of scratch memory that each run takes for itself.
    std::int64_t scratchpad_bytes() const;
    // Builds oneDNN's primitive, once; `run` does it otherwise.
    void prepare(int threads) const;
    // Pointers to the first element; `data` is diff_dst and `result` diff_src for a backward shuffle.
    // `stream` may be null: one of this thread's own. Throws OneDnnError.
    void run(const Stream* stream, const std::byte* data, std::byte* result, int threads) const;

private:
    std::shared_ptr<const Impl> impl_;
};

// All of oneDNN's implementations, its best first; empty where it has none. `prop` is
// backward_data for the backward shuffle. The layout must be one that can_describe() takes.
std::vector<Shuffle> shuffles(const Engine& engine, PropKind prop, const Layout& layout, DataType type, std::size_t axis,
                              std::int64_t group_size);

// One implementation of one reorder. Immutable; run may be called from many threads at once.
class Reorder {
public:
    struct Impl;
    explicit Reorder(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
    // oneDNN's impl_info_str.
    const std::string& info() const;
    // Bytes of scratch memory that each run takes for itself.
    std::int64_t scratchpad_bytes() const;
    // Builds oneDNN's primitive, once; `run` does it otherwise.
    void prepare(int threads) const;
    // Pointers to the first element. As many scales as the mask it was made with says; none without a mask. `stream`
    // may be null: one of this thread's own. Throws OneDnnError.
    void run(const Stream* stream, const std::byte* src, std::byte* dst, const std::vector<float>& scales, int threads) const;

private:
    std::shared_ptr<const Impl> impl_;
};

// oneDNN's implementation; empty where it has none. `scales_mask`: bit k, a scale of the source for each position of
// axis k; 0, one for all. The layouts must be such that can_describe() takes.
std::vector<Reorder> reorders(const Engine& engine, const Layout& src, DataType src_type, const Layout& dst, DataType dst_type,
                              std::optional<int> scales_mask);

}  // namespace dnnmove::onednn
